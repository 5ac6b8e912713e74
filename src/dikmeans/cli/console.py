"""Where the command line writes: results to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import typer
from rich.console import Console

PLAIN_WIDTH = 120
"""Columns where there is no terminal to ask, such as in a log."""


def make_console(*, stderr: bool) -> Console:
    """A console as wide as the terminal, or of a fixed width where there is none."""
    console = Console(stderr=stderr, highlight=False)
    return (
        console
        if console.is_terminal
        else Console(stderr=stderr, highlight=False, width=PLAIN_WIDTH)
    )


def say(text: str) -> None:
    """A line on standard error, as Unix programs introduce theirs."""
    typer.echo(f"dikmeans: {text}", err=True)


def print_json(value: Any) -> None:
    """A result for scripts, on standard output."""
    typer.echo(json.dumps(value, indent=2))


def print_bytes(content: bytes) -> None:
    """A result that is a file's content, on standard output; names may hold bytes that are no text."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


@contextlib.contextmanager
def warnings_as_notes() -> Iterator[list[str]]:
    """Show the library's warnings as notes on standard error; yields a list that collects them."""
    notes: list[str] = []

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        note = in_command_words(str(message))
        notes.append(note)
        say(f"note: {note}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield notes


_COMMAND_WORDS = {
    "Pass size=(height, width)": "Use --size HxW",
    "Pass a smaller size=(height, width), or a larger max_bytes.": "Use a smaller --size HxW.",
    "size=(height, width)": "--size HxW",
    "n_clusters": "--clusters",
    "n_init": "--runs",
    "n_prototypes": "--forms",
    "random_state": "--seed",
    "To start anew, use another folder, or delete this one.": "To start anew, pass --force, not --resume.",
    "the same fit with the same checkpoint": "the same command with --resume",
    "Use a folder that is new or empty": "Choose another name for the run, or move that away",
    "use another folder": "choose another name for the run",
}


def in_command_words(text: str) -> str:
    """A message of the library with the names of options in place of parameters.

    Examples
    --------
    >>> in_command_words("Pass size=(height, width) to choose.")
    'Use --size HxW to choose.'
    """
    for words in sorted(_COMMAND_WORDS, key=len, reverse=True):
        text = text.replace(words, _COMMAND_WORDS[words])
    return text


def describe_seconds(seconds: float) -> str:
    """A duration as a person would say it.

    Parameters
    ----------
    seconds : float

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


def describe_bytes(n_bytes: float) -> str:
    """A size as a person would say it.

    Examples
    --------
    >>> [describe_bytes(n) for n in (2e5, 3.4e7, 1.25e9)]
    ['0.2 MB', '34 MB', '1.2 GB']
    """
    if n_bytes >= 1e9:
        return f"{n_bytes / 1e9:.1f} GB"
    return f"{n_bytes / 1e6:.0f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e6:.1f} MB"


def describe_shape(shape: Any) -> str:
    """A shape as HxW.

    Examples
    --------
    >>> describe_shape((28, 28, 3))
    '28x28x3'
    """
    return "x".join(str(side) for side in shape)
