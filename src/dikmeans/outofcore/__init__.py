"""Images in shards: bigger than memory, or on several machines.

A fit looks at all images only in its last phase, and there it needs nothing of them but sums. So they may lie
in shards, each with the warm starts of its images beside it: on disk, read one after the other
(`LocalWorkers`), or in the memory of the workers of a Dask cluster (`DaskWorkers`). Between the shards and
whoever runs Lloyd's algorithm go centroids, one way, and sums, the other.
"""

from dikmeans.outofcore.population import ShardedPopulation, open_population
from dikmeans.outofcore.sources import Source, open_source

__all__ = ["ShardedPopulation", "Source", "open_population", "open_source"]
