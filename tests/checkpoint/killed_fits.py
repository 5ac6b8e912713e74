"""A program that kills fits again and again until they are done: one line of JSON per fit.

Fits are forked from one warm process, so that an attempt costs no more than its share of the fit.
Half of them are killed from outside after a random time, the others kill themselves at a random one
of the steps of writing: before a file is opened, in the middle of its content, before it is
flushed, renamed, deleted.

    python -m tests.checkpoint.killed_fits FOLDER KILLS
"""

from __future__ import annotations

import builtins
import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from dikmeans.io import atomic
from tests.checkpoint.checkpointed_fits import content, make_model, pictures

LONGEST_WAIT = 0.4
MOST_STEPS = 60
FITS = (("tps", 1), ("none", 1), ("tps", 2), ("affine", 1), ("tps", 4))


class Assassin:
    """Ends this process at the given step of writing."""

    def __init__(self, steps: int):
        self._left = steps
        for place, name in [(os, "fsync"), (os, "replace"), (os, "unlink")]:
            setattr(place, name, self._watched(getattr(place, name)))
        atomic.open = self._watched(self._open)  # type: ignore[attr-defined]

    def _open(self, *args: Any) -> Torn:
        return Torn(builtins.open(*args), self)

    def is_due(self) -> bool:
        self._left -= 1
        return self._left == 0

    def strike(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _watched(self, call: Any) -> Any:
        def watched(*args: Any, **kwargs: Any) -> Any:
            if self.is_due():
                self.strike()
            return call(*args, **kwargs)

        return watched


class Torn:
    """A file that may be left in the middle of its content."""

    def __init__(self, stream: Any, assassin: Assassin):
        self._stream, self._assassin = stream, assassin

    def write(self, data: Any) -> None:
        if self._assassin.is_due():
            self._stream.write(memoryview(data)[: len(data) // 2])
            self._stream.flush()
            self._assassin.strike()
        self._stream.write(data)

    def __enter__(self) -> Torn:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def fingerprint(model: Any) -> str:
    return hashlib.sha256(repr(content(model)).encode()).hexdigest()


def attempt(name: str, seed: int, folder: Path, result: Path, rng: np.random.Generator) -> str:
    """One process that fits: how it ended."""
    from_outside = rng.random() < 0.5
    wait, steps = rng.uniform(0, LONGEST_WAIT), int(rng.integers(1, MOST_STEPS))
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if not from_outside:
                Assassin(steps)
            model = make_model(name, random_state=seed).fit(pictures(), checkpoint=folder)
            result.write_text(fingerprint(model))
            code = 0
        finally:
            os._exit(code)
    if from_outside:
        time.sleep(wait)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "killed from outside" if from_outside else "killed while writing"
    return "done" if os.WEXITSTATUS(status) == 0 else "failed"


def main() -> None:
    place, wanted = Path(sys.argv[1]), int(sys.argv[2])
    rng = np.random.default_rng(0)
    total, number = 0, 0
    while total < wanted:
        name, seed = FITS[number % len(FITS)]
        folder, result = place / f"checkpoint-{number}", place / f"result-{number}"
        expected = fingerprint(make_model(name, random_state=seed).fit(pictures()))
        ends: list[str] = []
        while not ends or ends[-1].startswith("killed"):
            ends.append(attempt(name, seed, folder, result, rng))
        counts = {end: ends.count(end) for end in sorted(set(ends))}
        same = result.exists() and result.read_text() == expected
        print(json.dumps({"fit": f"{name} {seed}", "same": same, "ends": counts}), flush=True)
        total, number = total + len(ends) - 1, number + 1


if __name__ == "__main__":
    main()
