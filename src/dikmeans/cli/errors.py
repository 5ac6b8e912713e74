"""Errors that a user can correct end with a message and exit code 2; Ctrl-C ends with 130."""

from __future__ import annotations

import contextlib
import errno
import warnings
from collections.abc import Iterator
from typing import NoReturn

import typer

from dikmeans.cli.console import say
from dikmeans.errors import DikmeansError

USAGE_ERROR, FAILURE, INTERRUPTED = 2, 1, 130
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class UsageError(DikmeansError):
    """Something that the user can correct; the message says how."""


@contextlib.contextmanager
def errors_explained() -> Iterator[None]:
    """Turn errors that a user can correct into a message on standard error and an exit code."""
    try:
        yield
    except DikmeansError as error:
        from dikmeans.cli.messages import error_message

        _exit(error_message(error))
    except MemoryError:
        message = "There is not enough memory. Use fewer or smaller pictures (--limit, --size)."
        _exit(message, FAILURE)
    except KeyboardInterrupt:
        _exit("stopped.", INTERRUPTED)
    except OSError as error:
        if error.filename is not None:
            _exit(f"Cannot use {error.filename}: {error.strerror}.")
        if error.errno not in _DISK_FULL:
            raise
        _exit(f"{error.strerror}. Nothing was replaced; make room and run the command again.")


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """Print warnings as notes on standard error; yields a list that collects them."""
    notes: list[str] = []

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        from dikmeans.cli.messages import warning_message

        notes.append(warning_message(message))
        say(f"note: {notes[-1]}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield notes


def _exit(message: str, code: int = USAGE_ERROR) -> NoReturn:
    say(message)
    raise typer.Exit(code)
