"""How good is a clustering? Agreement with classes, number of clusters, map of the images."""

from dikmeans.evaluation.embedding import embed
from dikmeans.evaluation.metrics import Confusion, clustering_accuracy, confusion, scores
from dikmeans.evaluation.n_clusters import (
    NClustersChoice,
    NClustersScore,
    choose_n_clusters,
    score_n_clusters,
)

__all__ = [
    "Confusion",
    "NClustersChoice",
    "NClustersScore",
    "choose_n_clusters",
    "clustering_accuracy",
    "confusion",
    "embed",
    "score_n_clusters",
    "scores",
]
