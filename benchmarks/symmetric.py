"""What a symmetric cost is good for: methods that work on a matrix of dissimilarities.

The costs of digits among themselves, preprocessed as a model would: as they are (image against
picture that is warped), the mean and the smaller of both directions, and the symmetric measure.
For each, how asymmetric the matrix is, how often the nearest other digit is of the same class, and
the accuracy of three ways of clustering by a matrix.

    python -m benchmarks.symmetric --images 200 --seeds 0 1 2
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import AgglomerativeClustering, SpectralClustering

from benchmarks._common import affinities, digits, print_table
from dikmeans import pairwise_cost
from dikmeans.evaluation.metrics import clustering_accuracy
from dikmeans.preprocessing import LocalContrast

N_CLASSES = 10


def matrices(n: int, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Matrices of costs by name, and the classes."""
    X, y = digits(n, seed=seed)
    pictures = LocalContrast().fit_transform(X[:, 0])
    plain = pairwise_cost(pictures, pictures)
    return {
        "one direction": plain,
        "mean of both": (plain + plain.T) / 2,
        "smaller of both": np.minimum(plain, plain.T),
        "symmetric": pairwise_cost(pictures, pictures, symmetric=True),
    }, y


def figures(costs: np.ndarray, y: np.ndarray) -> list[float]:
    """Asymmetry, neighbors of the same class, and accuracies."""
    others = costs + np.where(np.eye(len(costs)), np.inf, 0.0)
    found = [np.abs(costs - costs.T).sum() / costs.sum(), (y[others.argmin(axis=1)] == y).mean()]
    for linkage in ("average", "complete"):
        tree = AgglomerativeClustering(N_CLASSES, metric="precomputed", linkage=linkage)
        found.append(clustering_accuracy(y, tree.fit_predict(costs)))
    spectral = SpectralClustering(N_CLASSES, affinity="precomputed", random_state=0)
    return [*found, clustering_accuracy(y, spectral.fit_predict(affinities(costs)))]


def rows(n: int, seeds: list[int]) -> Iterator[list[str]]:
    """A row of the table for each matrix: means over subsets."""
    results: dict[str, list[list[float]]] = {}
    for seed in seeds:
        named, y = matrices(n, seed)
        for name, costs in named.items():
            results.setdefault(name, []).append(figures(costs, y))
    for name, values in results.items():
        yield [name, *(f"{100 * value:.1f}" for value in np.mean(values, axis=0))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    header = ["costs", "asymmetry", "1-NN", "average", "complete", "spectral"]
    print_table(header, rows(options.images, options.seeds))


if __name__ == "__main__":
    main()
