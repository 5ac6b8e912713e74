"""Files and folders that are either whole or absent, whatever interrupts the writing."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import secrets
import shutil
import sys
import time
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# Seconds between tries to rename on Windows, about two in all: a virus scanner or an indexer opens
# new files for a moment, and a name that is open cannot be changed there.
PAUSES = (0.01, 0.05, 0.1, 0.2, 0.5, 1.0)


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a binary file which appears under `path` only if the block ends without an exception.

    The bytes go to a temporary file in the same folder (a rename is atomic only within one file
    system), are flushed to the disk, and then take the name in one step; that, too, is on the disk
    when the block has ended.

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
    temporary = _beside(path, "part")
    try:
        with open(temporary, "xb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        _patiently(os.replace, temporary, path)
        _flush(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def atomic_link(source: Path, path: Path) -> None:
    """Let a file that is not changed any more appear under `path` too, whole and flushed.

    As a second name of the same bytes where the file system can, else as a copy.
    """
    temporary = _beside(path, "part")
    try:
        try:
            os.link(source, temporary)
        except OSError:  # another file system, or one without links
            shutil.copyfile(source, temporary)
        _flush(temporary)
        _patiently(os.replace, temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def atomic_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Make a folder which appears under `path` only if the block ends without an exception.

    It is filled under another name beside its place (a rename is atomic only within one file
    system), flushed to the disk, and then takes its name in one step.

    Parameters
    ----------
    path : pathlib.Path
        Final place; folders above it are made if need be. An empty folder there is taken over.
    replace : bool, default=False
        Take the place of a folder that is there already. Where the system can exchange two names
        (Linux) there is no moment without a whole folder at `path`; elsewhere the old one steps
        aside for an instant, and lies beside its place if the machine stops just then.

    Yields
    ------
    pathlib.Path
        The folder to fill.

    Raises
    ------
    FileExistsError
        There is something at `path` already.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent, lambda name: name == path.name)
    temporary = _beside(path, "part")
    temporary.mkdir()
    try:
        with _locked(temporary):
            yield temporary
            _flush_tree(temporary)
            _take_place(temporary, path, replace)
            _flush(path.parent)
    finally:
        # if it has taken its place, this is what stood there before
        shutil.rmtree(temporary, ignore_errors=True)


_LEFTOVER = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{16}\.part", re.DOTALL)


def remove_leftovers(folder: Path, concerns: Callable[[str], bool]) -> list[Path]:
    """Remove what programs that were killed have left of folders they were filling.

    A folder that a program is still filling is locked, and stays. Where folders cannot be locked
    (Windows) all of them stay.

    Parameters
    ----------
    folder : pathlib.Path
        Where to look.
    concerns : callable
        Whether leftovers of a folder of that name are to be removed.

    Returns
    -------
    removed : list of pathlib.Path
    """
    removed = []
    for entry in sorted(folder.iterdir()):
        match = _LEFTOVER.fullmatch(entry.name)
        if not match or not concerns(match["name"]) or entry.is_symlink() or not entry.is_dir():
            continue
        with contextlib.suppress(OSError), _locked(entry) as is_ours:
            if is_ours:
                shutil.rmtree(entry)
                removed.append(entry)
    return removed


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock a folder; yields whether it could be. The lock ends with the block or the process."""
    if _is_windows():
        yield False
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        is_ours = True
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # someone else has, or a file system without locks
            is_ours = False
        yield is_ours
    finally:
        os.close(handle)


def check_can_make(path: Path) -> None:
    """Raise the OSError that making a folder at `path` would end with, by making one beside it.

    Folders above `path` are made if need be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    probe = _beside(path, "part")
    probe.mkdir()
    probe.rmdir()


def _take_place(folder: Path, path: Path, replace: bool) -> None:
    occupied = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    if occupied and not replace:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    if not occupied:
        if _is_windows() and path.exists():  # an empty folder, which a rename replaces elsewhere
            path.rmdir()
        _patiently(os.rename, folder, path)
    elif not _exchange(folder, path):
        aside = _beside(path, "old")
        _patiently(os.rename, path, aside)
        try:
            _patiently(os.rename, folder, path)
        except OSError:
            _patiently(os.rename, aside, path)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def _is_windows() -> bool:
    return os.name == "nt"


def _patiently(rename: Callable[[Path, Path], None], source: Path, target: Path) -> None:
    """Rename; on Windows, try again while another program has one of the two open."""
    for pause in PAUSES if _is_windows() else ():
        try:
            return rename(source, target)
        except PermissionError:
            time.sleep(pause)
    return rename(source, target)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders swap names in one step; False where the system cannot."""
    if not sys.platform.startswith("linux"):
        return False
    current_folder, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # a C library without it
        return False
    return swap(current_folder, os.fsencode(one), current_folder, os.fsencode(other), exchange) == 0


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}.{suffix}")


def _flush_tree(folder: Path) -> None:
    for place, _, files in os.walk(folder):
        for name in files:
            _flush(os.path.join(place, name))
        _flush(place)


def _flush(path: str | os.PathLike[str]) -> None:
    """Make sure that a file, or the list of names in a folder, is on the disk."""
    if _is_windows() and os.path.isdir(path):  # it does not open folders
        return
    # it flushes what may be written to only
    handle = os.open(path, os.O_RDWR if _is_windows() else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
