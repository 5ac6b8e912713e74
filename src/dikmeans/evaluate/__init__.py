"""How good a clustering is, when the classes are known."""

from dikmeans.evaluate.metrics import Confusion, clustering_accuracy, confusion, scores

__all__ = ["Confusion", "clustering_accuracy", "confusion", "scores"]
