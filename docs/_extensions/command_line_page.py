"""The page of all commands and options, written from the Typer application."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from sphinx.application import Sphinx
from sphinx.config import Config
from typer.core import TyperGroup

from dikmeans.cli import app as command_line

Command = Any  # typer brings its own copy of click, whose types it does not name
PAGE = Path("reference/command-line.md")
INTRODUCTION = """# Commands and options

What `dikmeans COMMAND --help` prints, for all commands. [The command line](../cli.md) says which to
use when.
"""


def plain(text: str | None) -> str:
    """A help text as one paragraph of Markdown, fit for a cell of a table."""
    words = " ".join((text or "").replace("\\[", "[").split())  # rich's way to write a bracket
    for special in "|<*_":
        words = words.replace(special, "\\" + special)
    return words


def as_code(names: str) -> str:
    """Names and value of an option, apart, so that a narrow column breaks between them.

    Examples
    --------
    >>> as_code("-k, --clusters N")
    '`-k`, `--clusters` `N`'
    """
    words = names.replace("|", "\\|").split(" ")
    code = (
        word if word == "/" else f"`{word.rstrip(',')}`{',' * word.endswith(',')}" for word in words
    )
    return " ".join(code)


def commands(command: Command, context: typer.Context) -> Iterator[tuple[Command, typer.Context]]:
    """A command and those below it, in the order of its help."""
    yield command, context
    if isinstance(command, TyperGroup):
        for name in command.list_commands(context):
            below: Command = command.get_command(context, name)
            if not below.hidden:
                yield from commands(below, typer.Context(below, context, name))


def options(command: Command, context: typer.Context) -> Iterator[str]:
    """Rows of the table of what a command takes."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:  # hidden
            continue
        yield f"| {as_code(record[0])} | {plain(record[1])} |"


def section(command: Command, context: typer.Context) -> str:
    """Heading, purpose, usage and table of one command."""
    level = context.command_path.count(" ") + 1
    heading = "#" * min(level + 1, 4)
    usage = " ".join(command.collect_usage_pieces(context))
    table = "\n".join(options(command, context))
    paragraphs = [plain(part) for part in (command.help or "").split("\n\n")]
    return "\n\n".join(
        [
            f"{heading} {context.command_path}",
            *paragraphs,
            f"```text\n{context.command_path} {usage}\n```",
            f"| | what it does |\n|---|---|\n{table}",
        ]
    )


def page() -> str:
    """The whole page."""
    root = typer.main.get_command(command_line)
    context = typer.Context(root, info_name="dikmeans")
    return "\n\n".join(
        [INTRODUCTION, *(section(command, place) for command, place in commands(root, context))]
    )


def write_page(app: Sphinx, config: Config) -> None:
    """Write the page, where it is not there already as it should be."""
    path, text = Path(app.srcdir) / PAGE, page() + "\n"
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write before Sphinx looks for pages."""
    app.connect("config-inited", write_page)
    return {"parallel_read_safe": True}
