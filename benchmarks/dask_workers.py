"""One worker of a Dask cluster against two and the local fit; bytes moved in an iteration.

Scheduler and workers are processes of their own on this machine, of one thread each, bound to the
loopback interface. Where there are more cores than workers, each worker has one for itself, and
scheduler and program share the others. The same iterations of Lloyd's algorithm over all images are
measured in turns: in memory on one thread, streamed from a memory map on one thread, on one worker,
on two.

Seconds of the clock depend on what else the machine does, and on a machine of two cores program and
scheduler take time from the workers. So processor time is counted too, per iteration and process.
Two speedups follow from it: that of the workers alone (one worker against the busier of two), which
is what machines of their own would give, and one for which program and scheduler are added in full,
as if they never worked at the same time as a worker. Bytes are those that the operating system has
sent and received on all connections of this program (TCP_INFO), with the scheduler's messages.

    python -m benchmarks.dask_workers [--images 60000] [--chunk 5000] [--rounds 2]
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
            _pin(processes, n_workers)
            while not found.exists():
                time.sleep(0.1)
        yield str(found), processes


def _pin(processes: list[psutil.Process], n_workers: int) -> None:
    """Give the newest process, if it is a worker, a core of its own; the others share the rest."""
    cores = sorted(psutil.Process().cpu_affinity())
    if len(cores) <= n_workers:
        return
    worker = len(processes) - 2
    own = [cores[worker]] if worker >= 0 else cores[n_workers:]
    processes[-1].cpu_affinity(own)


def processor_seconds(processes: list[psutil.Process]) -> list[float]:
    """Of this process and each of the others so far."""
    return [sum(process.cpu_times()[:2]) for process in [psutil.Process(), *processes]]


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
    """When iterations over all images ended, and what had been done and moved by then."""

    def __init__(self, processes: list[psutil.Process]) -> None:
        self._processes = processes
        self.seconds: list[float] = []
        self.bytes: list[int] = []
        self._spent = [processor_seconds(processes)]

    def __call__(self, event: ProgressEvent) -> None:
        """Note them."""
        if event.record is not None:
            self.seconds.append(event.record.seconds)
            self.bytes.append(bytes_so_far())
            self._spent.append(processor_seconds(self._processes))

    @property
    def per_iteration(self) -> np.ndarray:
        """Processor seconds of the program, the scheduler and each worker in an iteration.

        The first iteration is left out: before it comes the alignment from scratch.
        """
        return np.diff(self._spent[1:], axis=0).mean(axis=0)

    @property
    def busiest(self) -> float:
        """Of the worker that had most to do; without workers, of the program."""
        spent = self.per_iteration
        return float(spent[2:].max() if len(spent) > 2 else spent[0])

    @property
    def rest(self) -> float:
        """Of program and scheduler."""
        return float(self.per_iteration[:2].sum()) if len(self.per_iteration) > 2 else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=60_000)
    parser.add_argument("--chunk", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    images = np.resize(digits(5000)[0][:, 0], (options.images, 28, 28))

    def fit(X: object, processes: list[psutil.Process]) -> Marks:
        marks = Marks(processes)
        model = DIKMeans(
            N_CLUSTERS,
            init=images[:N_CLUSTERS],
            search=Search(deformation_prior="bending", tol=0.0),
            max_iter=MAX_ITER,
            n_jobs=1,
        )
        model.fit(X, progress=marks)
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
        few = da.from_array(images[:200], chunks=(20, 28, 28))
        clusters = {n: stack.enter_context(cluster(n, folder)) for n in (1, 2)}
        jobs: dict[str, Callable[[], Marks]] = {
            "in memory": lambda: fit(images, []),
            "memory map": lambda: fit(np.load(folder / "images.npy", mmap_mode="r"), []),
            "Dask, 1 worker": lambda: on(*clusters[1], lazy),
            "Dask, 2 workers": lambda: on(*clusters[2], lazy),
        }
        found: dict[str, list[Marks]] = {name: [] for name in jobs}
        fit(images[:200], [])  # compilation, imports
        for one in clusters.values():
            on(*one, few)
        for _ in range(options.rounds):
            for name, job in jobs.items():
                found[name].append(job())

    def median(name: str, value: Callable[[Marks], float]) -> float:
        return float(np.median([value(run) for run in found[name]]))

    seconds = {name: median(name, lambda run: float(np.median(run.seconds[1:]))) for name in jobs}
    busiest = {name: median(name, lambda run: run.busiest) for name in jobs}
    rest = {name: median(name, lambda run: run.rest) for name in jobs}
    state = fits_bytes(options.images, N_CLUSTERS, N_BASIS)
    n_cores = len(psutil.Process().cpu_affinity())
    print(
        f"{options.images:,} images, K = {N_CLUSTERS}, {len(lazy.chunks[0])} chunks; images "
        f"{images.nbytes / 1e6:.1f} MB, alignments {state / 1e6:.1f} MB; {n_cores} cores, load "
        f"{os.getloadavg()[0]:.1f}; {options.rounds} rounds of {MAX_ITER} iterations\n"
    )

    def row(name: str) -> list[str]:
        moved = [n for run in found[name] for n in np.diff(run.bytes)]
        is_dask, one = "Dask" in name, "Dask, 1 worker"
        whole = busiest[one] + rest[one]
        return [
            name.ljust(15),
            f"{seconds[name]:.2f}",
            f"{seconds[one] / seconds[name]:.2f}" if is_dask else "",
            f"{busiest[name]:.2f}",
            f"{rest[name]:.2f}" if is_dask else "",
            f"{busiest[one] / busiest[name]:.2f}" if is_dask else "",
            f"{whole / (busiest[name] + rest[name]):.2f}" if is_dask else "",
            f"{np.median(moved) / 1e3:.0f}" if is_dask else "",
        ]

    header = [
        "one thread each",
        "s per iteration",
        "speedup",
        "cpu s, busiest",
        "cpu s, program and scheduler",
        "speedup of workers",
        "speedup, all added",
        "kB moved per iteration",
    ]
    print_table(header, map(row, jobs))


if __name__ == "__main__":
    main()
