"""The studio under load: many requests a second on loopback while a re-fit runs.

    python -m benchmarks.studio_load RUN [--rate 50] [--seconds 60]

Works on a copy of RUN. A program of its own serves it; requests are a mix of pages of members,
pictures, the state and an edit now and then, sent at a steady rate whatever the answers do. Prints
one line of JSON: how many answers were errors, how long they took, how large the server became.
Only 127.0.0.1 is used.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path
from queue import Queue
from urllib.parse import urlsplit

import numpy as np

N_CONNECTIONS = 8
PAGE = 200


class Server:
    """The studio on a run."""

    def __init__(self, run: Path):
        command = [sys.executable, "-m", "dikmeans.cli", "studio", str(run), "--no-browser"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        address = urlsplit(self.process.stdout.readline().split()[1])
        self.port, self.token = address.port, address.query.partition("=")[2]

    def memory(self) -> float:
        """Megabytes that the server holds now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024

    def stop(self) -> int:
        """Ctrl-C; returns the exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait()


class Client:
    """One connection that is kept open."""

    def __init__(self, server: Server):
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self._headers = {"authorization": f"Bearer {server.token}"}

    def ask(self, path: str, value: object = None) -> tuple[int, bytes]:
        """Status and body of the answer; with a value it is a POST."""
        headers, body = dict(self._headers), None
        if value is not None:
            headers["content-type"], body = "application/json", json.dumps(value)
        method = "GET" if value is None else "POST"
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.read()


def requests_for(state: dict, n: int, rng: random.Random) -> list[tuple[str, str, object]]:
    """Kinds, paths and bodies of `n` requests, as a person's page would send them."""
    ids = [cluster["id"] for cluster in state["clusters"]]
    made: list[tuple[str, str, object]] = []
    for i in range(n):
        number = rng.randrange(state["nPictures"])
        if i % 50 == 49:
            edit = {"kind": "pin", "pictures": [number]}
            made.append(("edit", "/api/edits", {"edits": [edit]}))
        elif i % 10 == 0:
            group, offset = rng.choice(ids), PAGE * rng.randrange(5)
            path = f"/api/members?group={group}&sort=worst&offset={offset}&limit={PAGE}"
            made.append(("members", path, None))
        elif i % 10 == 5:
            made.append(("state", "/api/state", None))
        else:
            look = "aligned" if i % 4 == 0 else "original"
            made.append(("picture", f"/api/pictures/{number}/image?side=96&look={look}", None))
    return made


def run_load(server: Server, plan: list[tuple[str, str, object]], rate: float) -> dict:
    """Send the requests of a plan; returns times by kind, errors, and the memory over time."""
    due: Queue = Queue()
    times: defaultdict[str, list[float]] = defaultdict(list)
    errors: Counter[str] = Counter()
    memory = [server.memory()]

    def work() -> None:
        client = Client(server)
        while (job := due.get()) is not None:
            planned, (kind, path, value) = job
            status, body = client.ask(path, value)
            times[kind].append(time.perf_counter() - planned)  # waiting in line counts
            if status != 200:
                errors[f"{kind} {status} {body[:80]!r}"] += 1

    threads = [threading.Thread(target=work) for _ in range(N_CONNECTIONS)]
    for thread in threads:
        thread.start()
    start = time.perf_counter()
    for i, request in enumerate(plan):
        planned = start + i / rate
        time.sleep(max(0.0, planned - time.perf_counter()))
        due.put((planned, request))
        if i % int(rate) == 0:
            memory.append(server.memory())
    for _ in threads:
        due.put(None)
    for thread in threads:
        thread.join()
    return {"times": times, "errors": errors, "memory": memory}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--rate", type=float, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="studio-load-") as folder:
        server = Server(Path(shutil.copytree(options.run, Path(folder) / "run")))
        try:
            client = Client(server)
            state = json.loads(client.ask("/api/state")[1])
            client.ask("/api/prototypes/0/image")
            alone = []
            for cluster in state["clusters"]:
                clock = time.perf_counter()
                client.ask(f"/api/members?group={cluster['id']}&sort=best&limit={PAGE}")
                alone.append(time.perf_counter() - clock)
            plan = requests_for(state, int(options.rate * options.seconds), random.Random(0))
            status, _ = client.ask("/api/refit", {})
            assert status == 200
            result = run_load(server, plan, options.rate)
            after = json.loads(Client(server).ask("/api/state")[1])["refit"]
        finally:
            code = server.stop()
    print(json.dumps(summary(result, alone, after, state, code)))


def summary(result: dict, alone: list[float], refit: dict, state: dict, code: int) -> dict:
    """What was measured, times in milliseconds."""

    def quantiles(values: list[float]) -> list[float]:
        return [round(1000 * float(q), 1) for q in np.quantile(values, (0.5, 0.95, 0.99, 1))]

    times = result["times"]
    return {
        "pictures": state["nPictures"],
        "requests": sum(map(len, times.values())),
        "errors": dict(result["errors"]),
        "refit_after": refit,
        "members_alone_ms": quantiles(alone),
        "ms_50_95_99_max": {kind: quantiles(values) for kind, values in sorted(times.items())},
        "memory_mb_start_end_max": [
            round(m) for m in (result["memory"][0], result["memory"][-1], max(result["memory"]))
        ],
        "exit_code": code,
    }


if __name__ == "__main__":
    main()
