"""Hosts for the processes of a cluster: network namespaces with cables, or this machine itself.

In namespaces every host has an address and a network interface of its own, at the other end of a
cable to a switch: cutting it leaves connections that nobody closes, as in life. Where namespaces
cannot be made, all hosts are the loopback interface, and processes are killed or stopped instead.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOOPBACK = "127.0.0.1"
# Short, so that tests are; a busy machine must not be taken for a lost one.
TIMEOUTS = {
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "20s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "20s",
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "25s",
    "DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT": "40s",
}


class Hosts:
    """Processes on the loopback interface.

    Parameters
    ----------
    folder : pathlib.Path
        Working folder of all processes.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._processes: dict[str, subprocess.Popen[str]] = {}

    def __enter__(self) -> Hosts:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                stream.close()

    def address(self, host: str) -> str:
        """The address of a host."""
        return LOOPBACK

    def command(self, host: str) -> list[str]:
        """What a command begins with, to run on a host."""
        return []

    def start(self, host: str, module: str, *arguments: str) -> subprocess.Popen[str]:
        """Run a Python module on a host; one process per host."""
        paths = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        with open(self._folder / f"{host}.log", "a") as log:
            process = subprocess.Popen(
                [*self.command(host), sys.executable, "-m", module, *arguments],
                cwd=self._folder,
                env={**os.environ, **TIMEOUTS, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        if host in self._processes:
            self.kill(host)
        self._processes[host] = process
        return process

    def kill(self, host: str) -> None:
        """End the process of a host, without a word."""
        process = self._processes.pop(host)
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            stream.close()

    def stop_for(self, host: str, seconds: float) -> None:
        """Let the process of a host do nothing for a while."""
        self._processes[host].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        self._processes[host].send_signal(signal.SIGCONT)

    def cut(self, host: str) -> None:
        """The worst that can be done to a host without a cable."""
        self.kill(host)

    def slow_down(self, host: str) -> None:
        """Make a host slow for a while."""
        self.stop_for(host, 5)


class NamespaceHosts(Hosts):
    """Every host in a network namespace of its own, connected to a switch by a cable.

    Raises
    ------
    OSError
        Namespaces cannot be made: with the reason.
    """

    NAMES = ("scheduler", "program", "one", "two")

    def __init__(self, folder: Path):
        super().__init__(folder)
        if shutil.which("ip") is None:
            raise OSError("network namespaces need the command `ip` (package iproute2)")
        self._prefix = f"dik{os.getpid()}"
        self._spaces: list[str] = []
        try:
            self._connect()
        except OSError:
            self._remove()
            raise

    def _connect(self) -> None:
        switch = self._make("switch")
        _run("ip", "-n", switch, "link", "add", "hub", "type", "bridge")
        _run("ip", "-n", switch, "link", "set", "hub", "up")
        for host in self.NAMES:
            space, port = self._make(host), f"to-{host}"
            peer = ("peer", "name", "cable", "netns", space)
            _run("ip", "-n", switch, "link", "add", port, "type", "veth", *peer)
            _run("ip", "-n", switch, "link", "set", port, "master", "hub", "up")
            _run("ip", "-n", space, "addr", "add", f"{self.address(host)}/24", "dev", "cable")
            _run("ip", "-n", space, "link", "set", "cable", "up")
            _run("ip", "-n", space, "link", "set", "lo", "up")

    def _make(self, name: str) -> str:
        space = f"{self._prefix}-{name}"
        _run("ip", "netns", "add", space)
        self._spaces.append(space)
        return space

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self._remove()

    def _remove(self) -> None:
        for space in self._spaces:
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)

    def address(self, host: str) -> str:
        """An address that exists in these namespaces alone."""
        return f"10.231.7.{1 + self.NAMES.index(host)}"

    def command(self, host: str) -> list[str]:
        """Enter the namespace."""
        return ["ip", "netns", "exec", f"{self._prefix}-{host}"]

    def cut(self, host: str) -> None:
        """Pull the cable out of the switch."""
        _run("ip", "-n", f"{self._prefix}-switch", "link", "set", f"to-{host}", "down")

    def mend(self, host: str) -> None:
        """Put the cable back."""
        _run("ip", "-n", f"{self._prefix}-switch", "link", "set", f"to-{host}", "up")

    def slow_down(self, host: str) -> None:
        """Let no more than 2 Mbit/s through the cable, and stop the process for a while."""
        limit = ("rate", "2mbit", "burst", "32kbit", "latency", "400ms")
        for space, port in ((host, "cable"), ("switch", f"to-{host}")):
            inside = ("ip", "netns", "exec", f"{self._prefix}-{space}")
            _run(*inside, "tc", "qdisc", "add", "dev", port, "root", "tbf", *limit)
        super().slow_down(host)


def _run(*command: str) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"`{' '.join(command)}` failed: {done.stderr.strip()}")


def why_no_namespaces() -> str:
    """The reason why namespaces cannot be made here; empty if they can."""
    try:
        with tempfile.TemporaryDirectory() as folder, NamespaceHosts(Path(folder)):
            return ""
    except OSError as error:
        return str(error)
