"""The algorithms as published: which of the choices that the text leaves open matter.

One change at a time from `DIKMeans.as_published`, the same images for all; accuracy on test images,
one figure per seed, and the mean distortion (the paper's word for the inertia), by which the paper
chooses its hyper-parameters.

    python -m benchmarks.published_choices --data mnist --train-size 500 --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks._common import print_table
from dikmeans import DIKMeans
from dikmeans.evaluation.metrics import clustering_accuracy
from dikmeans.paper.protocol.data_tasks import TaskData, get_task

N_TEST = 1000


@dataclass(frozen=True)
class Choice:
    """Parameters of `as_published` beside its defaults, and of the estimator it makes."""

    title: str
    published: dict[str, Any] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)

    def make(self, n_clusters: int, seed: int) -> DIKMeans:
        """Make the estimator."""
        model = DIKMeans.as_published(n_clusters, random_state=seed, **self.published)
        return model.set_params(**self.parameters)


CHOICES = (
    Choice("as it is: 8 x 8 landmarks, 50 steps at 0.001, affine at 0.005, filter of 1.5 pixels"),
    Choice("filter of 3 pixels", {"low_pass": 3.0}),
    Choice("no filter", {"low_pass": 0.0}),
    Choice("6 x 6 landmarks", {"landmarks": 6}),
    Choice("4 x 4 landmarks", {"landmarks": 4}),
    Choice("3 x 3 landmarks", {"landmarks": 3}),
    Choice("rate 0.0001", {"learning_rate": 1e-4}),
    Choice("rate 0.005", {"learning_rate": 5e-3}),
    Choice("rate 0.01", {"learning_rate": 1e-2}),
    Choice("rate 0.05", {"learning_rate": 5e-2}),
    Choice("150 steps", {"steps": 150}),
    Choice("affine maps at a rate of 0.02", {"affine_learning_rate": 0.02}),
    Choice("warm starts", parameters={"solver__warm_starts": True}),
    Choice("affine maps only (AI K-means)", parameters={"warp": "affine"}),
)


def rows(data: TaskData, seeds: list[int]) -> Iterator[list[str]]:
    """A row for each choice."""
    test = np.random.default_rng(0).permutation(len(data.test))[:N_TEST]
    images, labels = np.asarray(data.test.images)[test], np.asarray(data.test.labels)[test]
    for choice in CHOICES:
        accuracies, distortions = [], []
        for seed in seeds:
            model = choice.make(data.n_classes, seed).fit(data.train.images)
            accuracies.append(100 * clustering_accuracy(labels, model.predict(images)))
            distortions.append(model.inertia_ / len(data.train))
        yield [
            choice.title,
            ", ".join(f"{accuracy:.1f}" for accuracy in accuracies),
            f"{np.mean(accuracies):.1f}",
            f"{np.mean(distortions):.4f}",
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="+", default=["mnist", "affine-mnist"])
    parser.add_argument("--train-size", type=int, default=500)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.data:
        data = get_task(name).load(options.train_size, download=False)
        n_test = min(N_TEST, len(data.test))
        print(f"\n{data.title}, {len(data.train)} training and {n_test} test images\n")
        header = ["changed", f"accuracy, seeds {options.seeds} (%)", "mean (%)", "mean distortion"]
        print_table(header, rows(data, options.seeds))


if __name__ == "__main__":
    main()
