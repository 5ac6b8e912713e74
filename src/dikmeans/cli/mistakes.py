"""A user's mistake gets a plain message and exit code 2, not a traceback; Ctrl-C gets 130."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import typer

MISTAKE, FAILURE, INTERRUPTED = 2, 1, 130


@contextlib.contextmanager
def mistakes_explained() -> Iterator[None]:
    """Turn the errors a user can mend into a message on standard error."""
    from dikmeans.data import DataError
    from dikmeans.evaluate import ResultsFileError, UnknownChoiceError

    try:
        yield
    except (DataError, ResultsFileError, UnknownChoiceError) as error:
        _exit(str(error))
    except ImportError as error:  # an optional library; the message says which
        _exit(str(error))
    except OSError as error:
        if error.filename is None:
            raise
        _exit(f"Cannot use {error.filename}: {error.strerror}. Choose another place or mend its permissions.")


def _exit(message: str) -> None:
    typer.echo(f"dikmeans: {message}", err=True)
    raise typer.Exit(MISTAKE)
