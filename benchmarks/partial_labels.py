"""What a few labels bring: fits with the classes of some pictures, beside fits without any.

    python -m benchmarks.partial_labels --data DATA --seeds 0 1 2 --runs 1

For every seed, pictures are drawn from the training part of a data set, and of each class a few of
them get their label. Both fits see the same pictures with default parameters and the same
`random_state`; accuracies count the pictures without a label only, clusters matched with classes
one to one. "By name" takes the names of the clusters instead, as a user would; "refined" is the fit
with labels after two further iterations of `dikmeans.refine`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from benchmarks._common import print_table
from dikmeans import Corrections, DIKMeans, refine
from dikmeans.datasets import load
from dikmeans.evaluation import clustering_accuracy

UNKNOWN = -1
REFINEMENT_ITERATIONS = 2


class Trial(NamedTuple):
    """A data set, how many of its pictures, how many labels per class, and which classes."""

    dataset: str
    n_pictures: int
    n_labels: int
    classes: tuple[int, ...] | None = None


TRIALS = {
    "MNIST": Trial("mnist", 2000, 1),
    "hands": Trial("rock-paper-scissors", 300, 5),
    "Arabic, 8 letters": Trial("arabic-characters", 240, 5, (1, 2, 5, 8, 10, 12, 18, 24)),
    "Arabic": Trial("arabic-characters", 1000, 5),
}


def draw(trial: Trial, data_home: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pictures, all their classes, and the few that are told."""
    images = load(trial.dataset, "train", data_home, download=False)
    rng = np.random.default_rng(seed)
    labels = np.asarray(images.labels)
    usable = np.arange(len(labels))
    if trial.classes is not None:
        usable = np.flatnonzero(np.isin(labels, trial.classes))
    chosen = usable[rng.permutation(len(usable))[: trial.n_pictures]]
    classes = labels[chosen]
    told = np.full(len(chosen), UNKNOWN)
    for one in np.unique(classes):
        few = rng.choice(np.flatnonzero(classes == one), trial.n_labels, replace=False)
        told[few] = one
    return images.images[chosen], classes, told


def accuracies(trial: Trial, seed: int, options: argparse.Namespace) -> tuple[float, ...]:
    """Without labels, with them, by the names of the clusters, and refined; in percent."""
    X, classes, told = draw(trial, options.data, seed)
    hidden = told == UNKNOWN
    n_init = options.runs or "auto"
    model = DIKMeans(len(np.unique(classes)), n_init=n_init, random_state=seed, n_jobs=options.jobs)
    free = model.fit(X).labels_
    labeled = model.fit(X, told)
    names = np.array([UNKNOWN if name is None else int(name) for name in labeled.cluster_names_])
    by_name = float((names[labeled.labels_[hidden]] == classes[hidden]).mean())
    refined = refine(labeled, X, Corrections.none(labeled), max_iter=REFINEMENT_ITERATIONS)
    without, with_labels, after = (
        clustering_accuracy(classes[hidden], labels[hidden])
        for labels in (free, labeled.labels_, refined.labels_)
    )
    return 100 * without, 100 * with_labels, 100 * by_name, 100 * after


def rows(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    for name in options.only:
        trial = TRIALS[name]
        found = []
        for seed in options.seeds:
            found.append(accuracies(trial, seed, options))
            yield (name, str(trial.n_labels), str(seed), *(f"{value:.1f}" for value in found[-1]))
        means = np.mean(found, axis=0)
        yield (name, str(trial.n_labels), "mean", *(f"{value:.1f}" for value in means))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder of the data sets; see docs/datasets.md")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", default=list(TRIALS), choices=list(TRIALS))
    parser.add_argument("--runs", type=int, help="runs of a fit without labels; default: auto")
    parser.add_argument("--jobs", type=int, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    header = [
        "set              ",
        "labels per class",
        "seed",
        "without",
        "with labels",
        "by name",
        "refined",
    ]
    print_table(header, rows(options))


if __name__ == "__main__":
    main()
