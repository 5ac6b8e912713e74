"""The folder of a checkpoint: whose it is, which files are in it, and how they change in one step.

    FOLDER/
      checkpoint.safetensors   the manifest: where the fit stands; it names all other files that count
      state-….safetensors      alignments of all images with all centroids at that moment
      best-….safetensors       the best of the runs that are over
      lock                     held by the process that is fitting; the system lets go of it when that ends

Files that the next manifest will name are written first, then the manifest takes the place of the old one in
one step, then what nobody names any more is deleted. Whenever the process is killed, manifest and named
files belong together. What a killed process has left over is deleted by the next one.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from dikmeans.io.tensor_file import TensorFileError, read_tensor_file, write_tensor_file

FORMAT, VERSION = "dikmeans-checkpoint", 1
MANIFEST, LOCK = "checkpoint.safetensors", "lock"
_NAMED = re.compile(r"(state|best)-[\w-]+\.safetensors")
_LEFT_OVER = re.compile(r"\.(checkpoint|state-[\w-]+|best-[\w-]+)\.safetensors\.[0-9a-f]+\.part")
_START_ANEW = "To start anew, use another folder, or delete this one."


class CheckpointError(ValueError):
    """A folder that is not the checkpoint of this fit: damaged, of another fit, or something else."""


class CheckpointWriteError(OSError):
    """A checkpoint could not be written; the one before is intact."""

    def __str__(self) -> str:
        return str(self.strerror)


class CheckpointFolder:
    """A folder that belongs to this process while it is entered.

    Parameters
    ----------
    path : path-like
        Made if need be; if it is there, it must be a checkpoint, or empty.
    """

    def __init__(self, path: Any):
        self.path = Path(path).expanduser()
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> Self:
        self._refuse_foreign()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = open(self.path / LOCK, "ab")  # open as long as the folder is ours
            _lock(self._lock)
            if not os.path.samestat(os.fstat(self._lock.fileno()), os.stat(self.path / LOCK)):
                raise BlockingIOError  # it was somebody's, who has just deleted it
        except BlockingIOError as error:
            self.__exit__()
            raise CheckpointError(
                f"The checkpoint {self.path} is in use: another process is fitting with it. Wait until it "
                "has ended, or use another folder."
            ) from error
        except OSError as error:
            self.__exit__()
            raise CheckpointWriteError(
                error.errno,
                f"There can be no checkpoint in {self.path}: {error.strerror}. Use another folder.",
                str(self.path),
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()

    @property
    def holds_something(self) -> bool:
        """Whether there is anything of a fit in it, be it damaged."""
        return any(name == MANIFEST or _NAMED.fullmatch(name) for name in self._names())

    def read(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and tensors of the manifest."""
        if MANIFEST not in self._names():
            raise self.damaged(f"{MANIFEST} is missing")
        with self.reading():
            return read_tensor_file(self.path / MANIFEST, FORMAT, VERSION, "checkpoint of a fit")

    def write(self, header: dict[str, Any], tensors: dict[str, np.ndarray], named: Collection[str]) -> None:
        """Replace the manifest, then delete the files that are not `named` in it."""
        write_tensor_file(self.path / MANIFEST, FORMAT, VERSION, header, tensors)
        self.sweep(named)

    def sweep(self, named: Collection[str]) -> None:
        """Delete files of ours that nobody needs; others stay, whatever they are."""
        for entry in list(self.path.iterdir()):
            is_stale = _NAMED.fullmatch(entry.name) and entry.name not in named
            if is_stale or _LEFT_OVER.fullmatch(entry.name):
                entry.unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete the checkpoint: its files, and the folder if nothing else is in it."""
        self.sweep(())
        (self.path / MANIFEST).unlink(missing_ok=True)
        (self.path / LOCK).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not empty: something else is in it
            self.path.rmdir()

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Within the block everything that goes wrong is a checkpoint that cannot be used."""
        try:
            yield
        except CheckpointError:
            raise
        except TensorFileError as error:
            raise CheckpointError(f"The checkpoint cannot be used: {error} {_START_ANEW}") from error
        except FileNotFoundError as error:
            raise self.damaged(f"a file is missing: {str(error).rstrip('.')}") from error
        except (OSError, KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise self.damaged(f"{type(error).__name__}: {error}") from error

    @contextlib.contextmanager
    def writing(self, named: Collection[str], before: str) -> Iterator[None]:
        """Within the block files are written; if that fails, what has been written is deleted.

        Parameters
        ----------
        named : collection of str
            Files that the present manifest names.
        before : str
            What that one is of, in words.
        """
        try:
            yield
        except OSError as error:
            with contextlib.suppress(OSError):  # the room it took, the user will need
                self.sweep(named)
            raise CheckpointWriteError(
                error.errno,
                f"The checkpoint {self.path} could not be written: {error.strerror or error}. The one "
                f"before, of {before}, is intact: when this is mended (by more room on the disk, for "
                "instance), the same fit with the same checkpoint goes on from there.",
                str(self.path),
            ) from error

    def damaged(self, why: str) -> CheckpointError:
        """What is wrong with it, and what to do."""
        return CheckpointError(f"The checkpoint {self.path} is damaged: {why}. {_START_ANEW}")

    def refuse_other(self, differences: list[str]) -> None:
        """Raise if the checkpoint's fit differs from the present one."""
        if differences:
            raise CheckpointError(
                f"{self.path} is the checkpoint of another fit: {'; '.join(differences)}. To go on with it, "
                f"use the images and parameters it was made with. {_START_ANEW}"
            )

    def _names(self) -> set[str]:
        return {entry.name for entry in self.path.iterdir()} if self.path.is_dir() else set()

    def _refuse_foreign(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise CheckpointError(f"{self.path} is a file; a checkpoint is a folder. Choose another name.")
        if self.holds_something:
            return
        odd = sorted(name for name in self._names() - {LOCK} if not _LEFT_OVER.fullmatch(name))
        if odd:
            raise CheckpointError(
                f"{self.path} is not a checkpoint: it holds {odd[0]!r}"
                + (f" and {len(odd) - 1} more" if len(odd) > 1 else "")
                + ". Use a folder that is new or empty."
            )


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        """Lock a file until it is closed, or raise BlockingIOError."""
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from error

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        """Lock a file until it is closed, or raise BlockingIOError."""
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
