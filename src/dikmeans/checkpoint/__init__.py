"""A fit on disk: the state of a run after its latest iteration, to continue after a kill."""
