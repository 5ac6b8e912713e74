"""Where the command line writes: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn

LOG_WIDTH = 120
"""Columns where standard output is not a terminal, such as in a log."""


def make_console(*, stderr: bool) -> Console:
    """A console as wide as the terminal, or of a fixed width where there is none."""
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal:
        console.width = LOG_WIDTH
    return console


def make_bar(*columns: ProgressColumn, quiet: bool = False) -> Progress:
    """A progress bar on standard error: description, bar and these columns.

    Nothing is drawn if `quiet`, or if standard error is not a terminal.
    """
    from rich.progress import BarColumn, Progress, TextColumn

    console = make_console(stderr=True)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        *columns,
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )


def say(text: str) -> None:
    """Print one line on standard error, after the name of the program."""
    typer.echo(f"dikmeans: {text}", err=True)


def print_json(value: object) -> None:
    """Print a result for scripts on standard output."""
    typer.echo(json.dumps(value, indent=2))


def print_bytes(content: bytes) -> None:
    """Print the content of a file on standard output; names may hold bytes that are not text."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def printable(name: str) -> str:
    r"""A file name without the characters that would confuse a terminal.

    Examples
    --------
    >>> print(printable("two\nlines"))
    two\nlines
    """
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def describe_seconds(seconds: float) -> str:
    """A duration as a person would say it.

    Examples
    --------
    >>> [describe_seconds(seconds) for seconds in (0.234, 42.1, 700, 9000)]
    ['0.2 s', '42 s', '12 min', '2 h 30 min']
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def describe_time_left(seconds: float | None) -> str:
    """How long something will still take.

    Examples
    --------
    >>> describe_time_left(90.0), describe_time_left(None)
    ('about 2 min left', 'time left unknown')
    """
    if seconds is None:
        return "time left unknown"
    return f"about {describe_seconds(seconds)} left"


def describe_bytes(n_bytes: float) -> str:
    """An amount of memory as a person would say it.

    Examples
    --------
    >>> [describe_bytes(n) for n in (2e5, 3.4e7, 1.25e9)]
    ['0.2 MB', '34 MB', '1.2 GB']
    """
    if n_bytes >= 1e9:
        return f"{n_bytes / 1e9:.1f} GB"
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e6:.1f} MB"


def describe_shape(shape: Iterable[int]) -> str:
    """A shape as rows x columns.

    Examples
    --------
    >>> describe_shape((28, 28, 3))
    '28x28x3'
    """
    return "x".join(map(str, shape))
