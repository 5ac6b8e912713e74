"""Interpretable, deformation-invariant clustering of images."""
