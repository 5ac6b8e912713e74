"""Which label-free criterion ranks settings as the accuracy does? Writes docs/results/selection.md.

For three families of settings on a random part of MNIST's training images: the accuracy of every
setting (labels are used here and nowhere in the criteria), every criterion's score, Spearman's rank
correlation of the two, and the accuracy of the setting that each criterion would choose. Took half
an hour on two cores that had other work, too.

    python -m benchmarks.selection --data-home DIR
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

import numpy as np
from scipy.stats import spearmanr
from sklearn.model_selection import ParameterGrid, train_test_split

from dikmeans import DIKMeans, Search
from dikmeans.datasets import load
from dikmeans.evaluation.metrics import clustering_accuracy
from dikmeans.paper.label_free_search import (
    HELD_OUT_SHARE,
    held_out_distortion,
    reference_distortion,
    stability,
    training_distortion,
)

N_CLASSES = 10
FAMILIES = {
    "penalized": (
        "`DIKMeans` with its defaults: landmarks and smoothness",
        DIKMeans(N_CLASSES),
        {"landmarks": [3, 5, 8], "smoothness": [0.01, 0.1, 0.3, 1.0]},
    ),
    "published": (
        "As published (no penalty): landmarks and learning rate; 10 iterations at most",
        DIKMeans.as_published(N_CLASSES, max_iter=10),
        {"landmarks": [3, 5, 8], "solver__learning_rate": [1e-4, 1e-3, 1e-2, 5e-2]},
    ),
    "clusters": (
        "`DIKMeans` with its defaults: number of clusters",
        DIKMeans(N_CLASSES),
        {"n_clusters": [5, 8, 10, 13, 20]},
    ),
}
AFFINE_REFERENCE = DIKMeans(
    1, warp="affine", search=Search(warm_up=False, n_swaps=0), max_iter=10, random_state=0
)
OF_ALL_IMAGES = {
    "distortion": training_distortion,
    "reference": reference_distortion,
    "reference (affine)": partial(reference_distortion, reference=AFFINE_REFERENCE),
}
CRITERIA = ("distortion", "held-out", "reference", "reference (affine)", "stability")


def evaluate(estimator: DIKMeans, X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    """Accuracy and the score by every criterion; the fit on all images is shared."""
    estimator.set_params(random_state=seed)
    fitted_part, held_out = train_test_split(X, test_size=HELD_OUT_SHARE, random_state=seed)
    scores = {"held-out": held_out_distortion(estimator.fit(fitted_part), held_out)}
    estimator.fit(X)
    scores |= {name: criterion(estimator, X) for name, criterion in OF_ALL_IMAGES.items()}
    scores["stability"] = stability(estimator, X, seed=seed)
    scores["accuracy"] = clustering_accuracy(y, estimator.labels_)
    return scores


def study(
    estimator: DIKMeans, grid: dict[str, list], X: np.ndarray, y: np.ndarray, seeds: list
) -> list[dict]:
    """One row per setting, averaged over the seeds."""
    rows = []
    for setting in ParameterGrid(grid):
        estimator.set_params(**setting)
        runs = [evaluate(estimator, X, y, seed) for seed in seeds]
        rows.append(
            {"setting": setting} | {key: np.mean([run[key] for run in runs]) for key in runs[0]}
        )
        scores = {key: round(float(rows[-1][key]), 4) for key in runs[0]}
        print(setting, scores, file=sys.stderr, flush=True)
    return rows


def column(rows: list[dict], key: str) -> np.ndarray:
    return np.array([row[key] for row in rows])


def summary_lines(rows: list[dict]) -> list[str]:
    accuracy = 100 * column(rows, "accuracy")
    lines = ["| criterion | Spearman with accuracy | accuracy of its choice, % |", "|---|---|---|"]
    for name in CRITERIA:
        score = column(rows, name)
        correlation, choice = spearmanr(score, accuracy).statistic, accuracy[score.argmax()]
        lines.append(f"| {name} | {correlation:+.2f} | {choice:.1f} |")
    return [
        *lines,
        "",
        f"Best setting by labels {accuracy.max():.1f} %, median {np.median(accuracy):.1f} %.",
    ]


def detail_lines(rows: list[dict]) -> list[str]:
    names = list(rows[0]["setting"])
    head = [*names, "accuracy, %", *CRITERIA]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [f"{row['setting'][name]:g}" for name in names]
        cells += [f"{100 * row['accuracy']:.1f}", *(f"{row[name]:.4f}" for name in CRITERIA)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data-home")
    parser.add_argument("--images", type=int, default=500)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--families", nargs="*", default=list(FAMILIES), choices=list(FAMILIES))
    arguments = parser.parse_args()

    digits = load("mnist", "train", arguments.data_home)
    part = digits.subset(np.random.RandomState(0).permutation(len(digits))[: arguments.images])
    for family in arguments.families:
        title, estimator, grid = FAMILIES[family]
        rows = study(estimator, grid, part.images, part.labels, arguments.seeds)
        lines = [f"## {title}", "", *summary_lines(rows), "", *detail_lines(rows), ""]
        print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
