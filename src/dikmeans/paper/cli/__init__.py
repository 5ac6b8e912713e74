"""``dikmeans reproduce``: the paper's results, made again.

The group is registered as the entry point ``reproduce`` of ``dikmeans.commands``. It is imported
with every call of ``dikmeans``, so the work itself is imported where a command needs it.
"""

from __future__ import annotations

import typer

from dikmeans.paper.cli.figures_command import figures
from dikmeans.paper.cli.table_command import table

commands = typer.Typer(
    help="Reproduce the paper's results.", no_args_is_help=True, add_completion=False
)
commands.command()(table)
commands.command()(figures)
