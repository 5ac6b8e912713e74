"""A set four times larger than the memory that is allowed, clustered all the same.

Writes real digits, shifted copies of them, to a file of `--factor` times the memory that the fit
may take; that is what `estimate_memory(streamed=True)` says. The fit runs in a process of its own,
to which the system gives no more than that on top of what interpreter, libraries and compiled code
take (RLIMIT_DATA): beyond it an allocation fails. Then the same set is fitted in memory under the
same limit.

    python -m benchmarks.out_of_memory [--factor 4] [--folder FOLDER] [--max-iter 2]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from sklearn.base import clone

from benchmarks._common import digits, print_table
from dikmeans import DIKMeans, Search
from dikmeans.monitoring.memory import estimate_memory, fits_bytes

SHAPE, N_CLUSTERS, SAMPLE_SIZE = (28, 28), 10, 1000
N_BASIS = 16


def expected_bytes(n_images: int, *, streamed: bool) -> int:
    return estimate_memory(n_images, SHAPE, N_CLUSTERS, sample_size=SAMPLE_SIZE, streamed=streamed)


def images_for(factor: float) -> int:
    """How many images make `factor` times the memory that their streamed fit may take."""
    size = int(np.prod(SHAPE)) * 4
    n = 1000
    while n * size < factor * expected_bytes(n, streamed=True):
        n += 1000
    return n


def write_images(path: Path, n: int) -> None:
    """Digits, each copy of the set shifted by some pixels and by itself."""
    originals = digits(5000)[0][:, 0]
    rng = np.random.default_rng(0)
    out = np.lib.format.open_memmap(path, "w+", np.float32, (n, *SHAPE))
    for first in range(0, n, len(originals)):
        shift = tuple(rng.integers(-2, 3, 2))
        copies = np.roll(originals[rng.permutation(len(originals))], shift, axis=(1, 2))
        out[first : first + len(copies)] = copies[: n - first]
    out.flush()


def of_this_process(entry: str) -> int:
    """An entry of /proc/self/status, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(entry + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(entry)


class Peak:
    """The most private memory this process had at a time, looked up every few milliseconds."""

    def __init__(self) -> None:
        self.bytes = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._over.wait(0.005):
            self.bytes = max(self.bytes, of_this_process("RssAnon"))

    def stop(self) -> int:
        """End of the watch: the peak in bytes."""
        self._over.set()
        self._thread.join()
        return self.bytes


def fit_under_limit(path: Path, streamed: bool, max_iter: int) -> dict[str, object]:
    """To be called in a process of its own: fit, with no more memory than estimated."""
    search = Search(sample_size=SAMPLE_SIZE, n_swaps=2, tol=0.0)
    model = DIKMeans(N_CLUSTERS, search=search, random_state=0, max_iter=max_iter)
    few = np.array(np.load(path, mmap_mode="r")[:200])
    # compiled and imported before the limit
    clone(model).set_params(search__sample_size=100, max_iter=1).fit(few)
    n_images = len(np.load(path, mmap_mode="r"))
    allowed = expected_bytes(n_images, streamed=True)
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (of_this_process("VmData") + allowed, hard))
    before, peak, clock = of_this_process("RssAnon"), Peak(), time.perf_counter()
    outcome: dict[str, object] = {"allowed": allowed}
    try:
        X = np.load(path, mmap_mode="r" if streamed else None)
        model.fit(X)
        outcome["iterations"] = model.n_iter_
        outcome["inertia"] = model.inertia_
    except MemoryError:
        outcome["error"] = "MemoryError"
    outcome["seconds"] = time.perf_counter() - clock
    outcome["peak"] = peak.stop() - before
    return outcome


def in_own_process(path: Path, streamed: bool, max_iter: int) -> dict[str, object]:
    command = [sys.executable, "-m", "benchmarks.out_of_memory"]
    command += ["--fit", str(path), "--max-iter", str(max_iter)]
    done = subprocess.run(
        command + ["--streamed"] * streamed,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    if done.returncode:
        return {"error": (done.stderr.strip() or "killed").splitlines()[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--factor", type=float, default=4.0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--max-iter", type=int, default=2)
    parser.add_argument("--fit", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--streamed", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit:
        print(json.dumps(fit_under_limit(options.fit, options.streamed, options.max_iter)))
        return
    n = images_for(options.factor)
    size = n * int(np.prod(SHAPE)) * 4
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "images.npy"
        write_images(path, n)
        print(
            f"{n:,} images of 28 x 28 pixels, K = {N_CLUSTERS}: {size / 1e6:,.0f} MB, alignments "
            f"{fits_bytes(n, N_CLUSTERS, N_BASIS) / 1e6:,.0f} MB; load {os.getloadavg()[0]:.1f}\n"
        )
        names = {True: "memory map", False: "in memory"}

        def row(streamed: bool) -> list[str]:
            found = in_own_process(path, streamed, options.max_iter)
            estimate = expected_bytes(n, streamed=streamed)
            if "error" in found:
                return [names[streamed], f"{estimate / 1e6:.0f}", "", "", "", str(found["error"])]
            allowed, peak = float(found["allowed"]), float(found["peak"])  # type: ignore[arg-type]
            return [
                names[streamed],
                f"{estimate / 1e6:.0f}",
                f"{allowed / 1e6:.0f}",
                f"{peak / 1e6:.0f}",
                f"{size / peak:.1f}",
                f"{found['iterations']} iterations, {float(found['seconds']) / 60:.1f} min",  # type: ignore[arg-type]
            ]

        header = [
            "X is     ",
            "estimate (MB)",
            "allowed (MB)",
            "peak (MB)",
            "set / peak",
            "outcome          ",
        ]
        print_table(header, (row(streamed) for streamed in (True, False)))


if __name__ == "__main__":
    main()
