"""The tree of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from dikmeans.cli import reproduce

app = typer.Typer(
    help="Interpretable, deformation-invariant clustering of images.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(reproduce.commands, name="reproduce")


def _print_version(wanted: bool) -> None:
    if wanted:
        from dikmeans import __version__

        typer.echo(f"dikmeans {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Interpretable, deformation-invariant clustering of images."""
