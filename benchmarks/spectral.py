"""Spectral clustering by our costs of all pairs, beside what needs no such matrix.

    DIKMEANS_DATA=... python -m benchmarks.spectral --images 1000 --seeds 0 1 2

For every seed, images are drawn from the training part of a data set, and all methods cluster the
same images into as many clusters as there are classes; accuracies are on these images. K-means,
UMAP + K-means and DI K-means are as in the paper's table (one run). The spectral rows have the
preprocessed images of DI K-means: under `pairwise_cost` without a warp, and with a spline.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
from sklearn.cluster import SpectralClustering

from benchmarks._common import affinities, print_table
from dikmeans import pairwise_cost
from dikmeans.evaluation.metrics import clustering_accuracy
from dikmeans.paper.protocol.data_tasks import get_task
from dikmeans.paper.protocol.table_models import get_model

DATA = ["mnist", "arabic-characters", "rock-paper-scissors"]
MODELS = ("k-means", "umap-k-means", "di-k-means")
SPECTRAL = {"spectral, no warp": "none", "spectral, spline": "tps"}
N_TO_COMPILE = 100


def clusterings(
    images: np.ndarray, n_clusters: int, seed: int
) -> Iterator[tuple[str, np.ndarray, float]]:
    """Name, clusters and processor seconds of each method."""
    for name in MODELS:
        start = time.process_time()
        model = get_model(name).make(n_clusters, seed).fit(images)
        yield get_model(name).title, model.labels_, time.process_time() - start
    # the last one is DI K-means
    pictures = np.moveaxis(model.preprocess(images), 1, -1)
    for title, warp in SPECTRAL.items():
        start = time.process_time()
        costs = pairwise_cost(pictures, pictures, warp=warp, border=model.preprocessing_.border)
        spectral = SpectralClustering(n_clusters, affinity="precomputed", random_state=seed)
        labels = spectral.fit_predict(affinities(costs))
        yield title, labels, time.process_time() - start


def rows(name: str, n_images: int, seeds: list[int]) -> Iterator[list[str]]:
    """A row for each method: the accuracy of each seed, their mean, and the time."""
    data = get_task(name).load(download=False)
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in clusterings(data.train.images[:N_TO_COMPILE], 2, 0):
        pass
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(data.train))[:n_images]
        drawn = data.train.subset(order)
        for title, labels, seconds in clusterings(drawn.images, data.n_classes, seed):
            accuracy = 100 * clustering_accuracy(drawn.labels, labels)
            found.setdefault(title, []).append((accuracy, seconds))
    for title, figures in found.items():
        accuracies, seconds = zip(*figures, strict=True)
        each = ", ".join(f"{accuracy:.1f}" for accuracy in accuracies)
        yield [title, each, f"{np.mean(accuracies):.1f}", f"{np.median(seconds):.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="+", default=DATA, help="names of data sets")
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    seeds = ", ".join(map(str, options.seeds))
    for name in options.data:
        print(f"\n{name}, {options.images} images\n")
        header = ["method           ", f"seeds {seeds} (%)", "mean (%)", "processor s"]
        print_table(header, rows(name, options.images, options.seeds))


if __name__ == "__main__":
    main()
