"""Many images, K centroids: seeding, Lloyd's algorithm, swap moves, and the estimator."""

from dikmeans.cluster.estimator import DIKMeans
from dikmeans.cluster.history import History, Iteration

__all__ = ["DIKMeans", "History", "Iteration"]
