"""The package as others get it: wheel, types, workflows, release."""
