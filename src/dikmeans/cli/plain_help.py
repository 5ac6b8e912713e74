"""Help that shows a flag by its name alone.

Typer prints the type of every option, and so ``<bool>`` beside options that take no value.
"""

from __future__ import annotations

from typing import Any

import typer

Command = Any  # typer brings its own copy of click, whose types it does not name


def show_flags_plainly(command: Command, context: typer.Context) -> None:
    """Leave out the type of the flags of a command, of ``--help``, and of all commands below it."""
    for parameter in command.get_params(context):
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    for below in getattr(command, "commands", {}).values():
        show_flags_plainly(below, context)
