"""Damage to valid files, and the promise of every reader: a result, or a clear error.

``DIKMEANS_FUZZ`` is the number of examples of a test. Without it there are few, always the same
ones, so that a change is judged by its own merits; with it (`make test-all`) there are many, and
new ones each time.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import signal
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

_WISH = os.environ.get("DIKMEANS_FUZZ")
fuzz = settings(
    max_examples=int(_WISH) if _WISH else 25,
    derandomize=not _WISH,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)

# bytes beyond what the process has already: many times the size of the files here
MEMORY = 256 << 20
SECONDS = 60  # nothing here takes one
_NUMBERS = (
    0,
    1,
    2,
    0x7F,
    0xFF,
    0x7FFF,
    0xFFFF,
    1 << 24,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    (1 << 63) - 1,
)


# -- damage ----------------------------------------------------------------------------------------


@st.composite
def damaged(draw: Any, valid: bytes, most: int = 4) -> bytes:
    """A file with bits flipped, numbers overwritten, pieces cut out, doubled or inserted."""
    content = bytearray(valid)
    for _ in range(draw(st.integers(1, most))):
        # headers are where the trouble is
        place = draw(st.integers(0, min(64, len(content))) | st.integers(0, len(content)))
        draw(st.sampled_from(_DAMAGE))(draw, content, place)
    return bytes(content)


def _flip(draw: Any, content: bytearray, place: int) -> None:
    if place < len(content):
        content[place] ^= 1 << draw(st.integers(0, 7))


def _overwrite(draw: Any, content: bytearray, place: int) -> None:
    width = draw(st.sampled_from((1, 2, 4, 8)))
    number = draw(st.sampled_from(_NUMBERS)) % (1 << 8 * width)
    content[place : place + width] = number.to_bytes(
        width, draw(st.sampled_from(("big", "little")))
    )


def _cut_off(draw: Any, content: bytearray, place: int) -> None:
    del content[place:]


def _cut_out(draw: Any, content: bytearray, place: int) -> None:
    del content[place : place + draw(st.integers(1, 40))]


def _double(draw: Any, content: bytearray, place: int) -> None:
    target = draw(st.integers(0, len(content)))
    content[target:target] = content[place : place + draw(st.integers(1, 200))]


def _insert(draw: Any, content: bytearray, place: int) -> None:
    content[place:place] = draw(st.binary(min_size=1, max_size=20))


_DAMAGE = (_flip, _overwrite, _cut_off, _cut_out, _double, _insert)


_odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1, 2, 3, 100_000, 10**9, 2**31, 2**63, 10**30, 10**400]),
    st.sampled_from([0.0, -0.5, 0.5, 1e-300, 1e300, float("inf"), float("nan")]),
    st.sampled_from(["", "auto", "tps", "none", "\x00", "../../etc/passwd", "é" * 50, "1" * 5000]),
    st.sampled_from(
        [[], {}, [[]], [0], [1, 1], [4, 4], [100_000, 100_000], [10**9, 10**9, 10**9], {"a": 1}]
    ),
    st.just("deep"),
)


def _odd(draw: Any) -> Any:
    # what is drawn is shared, and a later damage would show in it
    return copy.deepcopy(draw(_odd_values))


@st.composite
def damaged_json(draw: Any, valid: Any, most: int = 2) -> Any:
    """A JSON value with a few entries replaced, dropped or added, at any depth."""
    value = copy.deepcopy(valid)
    for _ in range(draw(st.integers(1, most))):
        parent, key = None, None
        node = value
        while (
            isinstance(node, (dict, list)) and node and (parent is None or draw(st.integers(0, 3)))
        ):
            parent, key = (
                node,
                draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node)))),
            )
            node = parent[key]
        if parent is None:
            return _odd(draw)
        match draw(st.sampled_from(("replace", "replace", "replace", "drop", "add"))):
            case "replace":
                parent[key] = _odd(draw)
            case "drop":
                del parent[key]
            case "add" if isinstance(parent, dict):
                parent["more"] = _odd(draw)
            case "add":
                parent.append(_odd(draw))
    return value


def json_bytes(value: Any) -> bytes:
    """As JSON; the text "deep" stands for a list in a list in a list ..."""
    text = json.dumps(value)
    return text.replace('"deep"', "[" * 3000 + "]" * 3000).encode()


# -- safetensors files --------------------------------------------------------------------------


def parts_of(content: bytes) -> tuple[dict[str, Any], bytes]:
    """The JSON of a safetensors file and the bytes of its tensors."""
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def joined(header: bytes, body: bytes) -> bytes:
    """A safetensors file of the two."""
    return struct.pack("<Q", len(header)) + header + body


# -- the promise -----------------------------------------------------------------------------------


def result_or_refusal(read: Callable[[], Any], errors: Any, names: str | Path | None = None) -> Any:
    """What `read` returns, or None if it refuses in the documented way, naming the file.

    Within a limit on memory and without a program started, a pickle opened, a file written:
    anything else fails the test.
    """
    with _bounded_memory(), _bounded_time(), _nothing_but_reading():
        try:
            return read()
        except errors as error:
            if names is not None:
                assert_names(error, names)
            return None


def result_or_error(compute: Callable[[], Any], errors: Any = (ValueError, TypeError)) -> Any:
    """What `compute` returns, or None if it raises one of these; it may load compiled code."""
    with _bounded_time():
        try:
            return compute()
        except errors:
            return None


def assert_names(error: Exception, name: str | Path) -> None:
    """Fails if the message of an error does not say which file it is about."""
    assert str(name) in str(error), f"{error!r} does not name {name}"


@contextlib.contextmanager
def _bounded_memory() -> Iterator[None]:
    """A process that wants more than `MEMORY` beyond what it has gets a MemoryError (Linux)."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    has = int(statm.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (has + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def _bounded_time() -> Iterator[None]:
    """What hangs is ended."""

    def give_up(*_: object) -> None:
        raise AssertionError(f"It did not come to an end within {SECONDS} s.")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


_FORBIDDEN = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.remove",
    "os.rename",
    "os.mkdir",
    "pickle.find_class",
    "socket.connect",
    "webbrowser.open",
)
_seen: list[str] | None = None


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is None:
        return
    writes = (
        event == "open"
        and isinstance(arguments[2], int)
        and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    )
    if writes or event in _FORBIDDEN:
        _seen.append(f"{event}{arguments!r}")


@contextlib.contextmanager
def _nothing_but_reading() -> Iterator[None]:
    """Fails if a program is started, a pickle opened, a file written or removed."""
    global _seen
    _install_once()
    _seen = []
    try:
        yield
        assert not _seen, f"More than reading was done: {_seen}"
    finally:
        _seen = None


def _install_once() -> None:  # a hook stays for the life of the process
    if not getattr(_install_once, "done", False):
        sys.addaudithook(_listen)
        _install_once.done = True  # type: ignore[attr-defined]
