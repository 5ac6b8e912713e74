"""From picture files to arrays of one size, and random deformations of an image."""
