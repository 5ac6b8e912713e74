"""What the measure can tell if labels are given: nearest neighbours under it, on the training images.

A clustering that is blind to labels can hardly be expected to do better than neighbours whose labels are
known. Each test image is compared with every training image, under the measure of
`dikmeans.registration.pairwise_cost` (bending energy, both pictures normalised as a model would), and takes the
class of most of its k nearest.

    DIKMEANS_DATA=... python benchmarks/neighbours.py --data rock-paper-scissors face-pose face-pose-box
"""

from __future__ import annotations

import argparse

import numpy as np

from _common import print_table
from dikmeans.registration import pairwise_cost
from dikmeans.preprocessing import NORMALISERS, choose_normaliser
from dikmeans.paper import get_task
from dikmeans.images import to_channels_first


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
    parser.add_argument("--neighbours", type=int, nargs="+", default=[1, 5, 15])
    parser.add_argument(
        "--normalize", nargs="+", default=["auto"], choices=["auto", *filter(None, NORMALISERS)]
    )
    options = parser.parse_args()
    for name in options.data:
        data = get_task(name).load(options.train_size, download=False)
        shape = data.train.images.shape[1:]
        for normalize in options.normalize:
            pictures = [
                to_channels_first(part.images.reshape(len(part), -1).astype(np.float32), shape)
                for part in (data.test, data.train)
            ]
            choice = choose_normaliser(pictures[1]) if normalize == "auto" else normalize
            normalise = NORMALISERS[choice].learn(pictures[1])
            test, train = (normalise(some)[:, 0] for some in pictures)
            print(
                f"\n{data.title}, {len(train)} training images, {len(test)} test images, {choice!r}\n"
            )
            rows = []
            for warp in ("none", "affine", "tps"):
                costs = pairwise_cost(test, train, warp=warp)
                shares = [
                    (vote(costs, data.train.labels, k, data.n_classes) == data.test.labels).mean()
                    for k in options.neighbours
                ]
                rows.append([warp, *(f"{100 * share:.1f}" for share in shares)])
            print_table(["warp", *(f"{k} nearest (%)" for k in options.neighbours)], rows)


if __name__ == "__main__":
    main()
