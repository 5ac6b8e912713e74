"""Does anything pile up? Hundreds of fits in one process, and what each leaves in memory.

A round fits a model and then does everything else one does with it: predict, transform, score,
align, save, load. Shapes, numbers of clusters and warps take turns. The first rounds compile loops
and fill caches of fixed size; they are the warm-up and set apart. What is left is a line through
the resident memory of the other rounds: its slope, and how sure it is.

    python -m benchmarks.soak [--rounds 400] [--warm-up 50]
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks._common import digits, print_table
from dikmeans import DIKMeans, Search

# (rows and columns that are kept, clusters, warp): taken in turn
SETTINGS = (
    (2, 3, "tps"),
    (1, 2, "affine"),
    (2, 5, "none"),
    (3, 2, "tps"),
    (2, 4, "affine"),
)
N_IMAGES = 60
LINES = 10
MIB = 1 << 20


class Reading(NamedTuple):
    """What a process holds.

    Attributes
    ----------
    resident : int
        Bytes in memory.
    objects : int
        Python objects that the collector knows.
    threads : int
    files : int
        Open ones.
    """

    resident: int
    objects: int
    threads: int
    files: int


def reading() -> Reading:
    """What this process holds now, garbage collected."""
    gc.collect()
    n_files = len(os.listdir("/proc/self/fd"))
    return Reading(resident(), len(gc.get_objects()), threading.active_count(), n_files)


def resident() -> int:
    """Bytes of this process in memory (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def one_round(number: int, images: np.ndarray, folder: Path) -> None:
    """A fit and everything that follows one."""
    step, n_clusters, warp = SETTINGS[number % len(SETTINGS)]
    first = (number * 7) % (len(images) - N_IMAGES)
    X = images[first : first + N_IMAGES, ::step, ::step]
    search = Search(n_swaps=1, max_iter=3)
    model = DIKMeans(n_clusters, warp=warp, search=search, max_iter=3, random_state=number).fit(X)
    model.save(folder / "model")
    same = DIKMeans.load(folder / "model")
    assert (same.predict(X) == model.labels_).all()
    assert same.transform(X).shape == (N_IMAGES, n_clusters)
    assert same.score(X) <= 0
    assert np.isfinite(np.stack([alignment.aligned for alignment in same.align(X[:5])])).all()


def slope(values: np.ndarray) -> tuple[float, float, float]:
    """Change per round with its 95 % confidence interval, robust to outliers (Theil and Sen)."""
    found = stats.theilslopes(values, alpha=0.95)
    return float(found[0]), float(found[2]), float(found[3])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--warm-up", type=int, default=50)
    options = parser.parse_args()
    images = digits(1000)[0][:, 0]
    readings = np.zeros(
        (options.rounds, len(Reading._fields)), int
    )  # made beforehand: it must not grow
    begin = time.perf_counter()

    def lines():
        with tempfile.TemporaryDirectory() as folder:
            for number in range(options.rounds):
                one_round(number, images, Path(folder))
                readings[number] = last = reading()
                if (number + 1) % max(1, options.rounds // LINES) == 0:
                    yield (
                        str(number + 1),
                        f"{last.resident / MIB:.1f}",
                        f"{last.objects:,}",
                        str(last.threads),
                        str(last.files),
                        f"{time.perf_counter() - begin:.0f}",
                    )

    print_table(("rounds", "resident MiB", "objects", "threads", "files", "seconds"), lines())
    after = readings[options.warm_up :, 0] / 1024
    middle, low, high = slope(after)
    half = len(after) // 2
    print(
        f"\nAfter {options.warm_up} rounds of warm-up: {middle:+.2f} KiB per round, 95 % "
        f"confidence interval {low:+.2f} to {high:+.2f}; mean of the first half "
        f"{after[:half].mean() / 1024:.1f} MiB, of the second "
        f"{after[half:].mean() / 1024:.1f} MiB; highest {after.max() / 1024:.1f} MiB."
    )


if __name__ == "__main__":
    main()
