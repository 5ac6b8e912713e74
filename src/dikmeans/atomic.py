"""Files that are either whole or absent, whatever interrupts the writing."""

from __future__ import annotations

import contextlib
import os
import secrets
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a binary file which appears under `path` only if the block ends without an exception.

    The bytes go to a temporary file in the same folder (a rename is atomic only within one file
    system), are flushed to the disk, and then take the name in one step.

    Parameters
    ----------
    path : pathlib.Path
        Final place; its folder is made if need be.

    Yields
    ------
    binary file object
        To write to.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: its files are private to the user, and a data folder may be shared.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
