"""Many images, K centroids: seeding, Lloyd's algorithm, swap moves, and the estimator."""

from dikmeans.checkpoint.folder import CheckpointError, CheckpointWriteError
from dikmeans.estimator import DIKMeans
from dikmeans.monitoring.history import History, Iteration

__all__ = ["CheckpointError", "CheckpointWriteError", "DIKMeans", "History", "Iteration"]
