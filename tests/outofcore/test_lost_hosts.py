"""What happens to hosts of a cluster during a fit: its result is the same, or its error is clear.

A cut cable and a slow host change nothing. Without its scheduler a fit ends with an error, and
continues from its checkpoint when there is one again.
"""

from __future__ import annotations

import queue
import threading

import numpy as np
import pytest

from tests.outofcore.fit_on_cluster import CLUSTER_LOST, PARAMETERS, PAUSE_AFTER
from tests.outofcore.hosts import Hosts, NamespaceHosts, why_no_namespaces
from tests.outofcore.sharded_fits import quick

pytestmark = pytest.mark.slow

PORT = "8786"
# Seconds until something must have happened, on a busy machine.
PATIENCE = 240


@pytest.fixture(params=[NamespaceHosts, Hosts], ids=["namespaces", "loopback"])
def hosts(request, tmp_path):
    """Where the processes run: with cables, if that is possible, and without."""
    if request.param is NamespaceHosts and (reason := why_no_namespaces()):
        pytest.skip(f"no network namespaces here, processes on loopback only: {reason}")
    with request.param(tmp_path) as hosts:
        yield hosts


class Program:
    """A cluster with two workers, and a program that fits on it."""

    def __init__(self, hosts, folder):
        self._hosts, self._folder = hosts, folder
        self._port = PORT if isinstance(hosts, NamespaceHosts) else "0"

    def start_cluster(self) -> None:
        hosts, found = self._hosts, self._folder / "scheduler.json"
        found.unlink(missing_ok=True)
        common = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
        common += ["--scheduler-file", str(found)]
        place = ["--host", hosts.address("scheduler"), "--port", self._port]
        hosts.start("scheduler", "distributed.cli.dask_scheduler", *common, *place)
        for host in ("one", "two"):
            place = ["--host", hosts.address(host), "--nthreads", "1", "--no-nanny"]
            hosts.start(host, "distributed.cli.dask_worker", *common, *place)

    def start_fit(self) -> None:
        """Begin, or continue, a fit; it pauses after an iteration over all images."""
        module = "tests.outofcore.fit_on_cluster"
        arguments = [str(self._folder / "scheduler.json"), str(self._folder), "2"]
        self._process = self._hosts.start("program", module, *arguments)
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, args=[self._process.stdout], daemon=True).start()

    def _listen(self, stream) -> None:
        try:
            for line in stream:
                self._lines.put(line.strip())
        except ValueError:  # closed
            pass
        self._lines.put("")

    def hears(self, start: str) -> str:
        """The next line of the program, which begins with `start`."""
        line = self._lines.get(timeout=PATIENCE)
        log = (self._folder / "program.log").read_text()
        assert line.startswith(start), f"{line!r}\n{log[-3000:]}"
        return line

    def go_on(self) -> None:
        """Let the fit go on after its pause."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def status(self) -> int:
        """How the program has ended."""
        return self._process.wait(timeout=PATIENCE)

    def assert_same_result(self, expected) -> None:
        """The fit has found what one in memory finds."""
        self.hears("done")
        assert self.status() == 0
        with np.load(self._folder / "result.npz") as result:
            np.testing.assert_array_equal(result["labels"], expected.labels_)
            np.testing.assert_allclose(result["prototypes"], expected.prototypes_, atol=1e-5)
            inertia = expected.history_.inertia
            np.testing.assert_allclose(result["inertia"], inertia, rtol=1e-6)


@pytest.fixture
def program(hosts, pictures, tmp_path):
    np.save(tmp_path / "images.npy", pictures)
    program = Program(hosts, tmp_path)
    program.start_cluster()
    program.start_fit()
    program.hears("paused")
    return program


@pytest.fixture(scope="module")
def in_memory(pictures):
    return quick(**PARAMETERS).fit(pictures)


def test_a_cut_cable_changes_nothing(program, hosts, in_memory):
    hosts.cut("two")
    program.go_on()
    program.assert_same_result(in_memory)


def test_a_slow_host_changes_nothing(program, hosts, in_memory):
    slowing = threading.Thread(target=hosts.slow_down, args=["two"])
    slowing.start()
    program.go_on()
    program.assert_same_result(in_memory)
    slowing.join()


@pytest.mark.parametrize("how", ["kill", "cut"])
def test_without_its_scheduler_a_fit_ends_with_an_error_and_continues_from_its_checkpoint(
    program, hosts, in_memory, how
):
    getattr(hosts, how)("scheduler")
    program.go_on()
    message = program.hears("ClusterError: The Dask cluster was lost during the fit")
    assert "with the same `checkpoint` it continues" in message
    assert program.status() == CLUSTER_LOST
    if how == "cut" and isinstance(hosts, NamespaceHosts):
        hosts.mend("scheduler")
    program.start_cluster()
    program.start_fit()
    program.hears(f"resumed after {PAUSE_AFTER}")
    program.assert_same_result(in_memory)


def test_without_workers_a_fit_ends_with_an_error(program, hosts):
    for host in ("one", "two"):
        hosts.cut(host)
    program.go_on()
    program.hears("ClusterError: The Dask cluster was lost during the fit")
    assert program.status() == CLUSTER_LOST
