"""``dikmeans info``: what is in a RUN folder."""

from __future__ import annotations

from dikmeans.cli import options
from dikmeans.cli.console import print_json
from dikmeans.cli.errors import errors_explained


def info(run: options.Run, as_json: options.Json = False) -> None:
    """Show the clusters of a run, and how it was made."""
    with errors_explained():
        from dikmeans.cli.summary import print_origin, print_run, run_as_json
        from dikmeans.runs import open_run

        opened = open_run(run)
        if as_json:
            print_json(run_as_json(opened))
        else:
            print_run(opened)
            print_origin(opened)
