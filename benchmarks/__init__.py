"""Measurements that the documentation quotes; see each module for how to run it."""
