"""What checkpoints cost: a fit with them and one without, side by side, on 5,000 real digits.

Beside the ratio of the two stands what was spent writing within the fit with checkpoints, which a
busy machine blurs less, and how long this disk takes for a bare file of a checkpoint's size
(written and flushed).

    python -m benchmarks.checkpoint [--images 5000] [--repeats 3] [--jobs -1] [--warps tps]
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import digits, interleaved, print_table
from dikmeans import DIKMeans
from dikmeans.checkpoint.store import FolderStore
from dikmeans.kmeans.dataset import Dataset


class Meter:
    """While entered: how many checkpoints are written, how long that takes, the largest of them.

    Seconds are those of the clock, as a checkpoint waits for the disk, and include the fingerprint
    of the images, which only a checkpoint needs.
    """

    def __init__(self, folder: Path):
        self._folder = folder

    def __enter__(self) -> Meter:
        self.count, self.seconds, self.n_bytes = 0, 0.0, 0
        self._write, self._fingerprint = FolderStore._write, Dataset.fingerprint

        def write(*args: Any, **kwargs: Any) -> None:
            self._timed(self._write, *args, **kwargs)
            self.count += 1
            size = sum(path.stat().st_size for path in self._folder.iterdir())
            self.n_bytes = max(self.n_bytes, size)

        FolderStore._write = write  # type: ignore[method-assign]
        Dataset.fingerprint = lambda dataset: self._timed(self._fingerprint, dataset)  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        FolderStore._write = self._write  # type: ignore[method-assign]
        Dataset.fingerprint = self._fingerprint  # type: ignore[method-assign]

    def _timed(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        clock = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            self.seconds += time.perf_counter() - clock


def seconds_to_flush(folder: Path, n_bytes: int) -> float:
    """Median time of writing and flushing a file."""
    content, seconds = np.random.default_rng(0).bytes(n_bytes), []
    for _ in range(5):
        clock = time.perf_counter()
        with open(folder / "probe", "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        seconds.append(time.perf_counter() - clock)
        (folder / "probe").unlink()
    return float(np.median(seconds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--folder", type=Path, help="where the checkpoints go; by default a temporary folder"
    )
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--warps", nargs="+", default=["none", "affine", "tps"])
    options = parser.parse_args()
    X = digits(options.images)[0][:, 0]
    header = [
        *("warp  ", "without (s)", "with (s)", "ratio"),
        *("of it writing (s)", "checkpoints", "largest (MB)", "bare file (s)"),
    ]

    def row(warp: str, place: Path) -> list[str]:
        model = DIKMeans(10, warp=warp, random_state=0, n_jobs=options.jobs)
        meter = Meter(place / "checkpoint")

        def fit_with_checkpoints() -> None:
            shutil.rmtree(place / "checkpoint", ignore_errors=True)
            with meter:
                model.fit(X, checkpoint=place / "checkpoint")

        jobs = [lambda: model.fit(X), fit_with_checkpoints]
        without, with_them = interleaved(jobs, options.repeats)
        return [
            warp,
            f"{without:.2f}",
            f"{with_them:.2f}",
            f"{with_them / without:.2f}",
            f"{meter.seconds:.2f}",
            f"{meter.count}",
            f"{meter.n_bytes / 1e6:.1f}",
            f"{seconds_to_flush(place, meter.n_bytes):.3f}",
        ]

    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        print_table(header, (row(warp, Path(place)) for warp in options.warps))


if __name__ == "__main__":
    main()
