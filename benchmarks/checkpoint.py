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
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._common import digits, interleaved, print_table
from dikmeans import DIKMeans
from dikmeans.checkpoint.store import FolderStore


class MeteredFit:
    """A fit with checkpoints: how many it writes, how long that takes, the size of the largest."""

    def __init__(self, model: DIKMeans, X: np.ndarray, folder: Path):
        self._model, self._X, self._folder = model, X, folder

    def __call__(self) -> None:
        """Fit from the beginning."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self.count, self.seconds, self.n_bytes = 0, 0.0, 0
        write = FolderStore._write

        def metered(store: FolderStore, *args: Any, **kwargs: Any) -> None:
            clock = time.perf_counter()
            write(store, *args, **kwargs)
            self.seconds += time.perf_counter() - clock
            self.count += 1
            self.n_bytes = max(
                self.n_bytes, sum(path.stat().st_size for path in self._folder.iterdir())
            )

        FolderStore._write = metered  # type: ignore[method-assign]
        try:
            self._model.fit(self._X, checkpoint=self._folder)
        finally:
            FolderStore._write = write  # type: ignore[method-assign]


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
        metered = MeteredFit(model, X, place / "checkpoint")
        without, with_them = interleaved([lambda: model.fit(X), metered], options.repeats)
        return [
            warp,
            f"{without:.2f}",
            f"{with_them:.2f}",
            f"{with_them / without:.2f}",
            f"{metered.seconds:.2f}",
            f"{metered.count}",
            f"{metered.n_bytes / 1e6:.1f}",
            f"{seconds_to_flush(place, metered.n_bytes):.3f}",
        ]

    with tempfile.TemporaryDirectory(dir=options.folder) as place:
        print_table(header, (row(warp, Path(place)) for warp in options.warps))


if __name__ == "__main__":
    main()
