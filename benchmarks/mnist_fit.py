"""One fit of all 60,000 MNIST images with the defaults: how long, how much memory, how good.

Prints one line per seed, with the peak memory of the process (data and interpreter included) and
the accuracy on the test set; the labels serve for nothing but that figure.

    DIKMEANS_DATA=... python -m benchmarks.mnist_fit --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from benchmarks._common import print_table
from dikmeans import DIKMeans
from dikmeans.datasets import load
from dikmeans.evaluation.metrics import clustering_accuracy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--warp", default="tps")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    train, test = load("mnist", "train"), load("mnist", "test")
    DIKMeans(2, max_iter=2, random_state=0).fit(np.asarray(train.images[:50]))  # compilation
    accuracies = []

    def row(seed: int) -> list[str]:
        clock, processor = time.perf_counter(), time.process_time()
        model = DIKMeans(10, warp=options.warp, random_state=seed, verbose=options.verbose)
        model.fit(train.images)
        seconds, of_processor = time.perf_counter() - clock, time.process_time() - processor
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        clock = time.perf_counter()
        labels = model.predict(test.images)
        of_labels = time.perf_counter() - clock
        accuracies.append(100 * clustering_accuracy(test.labels, labels))
        return [
            str(seed),
            f"{model.inertia_ / len(train.images):.4f}",
            f"{accuracies[-1]:.2f}",
            f"{seconds:.0f}",
            f"{of_processor:.0f}",
            f"{of_labels:.1f}",
            str(model.n_iter_),
            f"{peak:.2f}",
        ]

    header = [
        *("seed", "mean inertia", "test accuracy (%)", "fit (s)", "fit (processor s)"),
        *("labels of the test images (s)", "iterations", "peak memory (GiB)"),
    ]
    print_table(header, (row(seed) for seed in options.seeds))
    if len(accuracies) > 1:
        error = np.std(accuracies, ddof=1) / np.sqrt(len(accuracies))
        print(f"\nTest accuracy: mean {np.mean(accuracies):.2f} %, standard error {error:.2f}.")


if __name__ == "__main__":
    main()
