"""The command `dikmeans` and its subcommands.

Packages add commands through the entry point group ``dikmeans.commands``: each entry point names a
`typer.Typer` app, which becomes the subcommand of that name.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from dikmeans.cli.choose_k import choose_k
from dikmeans.cli.demo import demo
from dikmeans.cli.export import export
from dikmeans.cli.fit import fit
from dikmeans.cli.info import info
from dikmeans.cli.plain_help import show_flags_plainly
from dikmeans.cli.predict import predict
from dikmeans.cli.refine import refine
from dikmeans.cli.report import report
from dikmeans.cli.studio import studio

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

ENTRY_POINT_GROUP = "dikmeans.commands"


class CommandGroup(TyperGroup):
    """The commands of this package, followed by those of entry points, loaded only if needed."""

    @cached_property
    def _entry_points(self) -> EntryPoints:
        from importlib.metadata import entry_points

        return entry_points(group=ENTRY_POINT_GROUP)

    def format_help(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Print the help of the command itself."""
        show_flags_plainly(self, ctx)
        super().format_help(ctx, formatter)

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Names of all commands, as ``--help`` lists them."""
        return [*super().list_commands(ctx), *sorted(self._entry_points.names)]

    def get_command(self, ctx: typer.Context, name: str):  # type: ignore[no-untyped-def, override]
        """The command of that name, or None."""
        command = super().get_command(ctx, name)
        if command is None and name in self._entry_points.names:
            command = typer.main.get_command(self._entry_points[name].load())
            command.name = name
        if command is not None:
            show_flags_plainly(command, ctx)
        return command


app = typer.Typer(
    cls=CommandGroup,
    help="Interpretable, deformation-invariant clustering of images.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (fit, predict, report, studio, refine, export, choose_k, info, demo):
    app.command()(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        from dikmeans import __version__

        typer.echo(f"dikmeans {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Interpretable, deformation-invariant clustering of images."""
