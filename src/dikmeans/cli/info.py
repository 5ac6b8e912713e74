"""``dikmeans info``: what is in a RUN folder."""

from __future__ import annotations

from dikmeans.cli import options
from dikmeans.cli.console import print_json
from dikmeans.cli.mistakes import mistakes_explained


def info(run: options.Run, as_json: options.Json = False) -> None:
    """Show what a run is: its clusters, its pictures, how it was made."""
    with mistakes_explained():
        from dikmeans.cli.summary import run_as_json, show_origin, show_run
        from dikmeans.runs import open_run

        opened = open_run(run)
        if as_json:
            print_json(run_as_json(opened))
        else:
            show_run(opened)
            show_origin(opened)
