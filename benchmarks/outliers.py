"""Things that are no digits among digits: how many are found, and what they cost the digits.

    python -m benchmarks.outliers digits-outliers.npz --seeds 0 1 2

The file has `images` and `labels`, -1 for outliers. Columns:

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

from benchmarks._common import print_table
from dikmeans import DIKMeans
from dikmeans.evaluation import clustering_accuracy

SHARE_OF_FALSE_ALARMS = 0.05


def row(X: np.ndarray, y: np.ndarray, seed: int, n_jobs: int) -> tuple[float, ...]:
    digits = y >= 0
    n_clusters = len(np.unique(y[digits]))
    alone = DIKMeans(n_clusters, random_state=seed, n_jobs=n_jobs).fit(X[digits])
    model = DIKMeans(n_clusters, outliers="auto", random_state=seed, n_jobs=n_jobs).fit(X)
    scores, labels = model.outlier_scores_, model.labels_
    threshold = np.quantile(scores[digits], 1 - SHARE_OF_FALSE_ALARMS)
    nearest = model.prototype_clusters_[model.assignment_.prototypes]
    inside = digits & (labels >= 0)
    return (
        100 * float((scores[~digits] > threshold).mean()),
        100 * float((labels[~digits] < 0).mean()),
        100 * float((labels[digits] < 0).mean()),
        100 * clustering_accuracy(y[digits], alone.labels_),
        100 * clustering_accuracy(y[digits], nearest[digits]),
        100 * clustering_accuracy(y[inside], labels[inside]),
    )


def rows(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    with np.load(options.file) as file:
        X, y = file["images"], file["labels"]
    found = []
    for seed in options.seeds:
        found.append(row(X, y, seed, options.jobs))
        yield (str(seed), *(f"{value:.1f}" for value in found[-1]))
    yield ("mean", *(f"{value:.1f}" for value in np.mean(found, axis=0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
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
