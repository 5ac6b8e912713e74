"""The folder of a checkpoint: whose it is, which files are in it, and how they change in one step.

    FOLDER/
      checkpoint.safetensors   the manifest: the run state; it names all other files that count
      fits-….safetensors       alignments of all images with all centroids at that moment
      best-….safetensors       the best of the finished runs
      lock                     held by the process that is fitting; released when that ends

Files that the next manifest will name are written first, then the manifest replaces the old one in
one step, then files that are no longer named are deleted. Whenever the process is killed, manifest
and named files belong together. What a killed process has left over is deleted by the next one.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Iterator
from enum import Enum
from pathlib import Path
from typing import Self

from filelock import FileLock, Timeout

from dikmeans._typing import JSON, Array, PathLike
from dikmeans.errors import DikmeansError
from dikmeans.io.tensor_file import TensorFileError, read_tensor_file, write_tensor_file

FORMAT, VERSION = "dikmeans-checkpoint", 2
MANIFEST, LOCK = "checkpoint.safetensors", "lock"
_NAMED = re.compile(r"(fits|best)-[\w-]+\.safetensors")
_LEFT_OVER = re.compile(r"\.(checkpoint|fits-[\w-]+|best-[\w-]+)\.safetensors\.[0-9a-f]+\.part")


# What reading values of the wrong kind or shape may raise.
WRONG_CONTENT = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)


class CheckpointProblem(Enum):
    """Why a folder cannot be used as the checkpoint of a fit; the value says what to do."""

    IN_USE = "Wait until that has ended, or use another folder."
    DAMAGED = "To start again, use another folder, or delete this one."
    OTHER_FIT = (
        "To continue it, use the images and parameters it was made with. To start again, use "
        "another folder, or delete this one."
    )
    FOREIGN = "Use a folder that is new or empty."


class CheckpointError(DikmeansError, ValueError):
    """A folder that cannot be used as the checkpoint of this fit. Nothing in it was changed.

    Attributes
    ----------
    path : pathlib.Path
    problem : CheckpointProblem
    reason : str
        What is wrong, in a clause about the folder.
    """

    def __init__(self, path: Path, problem: CheckpointProblem, reason: str):
        self.path, self.problem, self.reason = path, problem, reason
        super().__init__(f"{path} {reason}. {problem.value}")


class CheckpointWriteError(DikmeansError, OSError):
    """A checkpoint could not be written; the one before, if there is one, is intact.

    Attributes
    ----------
    path : pathlib.Path
    before : str or None
        Where the fit stood in the checkpoint before; None if there is none.
    """

    def __init__(self, path: Path, cause: OSError, before: str | None):
        self.path, self.before = path, before
        super().__init__(cause.errno, cause.strerror or str(cause), str(path))

    def __str__(self) -> str:
        text = f"The checkpoint {self.path} could not be written: {self.strerror}."
        if self.before is None:
            return f"{text} Use another folder."
        return (
            f"{text} The one before, at {self.before}, is intact: once this is fixed (by more "
            "room on the disk, for instance), the same fit with the same checkpoint continues "
            "from there."
        )


class CheckpointFolder:
    """A folder that belongs to this process while it is entered.

    Parameters
    ----------
    path : path-like
        Made if need be; if it exists, it must be a checkpoint, or empty.
    """

    def __init__(self, path: PathLike):
        self.path = Path(path).expanduser()
        self._lock: FileLock | None = None

    def __enter__(self) -> Self:
        self._refuse_foreign()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(self.path / LOCK, timeout=0, thread_local=False)
            self._lock.acquire()
        except Timeout as error:
            self._lock = None
            reason = "is in use: another process is fitting with it"
            raise self.error(CheckpointProblem.IN_USE, reason) from error
        except OSError as error:
            self._lock = None
            raise CheckpointWriteError(self.path, error, None) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def holds_something(self) -> bool:
        """Whether there is anything of a fit in it, even if damaged."""
        return any(name == MANIFEST or _NAMED.fullmatch(name) for name in self._names())

    def read(self) -> tuple[JSON, dict[str, Array]]:
        """Header and tensors of the manifest."""
        if MANIFEST not in self._names():
            raise self.damaged(f"{MANIFEST} is missing")
        with self.reading():
            return read_tensor_file(self.path / MANIFEST, FORMAT, VERSION, "checkpoint of a fit")

    def write(self, header: JSON, tensors: dict[str, Array], named: Collection[str]) -> None:
        """Replace the manifest, then delete the files that are not `named` in it."""
        write_tensor_file(self.path / MANIFEST, FORMAT, VERSION, header, tensors)
        self.sweep(named)

    def sweep(self, named: Collection[str]) -> None:
        """Delete files of a checkpoint that are not `named`; files of others stay."""
        for entry in list(self.path.iterdir()):
            is_stale = _NAMED.fullmatch(entry.name) and entry.name not in named
            if is_stale or _LEFT_OVER.fullmatch(entry.name):
                entry.unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete the checkpoint: its files, and the folder if nothing else is in it."""
        self.sweep(())
        (self.path / MANIFEST).unlink(missing_ok=True)
        try:
            (self.path / LOCK).unlink(missing_ok=True)
        except PermissionError:  # Windows does not delete what is open
            self.__exit__()
            with contextlib.suppress(OSError):
                (self.path / LOCK).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty
            self.path.rmdir()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """A block in which everything that goes wrong is a checkpoint that cannot be used."""
        try:
            yield
        except CheckpointError:
            raise
        except TensorFileError as error:
            raise self.damaged(f"{error.path.name}: {error.reason}") from error
        except FileNotFoundError as error:
            raise self.damaged(f"a file is missing: {str(error).rstrip('.')}") from error
        except WRONG_CONTENT as error:  # other OSErrors say nothing about the checkpoint
            raise self.damaged(f"{type(error).__name__}: {str(error).rstrip('.')}") from error

    @contextlib.contextmanager
    def writing(self, named: Collection[str], before: str | None) -> Iterator[None]:
        """A block in which files are written; if that fails, they are deleted again.

        Parameters
        ----------
        named : collection of str
            Files that the present manifest names.
        before : str or None
            Where the fit stood then, in words; None if there is no manifest.
        """
        try:
            yield
        except OSError as error:
            with contextlib.suppress(OSError):  # the user will need the room it took
                self.sweep(named)
            raise CheckpointWriteError(self.path, error, before) from error

    def damaged(self, why: str) -> CheckpointError:
        """The error for a damaged checkpoint."""
        return self.error(CheckpointProblem.DAMAGED, f"is a damaged checkpoint: {why}")

    def error(self, problem: CheckpointProblem, reason: str) -> CheckpointError:
        """The error for this folder."""
        return CheckpointError(self.path, problem, reason)

    def _names(self) -> set[str]:
        return {entry.name for entry in self.path.iterdir()} if self.path.is_dir() else set()

    def _refuse_foreign(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise self.error(CheckpointProblem.FOREIGN, "is a file; a checkpoint is a folder")
        if self.holds_something:
            return
        odd = sorted(name for name in self._names() - {LOCK} if not _LEFT_OVER.fullmatch(name))
        if odd:
            more = f" and {len(odd) - 1} more" if len(odd) > 1 else ""
            reason = f"is not a checkpoint: it holds {odd[0]!r}{more}"
            raise self.error(CheckpointProblem.FOREIGN, reason)
