"""What the measure can tell if labels are given: nearest neighbors under it.

A clustering without labels can hardly be expected to do better than neighbors whose labels are
known. Each test image is compared with every training image, under the measure of
`dikmeans.registration.pairwise_cost` (bending energy, both pictures preprocessed as a model would),
and takes the class of most of its k nearest.

    DIKMEANS_DATA=... python -m benchmarks.neighbors --data rock-paper-scissors face-pose
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks._common import print_table
from dikmeans.images import to_channels_first
from dikmeans.paper.protocol.data_tasks import get_task
from dikmeans.preprocessing import PREPROCESSORS, resolve_preprocessing
from dikmeans.registration import pairwise_cost


def vote(costs: np.ndarray, labels: np.ndarray, k: int, n_classes: int) -> np.ndarray:
    """The class of most of the k cheapest training images of each test image."""
    nearest = labels[np.argsort(costs, axis=1, kind="stable")[:, :k]]
    return np.array([np.bincount(row, minlength=n_classes).argmax() for row in nearest])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--data", nargs="+", default=["rock-paper-scissors", "face-pose", "face-pose-box"]
    )
    parser.add_argument("--train-size", type=int, default=500)
    parser.add_argument("--neighbors", type=int, nargs="+", default=[1, 5, 15])
    parser.add_argument(
        "--preprocessing",
        nargs="+",
        default=["auto"],
        choices=["auto", *filter(None, PREPROCESSORS)],
    )
    options = parser.parse_args()
    for name in options.data:
        data = get_task(name).load(options.train_size, download=False)
        shape = data.train.images.shape[1:]
        for choice in options.preprocessing:
            pictures = [
                to_channels_first(part.images.reshape(len(part), -1).astype(np.float32), shape)
                for part in (data.test, data.train)
            ]
            preprocessing, _ = resolve_preprocessing(choice, pictures[1])
            test, train = (preprocessing.apply(part)[:, 0] for part in pictures)
            print(
                f"\n{data.title}, {len(train)} training images, {len(test)} test images, "
                f"{preprocessing.name!r}\n"
            )
            rows = []
            for warp in ("none", "affine", "tps"):
                costs = pairwise_cost(test, train, warp=warp)
                shares = [
                    (vote(costs, data.train.labels, k, data.n_classes) == data.test.labels).mean()
                    for k in options.neighbors
                ]
                rows.append([warp, *(f"{100 * share:.1f}" for share in shares)])
            print_table(["warp", *(f"{k} nearest (%)" for k in options.neighbors)], rows)


if __name__ == "__main__":
    main()
