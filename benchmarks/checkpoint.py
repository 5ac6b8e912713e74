"""What checkpoints cost: a fit with them and one without, side by side, on 5,000 real digits.

The last columns are what is written after an iteration, and how fast this disk takes a file of that size
(written and flushed, nothing else): where the ratio is far from one, look there first.

    python benchmarks/checkpoint.py [--images 5000] [--repeats 3] [--folder PLACE] [--jobs -1]
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np

from _common import digits, interleaved, print_table
from dikmeans import DIKMeans
from dikmeans.cluster.checkpoint import Checkpoint


class Largest:
    """How many checkpoints a fit writes, and the size of the largest."""

    def __init__(self) -> None:
        self.count, self.n_bytes = 0, 0

    def watch(self, folder: Path) -> None:
        write = Checkpoint._write

        def write_and_weigh(checkpoint: Checkpoint, *args: object, **kwargs: object) -> None:
            write(checkpoint, *args, **kwargs)
            self.count += 1
            self.n_bytes = max(self.n_bytes, sum(path.stat().st_size for path in folder.iterdir()))

        Checkpoint._write = write_and_weigh  # type: ignore[method-assign]


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
    parser.add_argument("--folder", type=Path, help="where the checkpoints go; by default a temporary folder")
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    X = digits(options.images)[0][:, 0]
    header = ["warp  ", "without (s)", "with (s)", "ratio", "checkpoints", "MB each, at most", "flush (s)"]

    def row(warp: str, place: Path) -> list[str]:
        def fit(checkpoint: Path | None = None) -> None:
            DIKMeans(10, warp=warp, random_state=0, n_jobs=options.jobs).fit(X, checkpoint=checkpoint)

        def fit_with_checkpoints() -> None:
            shutil.rmtree(place / "checkpoint", ignore_errors=True)
            fit(place / "checkpoint")

        without, with_them = interleaved([fit, fit_with_checkpoints], options.repeats)
        largest = Largest()
        largest.watch(place / "checkpoint")
        fit_with_checkpoints()
        flush = seconds_to_flush(place, largest.n_bytes)
        return [
            warp,
            f"{without:.2f}",
            f"{with_them:.2f}",
            f"{with_them / without:.2f}",
            f"{largest.count}",
            f"{largest.n_bytes / 1e6:.1f}",
            f"{flush:.3f}",
        ]

    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        print_table(header, (row(warp, Path(place)) for warp in ("none", "affine", "tps")))


if __name__ == "__main__":
    main()
