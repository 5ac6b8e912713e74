"""The tree of commands."""

from __future__ import annotations

from typing import Annotated

import typer

from dikmeans.cli import reproduce
from dikmeans.cli.choose_k import choose_k
from dikmeans.cli.demo import demo
from dikmeans.cli.fit import fit
from dikmeans.cli.info import info
from dikmeans.cli.predict import predict
from dikmeans.cli.report import report

app = typer.Typer(
    help="Interpretable, deformation-invariant clustering of images.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (demo, fit, predict, report, choose_k, info):
    app.command()(command)
app.add_typer(reproduce.commands, name="reproduce")


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
