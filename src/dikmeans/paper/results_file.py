"""The results file: one line a finished run, safe against crashes and against company.

- A line is written at one go, under a lock, and is on the disk before the next run begins.
- A process killed while it writes leaves a torn last line. It is cut off on the next opening: a line is
  there whole or not at all.
- Processes that share a file share the work: each claims the run it is making. Locks and claims are byte
  ranges of ``<file>.lock``, which the system frees even for a process that was killed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from dikmeans.evaluate.record import LINE_START, RunRecord

_APPEND_BYTE, _CLAIM_BYTES = 0, 1 << 30


class ResultsFileError(ValueError):
    """The file holds something else than runs; nothing was changed in it."""


class ResultsFile:
    """Finished runs on disk, to read and to add to.

    Parameters
    ----------
    path : path
        Made, with its folder, if it is not there.

    Raises
    ------
    ResultsFileError
        The file is not a results file.
    OSError
        It cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, ResultsFile(f"{folder}/runs.jsonl") as results:
    ...     results.read()
    []
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file():
            raise ResultsFileError(f"{self.path} is not a file that can hold results; name another.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        as_bytes = getattr(os, "O_BINARY", 0)  # Windows would add a carriage return to every line
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | as_bytes, 0o666)
        self._locks: _ByteLocks | None = None
        try:
            self._locks = _ByteLocks(self.path.with_name(self.path.name + ".lock"))
            with self._locks.held(_APPEND_BYTE):
                self._mend_last_line()
        except BaseException:
            self.close()
            raise

    def read(self) -> list[RunRecord]:
        """All whole runs, each once, in the order they were finished."""
        return _parse(self._content(), self.path)

    def append(self, record: RunRecord) -> bool:
        """Add a run; on return it is on the disk.

        Returns
        -------
        bool
            False if the run was there already, and nothing was added.
        """
        assert self._locks is not None
        with self._locks.held(_APPEND_BYTE):
            self._mend_last_line()
            if any(known.identity == record.identity for known in self.read()):
                return False
            content = (record.to_line() + "\n").encode()
            while content:
                content = content[os.write(self._file, content) :]
            os.fsync(self._file)
        return True

    @contextlib.contextmanager
    def claim(self, identity: str) -> Iterator[bool]:
        """Claim a run for this process for the length of the block.

        Yields
        ------
        bool
            False if another process is making it.
        """
        assert self._locks is not None
        byte = 1 + zlib.crc32(identity.encode()) % _CLAIM_BYTES
        claimed = self._locks.acquire(byte, wait=False)
        try:
            yield claimed
        finally:
            if claimed:
                self._locks.release(byte)

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        if self._locks is not None:
            self._locks.close()
            self._locks = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _content(self) -> bytes:
        return self.path.read_bytes()

    def _mend_last_line(self) -> None:
        """Complete or cut off what a killed process left; called with the lock held."""
        content = self._content()
        _parse(content, self.path)  # whatever is not ours is refused before anything is changed
        fragment = content[content.rfind(b"\n") + 1 :]
        if not fragment:
            return
        if _is_record(fragment):  # only the line's end is missing
            os.write(self._file, b"\n")
        else:
            os.ftruncate(self._file, len(content) - len(fragment))
        os.fsync(self._file)


def read_results(path: str | os.PathLike[str]) -> list[RunRecord]:
    """The finished runs of a results file, which is not changed; none if there is no file.

    Parameters
    ----------
    path : path

    Returns
    -------
    list of RunRecord

    Raises
    ------
    ResultsFileError
        The file is not a results file.
    """
    path = Path(path)
    return _parse(path.read_bytes(), path) if path.exists() else []


def _parse(content: bytes, path: Path) -> list[RunRecord]:
    *lines, last = content.split(b"\n")
    start = LINE_START.encode()
    if _is_record(last):
        lines.append(last)
    elif last[: len(start)] != start[: len(last)]:
        lines.append(last)  # no torn line of ours: let it be refused like any other
    records: dict[str, RunRecord] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = RunRecord.from_line(line.decode())
        except (ValueError, TypeError) as error:
            raise ResultsFileError(
                f"{path} is not a results file: line {number} is {_beginning(line)}, expected a run that "
                f"begins {LINE_START}. Remove that line, or name another file."
            ) from error
        records.setdefault(record.identity, record)
    return list(records.values())


def _is_record(line: bytes) -> bool:
    try:
        RunRecord.from_line(line.decode())
    except (ValueError, TypeError):
        return False
    return True


def _beginning(line: bytes) -> str:
    text = line.decode("utf-8", "replace")
    return repr(text if len(text) <= 40 else text[:37] + "...")


class _ByteLocks:
    """Locks between processes, each a byte of a file; freed by the system when a process ends."""

    def __init__(self, path: Path):
        # The one handle of this process: closing another would free its locks (a rule of POSIX).
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)

    def acquire(self, byte: int, *, wait: bool) -> bool:
        """Lock a byte; False if it is taken and we do not wait."""
        try:
            _lock_byte(self._handle, byte, wait)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def release(self, byte: int) -> None:
        _unlock_byte(self._handle, byte)

    @contextlib.contextmanager
    def held(self, byte: int) -> Iterator[None]:
        self.acquire(byte, wait=True)
        try:
            yield
        finally:
            self.release(byte)

    def close(self) -> None:
        os.close(self._handle)


if sys.platform == "win32":  # pragma: no cover -- the same idea in Windows' words
    import msvcrt
    import time

    def _lock_byte(handle: int, byte: int, wait: bool) -> None:
        while True:
            os.lseek(handle, byte, os.SEEK_SET)
            try:
                return msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            except PermissionError:
                if not wait:
                    raise
                time.sleep(0.05)

    def _unlock_byte(handle: int, byte: int) -> None:
        os.lseek(handle, byte, os.SEEK_SET)
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock_byte(handle: int, byte: int, wait: bool) -> None:
        fcntl.lockf(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, byte)

    def _unlock_byte(handle: int, byte: int) -> None:
        fcntl.lockf(handle, fcntl.LOCK_UN, 1, byte)
