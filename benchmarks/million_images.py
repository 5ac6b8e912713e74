"""A million images from a memory map: time, memory and the cost of checkpoints, as the set grows.

MNIST's 60,000 training images, then deformed copies of them (each group of 500 by a random smooth
map of its own), as bytes in a file that is written in pieces. The first 60,000, 250,000 and all are
fitted, each in a process of its own, with checkpoints and a fixed number of iterations over all
images, so that rows differ in their number alone. Processor seconds are those of all threads: on
the sample (the search and the division into prototypes, the same in all rows, and one look at every
image before), in the iterations over all images, and in the final assignment to all prototypes; the
last two per image, and against the first row. The peak is private memory beyond that of
interpreter, libraries and compiled code. A checkpoint costs what was waited for it, fingerprint of
the images included, as a share of the fit's seconds on the clock.

    DIKMEANS_DATA=... python -m benchmarks.million_images [--images 60000 250000 1000000]
        [--max-iter 2] [--jobs -1] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks._common import print_table
from benchmarks.checkpoint import Meter
from benchmarks.out_of_memory import Peak, of_this_process
from dikmeans import DIKMeans, Search
from dikmeans.datasets import load
from dikmeans.datasets.pictures.deform import DeformationRange, random_map
from dikmeans.kmeans.schedule import PhaseKind
from dikmeans.monitoring.events import ProgressEvent
from dikmeans.monitoring.memory import estimate_memory

SHAPE, N_CLUSTERS, SEED, GROUP = (28, 28), 10, 0, 500
LIMITS = DeformationRange(rotation=8, log_scale=0.1, shear=0.1, shift=0.05, bend=0.02)


def write_images(path: Path, n: int) -> None:
    """The originals, then deformed copies; the same file for the same `n`, whole or absent."""
    originals = np.asarray(load("mnist", download=False).images)
    originals = (originals / originals.max() * 255).reshape(len(originals), -1)
    rng = np.random.default_rng(SEED)
    unfinished = path.with_suffix(".part")
    out = np.lib.format.open_memmap(unfinished, "w+", np.uint8, (n, *SHAPE))
    for first in range(0, n, len(originals)):
        copies = originals if first == 0 else _deformed(originals, rng)
        out[first : first + len(copies)] = copies[: n - first].reshape(-1, *SHAPE).round()
    out.flush()
    unfinished.rename(path)


def _deformed(originals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    order = rng.permutation(len(originals))
    groups = (order[first : first + GROUP] for first in range(0, len(order), GROUP))
    return np.concatenate([_bilinear(rng).dot(originals[group].T).T for group in groups])


def _bilinear(rng: np.random.Generator) -> sparse.csr_array:
    """A random smooth map as a matrix that takes pictures, as columns, to deformed ones."""
    height, width = SHAPE
    rows, columns = random_map(SHAPE, LIMITS, rng).reshape(2, -1)
    matrix = sparse.csr_array((height * width, height * width))
    for row, column in ((0, 0), (0, 1), (1, 0), (1, 1)):
        near_row, near_column = np.floor(rows) + row, np.floor(columns) + column
        share = (1 - abs(rows - near_row)) * (1 - abs(columns - near_column))
        inside = (near_row >= 0) & (near_row < height) & (near_column >= 0) & (near_column < width)
        source = (near_row * width + near_column)[inside].astype(int)
        places = np.flatnonzero(inside), source
        matrix = matrix + sparse.csr_array((share[inside], places), shape=matrix.shape)
    return matrix


class Watch:
    """Processor seconds of the parts of a fit: on the sample, in iterations, in the assignment."""

    def __init__(self) -> None:
        self._last = time.process_time()
        self.sample = self.iterations = 0.0

    def __call__(self, event: ProgressEvent) -> None:
        """Count what has passed since the last event."""
        passed = self.lap()
        if event.phase.kind is PhaseKind.ALL_IMAGES:
            self.iterations += passed
        else:  # of the search; or the division into prototypes, as the assignment is about to begin
            self.sample += passed

    def lap(self) -> float:
        """Processor seconds since this was last called."""
        before, self._last = self._last, time.process_time()
        return self._last - before


def fit(path: Path, n: int, max_iter: int, jobs: int) -> dict[str, float]:
    """To be called in a process of its own."""
    X = np.load(path, mmap_mode="r")[:n]
    search = Search(tol=0.0)
    model = DIKMeans(N_CLUSTERS, search=search, max_iter=max_iter, random_state=SEED, n_jobs=jobs)
    few = np.array(X[:300])
    DIKMeans(2, search=Search(sample_size=100), max_iter=1, random_state=0).fit(few)  # compiled
    before, peak, watch = of_this_process("RssAnon"), Peak(), Watch()
    clock = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Path(folder) / "checkpoint"
        with Meter(checkpoint) as meter:
            model.fit(X, checkpoint=checkpoint, progress=watch)
    assignment, seconds = watch.lap(), time.perf_counter() - clock
    return {
        "sample": watch.sample,
        "iterations": watch.iterations,
        "assignment": assignment,
        "seconds": seconds,
        "peak": peak.stop() - before,
        "checkpoint": meter.seconds / seconds,
        "largest": meter.n_bytes,
        "inertia": model.inertia_ / n,
        "prototypes": len(model.prototypes_),
    }


def expected_bytes(n: int) -> int:
    """What the fit is expected to need."""
    sample = DIKMeans(N_CLUSTERS).schedule_for(n, SHAPE).sample_size
    return estimate_memory(n, SHAPE, N_CLUSTERS, sample_size=sample, streamed=True)


def rows(path: Path, options: argparse.Namespace) -> Iterator[list[str]]:
    per_image = 0.0
    for n in options.images:
        command = [sys.executable, "-m", "benchmarks.million_images", "--fit", str(path)]
        command += ["--images", str(n), "--max-iter", str(options.max_iter)]
        command += ["--jobs", str(options.jobs)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        on_all = (found["iterations"] + found["assignment"]) / n
        per_image = per_image or on_all
        yield [
            f"{n:,}",
            f"{found['sample']:.0f}",
            f"{found['iterations']:.0f}",
            f"{found['assignment']:.0f}",
            f"{on_all * 1e3:.2f}",
            f"{on_all / per_image:.2f}",
            f"{found['seconds'] / 60:.1f}",
            f"{os.getloadavg()[2]:.1f}",
            f"{found['peak'] / 2**20:.0f}",
            f"{expected_bytes(n) / 2**20:.0f}",
            f"{100 * found['checkpoint']:.1f}",
            f"{found['largest'] / 2**20:.0f}",
            f"{found['inertia']:.4f}",
            f"{found['prototypes']}",
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, nargs="+", default=[60_000, 250_000, 1_000_000])
    parser.add_argument("--max-iter", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--folder", type=Path, help="where all is written; images stay there")
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        print(json.dumps(fit(options.fit, options.images[0], options.max_iter, options.jobs)))
        return
    header = [
        "images   ",
        "sample (cpu s)",
        "iterations (cpu s)",
        "assignment (cpu s)",
        "ms per image",
        "/ first row",
        "minutes",
        "load",
        "peak (MiB)",
        "estimate (MiB)",
        "checkpoints (%)",
        "largest (MiB)",
        "mean inertia",
        "prototypes",
    ]
    n = max(options.images)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        os.environ["TMPDIR"] = folder  # alignments and checkpoints too
        path = (options.folder or Path(folder)) / f"deformed-mnist-{n}.npy"
        if not path.exists():
            write_images(path, n)
        print(
            f"{n:,} images of 28 x 28 pixels, {path.stat().st_size / 2**20:,.0f} MiB; K = "
            f"{N_CLUSTERS}, {options.max_iter} iterations over all images, seed {SEED}, "
            f"{options.jobs} threads\n",
            flush=True,
        )
        print_table(header, rows(path, options))


if __name__ == "__main__":
    main()
