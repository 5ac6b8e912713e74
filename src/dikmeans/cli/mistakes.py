"""A user's mistake gets a plain message and exit code 2, not a traceback; Ctrl-C gets 130."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator
from typing import NoReturn

import typer

from dikmeans.cli.console import in_command_words, say

MISTAKE, FAILURE, INTERRUPTED = 2, 1, 130

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class Mistake(Exception):  # noqa: N818 -- the user's, not an error of ours
    """Something the user can mend, in words."""


@contextlib.contextmanager
def mistakes_explained() -> Iterator[None]:
    """Turn the errors a user can mend into a message on standard error."""
    from dikmeans.datasets import DataError
    from dikmeans.kmeans import CheckpointError, CheckpointWriteError
    from dikmeans.paper import ResultsFileError, UnknownChoiceError
    from dikmeans.paper.figures.errors import ReproductionError
    from dikmeans.runs import ModelFileError, RunFolderError

    try:
        yield
    except (
        Mistake,
        CheckpointError,
        CheckpointWriteError,
        DataError,
        ModelFileError,
        RunFolderError,
        ReproductionError,
        ResultsFileError,
        UnknownChoiceError,
    ) as error:
        _exit(in_command_words(str(error)))
    except ImportError as error:  # an optional library; the message says which
        _exit(str(error))
    except MemoryError:
        _exit(
            "There is not enough memory. Take fewer or smaller pictures (--limit, --size).", FAILURE
        )
    except KeyboardInterrupt:
        _exit("stopped.", INTERRUPTED)
    except OSError as error:
        if error.filename is not None:
            _exit(
                f"Cannot use {error.filename}: {error.strerror}. Choose another place or mend this one."
            )
        if error.errno not in _DISK_FULL:
            raise
        _exit(
            f"{error.strerror}. What was there before is kept; make room, and give the command again."
        )


@contextlib.contextmanager
def values_explained() -> Iterator[None]:
    """Within the block a ValueError is a value that the estimator refuses, in words meant for users."""
    try:
        yield
    except ValueError as error:
        raise Mistake(in_command_words(str(error))) from error


def _exit(message: str, code: int = MISTAKE) -> NoReturn:
    say(message)
    raise typer.Exit(code)
