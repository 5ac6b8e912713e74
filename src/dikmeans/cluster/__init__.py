"""Many images, K centroids: seeding, Lloyd's algorithm, swap moves, and the estimator."""

from dikmeans.cluster.checkpoint_folder import CheckpointError, CheckpointWriteError
from dikmeans.cluster.estimator import DIKMeans
from dikmeans.cluster.history import History, Iteration

__all__ = ["CheckpointError", "CheckpointWriteError", "DIKMeans", "History", "Iteration"]
