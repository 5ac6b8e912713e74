"""The named data sets, one module each: which files they need, how these are read and processed."""
