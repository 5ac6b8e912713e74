"""Temporary files for what does not fit into memory, as long as a fit takes."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path


class Scratch:
    """A temporary folder, made when first needed, deleted when closed or garbage-collected.

    Parameters
    ----------
    purpose : str
        What lies there, for messages.
    folder : pathlib.Path, optional
        Where it is made; by default where the system keeps temporary files, which TMPDIR decides.
    """

    def __init__(self, purpose: str, folder: Path | None = None):
        self._purpose = purpose
        self._parent = folder
        self._folder: Path | None = None
        self._numbers = count()
        self._remove: weakref.finalize[..., Scratch] | None = None

    def new_path(self) -> Path:
        """A name for a file."""
        if self._folder is None:
            with self.explained():
                self._folder = Path(tempfile.mkdtemp(prefix="dikmeans-", dir=self._parent))
            self._remove = weakref.finalize(self, delete_unless_forked, self._folder, os.getpid())
        return self._folder / f"{next(self._numbers)}.safetensors"

    @contextmanager
    def explained(self) -> Iterator[None]:
        """A block in which files are written; an error says where, and what to do."""
        try:
            yield
        except OSError as error:
            folder = self._folder or self._parent or tempfile.gettempdir()
            raise OSError(
                error.errno,
                f"{error.strerror or error}, in the folder {folder} for {self._purpose}. Make room "
                "there, or set the environment variable TMPDIR to a folder on a larger disk.",
            ) from error

    def close(self) -> None:
        """Delete the folder."""
        if self._remove is not None:
            self._remove()


def delete_unless_forked(path: Path, owner: int) -> None:
    """Delete a file or folder, if this is the process that made it."""
    if os.getpid() != owner:
        return
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
