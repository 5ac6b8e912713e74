"""Where light and contrast should be solved for: accuracy of default fits, fixed against affine.

For each collection, preprocessing and kind of intensity: label-free default fits of a fixed random
part of the pictures, several seeds; mean and worst accuracy on these pictures, and the mean
seconds of a fit. "standardized" are pictures of mean zero and unit norm under a fixed intensity:
the same invariance of a picture on its own, without a gain in the alignment.

A collection is an ``.npz`` file with `images` and `labels`, a folder with the four files of
(Fashion-)MNIST, "digits" (8 x 8, of scikit-learn), or one of the named data sets (with
DIKMEANS_DATA). With ``--exposed`` every picture gets a random gain from 0.2 to 1 and a random
offset from 0 to the largest value, as cameras do that nobody has set.

    python -m benchmarks.intensity digits-lit.npz /usr/share/datasets/fashion-mnist face-pose \
        --preprocessing auto unit-norm --images 600 --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from benchmarks._common import print_table
from dikmeans import DIKMeans
from dikmeans.datasets import load
from dikmeans.datasets.files.idx import read_idx
from dikmeans.evaluation.metrics import clustering_accuracy
from dikmeans.images import as_pictures, from_channels_first
from dikmeans.registration.intensity import INTENSITIES

KINDS = ("fixed", "affine", "standardized")


def exposed(X: np.ndarray) -> np.ndarray:
    """Pictures, each with a random gain and offset."""
    rng = np.random.default_rng(1)
    shape = (len(X), *[1] * (X.ndim - 1))
    return rng.uniform(0.2, 1, shape) * X + rng.uniform(0, 1, shape) * X.max()


def read(collection: str, largest_side: int) -> tuple[np.ndarray, np.ndarray]:
    """Pictures, reduced by a whole factor to at most so many pixels a side, and their labels."""
    if collection.endswith(".npz"):
        with np.load(collection) as file:
            X, y = file["images"], file["labels"]
    elif collection == "digits":
        X, y = load_digits().images, load_digits().target
    elif Path(collection).is_dir():
        images, labels = "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"
        X, y = read_idx(Path(collection) / images, 3), read_idx(Path(collection) / labels, 1)
    else:
        name, _, option = collection.partition(",")
        images = load(name, **({option.strip(): True} if option else {}))
        X, y = images.images, images.labels
    block = -(-max(X.shape[1:3]) // largest_side)
    rows, columns = (n // block for n in X.shape[1:3])
    X = X[:, : rows * block, : columns * block].astype(np.float32)
    blocks = X.reshape(len(X), rows, block, columns, block, *X.shape[3:])
    return blocks.mean(axis=(2, 4)), np.asarray(y)


def accuracies(
    X: np.ndarray, y: np.ndarray, preprocessing: str | None, kind: str, seeds: list[int]
) -> tuple[list[float], float]:
    """Accuracy for each seed, and mean seconds of a fit."""
    intensity, found = kind, []
    if kind == "standardized":
        pictures, shape = as_pictures(X)
        X = from_channels_first(INTENSITIES["affine"].prepare(pictures), shape)
        preprocessing, intensity = None, "fixed"
    clock = time.perf_counter()
    for seed in seeds:
        model = DIKMeans(
            len(np.unique(y)),
            preprocessing=preprocessing,
            intensity=intensity,
            random_state=seed,
            n_jobs=1,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(100 * clustering_accuracy(y, model.fit(X).labels_))
    return found, (time.perf_counter() - clock) / len(seeds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collections", nargs="+")
    parser.add_argument("--preprocessing", nargs="+", default=["auto", "unit-norm"])
    parser.add_argument("--kinds", nargs="+", default=["fixed", "affine"], choices=KINDS)
    parser.add_argument("--exposed", action="store_true")
    parser.add_argument("--side", type=int, default=48, help="at most so many pixels a side")
    parser.add_argument("--images", type=int, default=600)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    arguments = parser.parse_args()
    rows = []
    for collection in arguments.collections:
        X, y = read(collection, arguments.side)
        X = exposed(X) if arguments.exposed else X
        chosen = np.random.default_rng(0).permutation(len(X))[: arguments.images]
        for preprocessing in arguments.preprocessing:
            for kind in arguments.kinds:
                found, seconds = accuracies(
                    X[chosen], y[chosen], preprocessing, kind, arguments.seeds
                )
                row = [Path(collection).stem, str(len(chosen)), preprocessing, kind]
                row += [f"{np.mean(found):.1f}", f"{min(found):.1f}", f"{seconds:.0f}"]
                rows.append(row)
                print(*row, flush=True)
    header = ["collection", "images", "preprocessing", "intensity", "mean", "worst", "seconds"]
    print_table(header, rows)


if __name__ == "__main__":
    main()
