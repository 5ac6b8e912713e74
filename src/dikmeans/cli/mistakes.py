"""A user's mistake gets a plain message and exit code 2, not a traceback; Ctrl-C gets 130."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator

import typer

MISTAKE, FAILURE, INTERRUPTED = 2, 1, 130

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def mistakes_explained() -> Iterator[None]:
    """Turn the errors a user can mend into a message on standard error."""
    from dikmeans.data import DataError
    from dikmeans.evaluate import ResultsFileError, UnknownChoiceError
    from dikmeans.reproduce.errors import ReproductionError

    try:
        yield
    except (DataError, ReproductionError, ResultsFileError, UnknownChoiceError) as error:
        _exit(str(error))
    except ImportError as error:  # an optional library; the message says which
        _exit(str(error))
    except OSError as error:
        if error.filename is not None:
            _exit(f"Cannot use {error.filename}: {error.strerror}. Choose another place or mend this one.")
        if error.errno not in _DISK_FULL:
            raise
        _exit(f"{error.strerror}. Finished runs are kept; make room, and the same command goes on.")


def _exit(message: str) -> None:
    typer.echo(f"dikmeans: {message}", err=True)
    raise typer.Exit(MISTAKE)
