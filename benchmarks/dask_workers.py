"""One worker of a Dask cluster against two and the local fit; bytes moved in an iteration.

Scheduler and workers are processes of their own on this machine, of one thread each, bound to the
loopback interface. The same iterations of Lloyd's algorithm over all images are timed in turns: in
memory on one thread, streamed from a memory map on one thread, on one worker, on two. Processor
seconds are those of the whole fit, of all processes: on a busy machine they say more than the
clock. Bytes are those that the operating system has sent and received on all connections of this
program (TCP_INFO), with the scheduler's messages.

    python -m benchmarks.dask_workers [--images 8000] [--chunk 500] [--rounds 2]
"""

from __future__ import annotations

import argparse
import os
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import dask.array as da
import numpy as np
import psutil
import zarr
from distributed import Client

from benchmarks._common import digits, print_table
from dikmeans import DIKMeans, Search
from dikmeans.monitoring.events import ProgressEvent
from dikmeans.monitoring.memory import fits_bytes

N_CLUSTERS, MAX_ITER, N_BASIS = 10, 4, 16


@contextmanager
def cluster(n_workers: int, folder: Path) -> Iterator[tuple[str, list[psutil.Process]]]:
    """A scheduler and its workers, as processes; the file with the address, and the processes."""
    found = folder / f"scheduler-{n_workers}.json"
    common = [
        "--no-dashboard",
        "--dashboard-address",
        "127.0.0.1:0",
        "--scheduler-file",
        str(found),
        "--host",
        "127.0.0.1",
    ]
    commands = [["distributed.cli.dask_scheduler", *common, "--port", "0"]]
    commands += n_workers * [
        ["distributed.cli.dask_worker", *common, "--nthreads", "1", "--no-nanny"]
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    processes = []
    with ExitStack() as stack:
        for command in commands:
            process = stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", *command],
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            stack.callback(process.terminate)
            processes.append(psutil.Process(process.pid))
            while not found.exists():
                time.sleep(0.1)
        yield str(found), processes


def processor_seconds(processes: list[psutil.Process]) -> float:
    """Of this process and others so far."""
    return sum(sum(process.cpu_times()[:2]) for process in [psutil.Process(), *processes])


def bytes_so_far() -> int:
    """Sent and received on all TCP connections of this process that are open."""
    total = 0
    for entry in Path("/proc/self/fd").iterdir():
        try:
            if not os.readlink(entry).startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(entry.name))) as connection:
                if connection.type == socket.SOCK_STREAM and connection.family == socket.AF_INET:
                    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
                    total += sum(
                        struct.unpack_from("=QQ", info, 120)
                    )  # bytes acked, bytes received
        except OSError:  # closed in the meantime, or listening
            continue
    return total


class Marks:
    """When iterations over all images ended, and how many bytes had moved by then."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.bytes: list[int] = []
        self.processor_seconds = 0.0

    def __call__(self, event: ProgressEvent) -> None:
        """Note both."""
        if event.record is not None:
            self.seconds.append(event.record.seconds)
            self.bytes.append(bytes_so_far())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=8000)
    parser.add_argument("--chunk", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    images = np.resize(digits(5000)[0][:, 0], (options.images, 28, 28))

    def fit(X: object, processes: list[psutil.Process]) -> Marks:
        marks, before = Marks(), processor_seconds(processes)
        model = DIKMeans(
            N_CLUSTERS,
            init=images[:N_CLUSTERS],
            search=Search(deformation_prior="bending", tol=0.0),
            max_iter=MAX_ITER,
            n_jobs=1,
        )
        model.fit(X, progress=marks)
        marks.processor_seconds = processor_seconds(processes) - before
        return marks

    def on(scheduler_file: str, processes: list[psutil.Process], X: object) -> Marks:
        with Client(scheduler_file=scheduler_file, set_as_default=True) as client:
            client.wait_for_workers(len(processes) - 1)
            return fit(X, processes)

    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        np.save(folder / "images.npy", images)
        chunks = (options.chunk, 28, 28)
        zarr.create_array(str(folder / "images.zarr"), data=images, chunks=chunks)
        lazy = da.from_zarr(str(folder / "images.zarr"))
        clusters = {n: stack.enter_context(cluster(n, folder)) for n in (1, 2)}
        jobs: dict[str, Callable[[], Marks]] = {
            "in memory": lambda: fit(images, []),
            "memory map": lambda: fit(np.load(folder / "images.npy", mmap_mode="r"), []),
            "Dask, 1 worker": lambda: on(*clusters[1], lazy),
            "Dask, 2 workers": lambda: on(*clusters[2], lazy),
        }
        found: dict[str, list[Marks]] = {name: [] for name in jobs}
        for job in jobs.values():
            job()  # compilation, imports
        for _ in range(options.rounds):
            for name, job in jobs.items():
                found[name].append(job())
    seconds = {
        name: float(np.median([s for run in runs for s in run.seconds]))
        for name, runs in found.items()
    }
    state = fits_bytes(options.images, N_CLUSTERS, N_BASIS)
    print(
        f"{options.images:,} images, K = {N_CLUSTERS}, {len(lazy.chunks[0])} chunks; images "
        f"{images.nbytes / 1e6:.1f} MB, alignments {state / 1e6:.1f} MB; load "
        f"{os.getloadavg()[0]:.1f}\n"
    )

    def row(name: str) -> list[str]:
        moved = [n for run in found[name] for n in np.diff(run.bytes)]
        return [
            name.ljust(15),
            f"{seconds[name]:.2f}",
            f"{seconds[name] / seconds['in memory']:.2f}",
            f"{seconds['Dask, 1 worker'] / seconds[name]:.2f}",
            f"{np.median([run.processor_seconds for run in found[name]]):.1f}",
            f"{np.median(moved) / 1e3:.0f}" if "Dask" in name else "",
        ]

    header = [
        "one thread each",
        "s per iteration",
        "/ in memory",
        "faster than 1 worker",
        "processor s, the fit",
        "kB moved per iteration",
    ]
    print_table(header, map(row, jobs))


if __name__ == "__main__":
    main()
