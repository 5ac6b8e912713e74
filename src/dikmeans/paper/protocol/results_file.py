"""The results file: one line per finished run, safe against crashes, shared by processes.

- A line is appended under a lock (``<file>.lock``) and is on the disk before the next run begins.
- A process killed while writing leaves an incomplete last line, which is removed when the file is
  next opened: a line is complete or absent.
- Processes that share a file share the work: each claims the run it is making by a lock in the
  folder ``<file>.claims``. The system releases the locks of a killed process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout

from dikmeans._typing import PathLike
from dikmeans.paper.errors import ReproductionFileError
from dikmeans.paper.protocol.run_record import LINE_START, RunRecord


class ResultsFile:
    """Finished runs on disk, to read and to append to.

    Parameters
    ----------
    path : path
        Created, with its folder, if it does not exist.

    Raises
    ------
    ReproductionFileError
        The file is not a results file.
    OSError
        It cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ResultsFile(f"{folder}/runs.jsonl").read()
    []
    """

    def __init__(self, path: PathLike):
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file():
            raise ReproductionFileError(
                self.path, "is not a file that can hold results; name another."
            )
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self._beside("lock"), mode=0o666)
        with self._lock, self.path.open("ab") as stream:
            self._repair_last_line(stream)

    @property
    def trainings(self) -> Path:
        """A folder for trainings on the way, ``<file>.trainings``; it need not exist."""
        return self._beside("trainings")

    def read(self) -> list[RunRecord]:
        """Return all complete runs, each once, in the order they were finished."""
        return read_results(self.path)

    def append(self, record: RunRecord) -> bool:
        """Append a run; on return it is on the disk.

        Returns
        -------
        bool
            False if the file has the run already, and nothing was appended.
        """
        with self._lock, self.path.open("ab") as stream:
            self._repair_last_line(stream)
            if any(other.identity == record.identity for other in self.read()):
                return False
            stream.write((record.to_line() + "\n").encode())
            stream.flush()
            os.fsync(stream.fileno())
        return True

    @contextlib.contextmanager
    def claim(self, identity: str) -> Iterator[bool]:
        """Claim a run for this process within the block.

        Yields
        ------
        bool
            False if another process is making it.
        """
        folder = self._beside("claims")
        folder.mkdir(exist_ok=True)
        path = folder / hashlib.sha256(identity.encode()).hexdigest()[:16]
        lock = FileLock(path, mode=0o666, blocking=False)
        try:
            lock.acquire()
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()
            # Another process may hold this file by now, under a name that is gone then. The worst
            # that can come of it is a run made twice, of which `append` keeps one.
            path.unlink(missing_ok=True)
            with contextlib.suppress(OSError):  # others have claims
                folder.rmdir()

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(f"{self.path.name}.{suffix}")

    def _repair_last_line(self, stream: IO[bytes]) -> None:
        """Complete or remove the line that a killed process left; called with the lock held."""
        content = self.path.read_bytes()
        _parse(content, self.path)  # a file of something else is refused before it is changed
        fragment = content[content.rfind(b"\n") + 1 :]
        if fragment and _is_record(fragment):  # only the line end is missing
            stream.write(b"\n")
        elif fragment:
            stream.truncate(len(content) - len(fragment))
        stream.flush()


def read_results(path: PathLike) -> list[RunRecord]:
    """Return the finished runs of a results file, which is not changed; none if there is no file.

    Raises
    ------
    ReproductionFileError
        The file is not a results file.
    """
    path = Path(path)
    return _parse(path.read_bytes(), path) if path.exists() else []


def _parse(content: bytes, path: Path) -> list[RunRecord]:
    *lines, last = content.split(b"\n")
    start = LINE_START.encode()
    is_beginning = last[: len(start)] == start[: len(last)]
    # The beginning of a record is tolerated as the last line; anything else is refused below.
    if _is_record(last) or not is_beginning:
        lines.append(last)
    records: dict[str, RunRecord] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = RunRecord.from_line(line.decode())
        except (ValueError, TypeError) as error:
            text = line.decode("utf-8", "replace")
            excerpt = text if len(text) <= 40 else text[:37] + "..."
            raise ReproductionFileError(
                path,
                f"is not a results file: line {number} is {excerpt!r}, expected a run that begins "
                f"{LINE_START}. Remove that line, or name another file.",
            ) from error
        records.setdefault(record.identity, record)
    return list(records.values())


def _is_record(line: bytes) -> bool:
    try:
        RunRecord.from_line(line.decode())
    except (ValueError, TypeError):
        return False
    return True
