"""Images that are not in memory: read piece by piece, kept by a Dask cluster, or streamed.

A fit looks at all images only in its last phases, and there it needs nothing of them but sums. So
they may lie in shards, each with the warps of its images beside it: on disk, read one after the
other (`LocalWorkers`), or in the memory of the workers of a Dask cluster (`DaskWorkers`).
"""
