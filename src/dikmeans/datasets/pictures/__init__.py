"""Pictures: from encoded bytes to arrays of one size, folders of them, and random deformations."""
