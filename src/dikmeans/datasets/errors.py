"""What can go wrong between a file and an array, one class a kind of trouble.

Every class is also the built-in exception a caller would guess (`FileNotFoundError`, `ValueError`,
`OSError`), so nobody has to know this module in order to catch it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class DataError(Exception):
    """Anything `dikmeans.datasets` refuses to do."""


class MissingDataError(DataError, FileNotFoundError):
    """The files of a data set are not there; the message says which to put where."""


class DownloadError(DataError, OSError):
    """A file could not be fetched, or what arrived is not what was published."""


class CorruptFileError(DataError, ValueError):
    """A file is there and is not what its name promises."""


class UnsafeFileError(DataError, ValueError):
    """A file or archive asks for something no picture needs (a bomb, a path that climbs out)."""


class UnknownNameError(DataError, ValueError):
    """Neither a known data set nor a folder or archive on disk."""


class UnknownOptionError(DataError, TypeError):
    """An option that this kind of data does not have."""


def missing_extra(module: str, extra: str, purpose: str) -> ImportError:
    """The friendly error for an optional library which is not installed."""
    return ImportError(
        f"{purpose} needs the library '{module}', which is not installed. "
        f"Install it with: pip install 'dikmeans[{extra}]'"
    )


def check_options(what: str, options: Iterable[str], known: Iterable[str]) -> None:
    """Refuse options that `what` does not have."""
    known = tuple(known)
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise UnknownOptionError(
            f"{what} has no option {', '.join(map(repr, unknown))}; it takes "
            f"{', '.join(map(repr, known)) or 'none'}."
        )


def check_choice(parameter: str, value: object, choices: Iterable[object]) -> None:
    """Refuse a value which is not among the choices of a parameter."""
    choices = tuple(choices)
    if value not in choices:
        expected = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{parameter} must be one of {expected}; got {value!r}.")
