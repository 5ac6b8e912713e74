"""Many images and K clusters: seeding, Lloyd's algorithm, swaps, the prior, prototypes, a run."""
