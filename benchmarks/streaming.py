"""`partial_fit` on a stream of MNIST digits beside `fit` on all of them: how close, at what price.

All training images come once, in batches, in the order of the file. Prints for every batch size the
mean inertia of the test images and the accuracy on them (the labels serve for nothing but that
figure), and the processor time as a multiple of the fit's.

    DIKMEANS_DATA=... python -m benchmarks.streaming --batch-sizes 64 1024
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from benchmarks._common import print_table
from dikmeans import DIKMeans
from dikmeans.datasets import load
from dikmeans.evaluation.metrics import clustering_accuracy


def fit(X: np.ndarray, seed: int) -> DIKMeans:
    return DIKMeans(10, random_state=seed).fit(X)


def stream(X: np.ndarray, seed: int, batch_size: int) -> DIKMeans:
    model = DIKMeans(10, random_state=seed)
    for first in range(0, len(X), batch_size):
        model.partial_fit(X[first : first + batch_size])
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batch-sizes", type=int, nargs="+", default=[64, 1024])
    parser.add_argument("--train-size", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    train, test = load("mnist", "train"), load("mnist", "test")
    X = np.asarray(train.images[: options.train_size])
    DIKMeans(2, max_iter=2, random_state=0).fit(X[:50])  # compilation

    def rows():
        whole = None
        ways = [("fit", fit, ()), *((f"batches of {n}", stream, (n,)) for n in options.batch_sizes)]
        for name, make, more in ways:
            clock = time.process_time()
            model = make(X, options.seed, *more)
            seconds = time.process_time() - clock
            whole = whole or seconds
            yield [
                name,
                f"{-model.score(test.images) / len(test.images):.4f}",
                f"{100 * clustering_accuracy(test.labels, model.predict(test.images)):.1f}",
                f"{seconds / whole:.2f}",
            ]

    print(f"MNIST, {len(X)} training images, seed {options.seed}")
    print_table(["how", "mean test inertia", "test accuracy (%)", "processor time"], rows())


if __name__ == "__main__":
    main()
