"""``dikmeans studio``: look at a run in the browser, correct it, and fit it again."""

from __future__ import annotations

import contextlib
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from dikmeans.cli import options
from dikmeans.cli.console import printable, say
from dikmeans.cli.errors import UsageError, errors_explained, warnings_as_notes


def studio(
    run: Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="Folder that `dikmeans fit` has written; or a folder of pictures, with -k.",
        ),
    ],
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters", "-k", min=1, metavar="N", help="For a folder of pictures: fit it first."
        ),
    ] = None,
    moved_to: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="INPUT", help="Where the pictures are now, if they have moved."
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port on this computer; 0 finds one.")
    ] = 0,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the browser.")
    ] = True,
    quiet: options.Quiet = False,
) -> None:
    """Look at RUN in the browser, correct it, and fit it again.

    Only this computer can open the page. Every edit is kept at once, in RUN/edits.jsonl.
    """
    with errors_explained(), warnings_as_notes():
        _require_studio()
        from dikmeans.studio import open_studio, serve
        from dikmeans.studio.refit import remove_unfinished

        place = _fitted(run, clusters, quiet=quiet)
        _name_refined(place)

        def opened(address: str) -> None:
            typer.echo(f"Studio: {address}")
            say("Only this computer can open it. Ctrl-C stops it; every edit is kept.")
            if browser:
                webbrowser.open(address)

        opened_studio = open_studio(place, moved_to)
        for leftover in remove_unfinished(place):
            say(f"note: {printable(leftover.name)}, left by a re-fit that was killed, was removed.")
        try:
            with contextlib.suppress(KeyboardInterrupt):  # the way to stop it, not an error
                serve(opened_studio, port, opened)
        finally:
            opened_studio.close()
        say("stopped.")


def _fitted(path: Path, clusters: int | None, *, quiet: bool) -> Path:
    """The run at a path; pictures are fitted first, into a run beside them."""
    from dikmeans.runs.run_folder import INFO

    if (path / INFO).exists() or not path.exists():
        return path
    place = path.resolve().with_name(f"{path.resolve().name}-run")
    if place.exists():
        say(f"note: {path} was fitted before; {place} is opened.")
        return place
    if clusters is None:
        raise UsageError(
            f"{path} is no run, but perhaps a folder of pictures. To fit it first, say into how "
            f"many clusters: dikmeans studio {path} -k 10"
        )
    from dikmeans.cli.fit import fit

    fit(str(path), clusters, output=place, report=False, quiet=quiet)
    return place


def _name_refined(run: Path) -> None:
    """Say which runs beside it were refined from a run: one may have meant to go on with them."""
    import json

    from dikmeans.runs.run_folder import REFINEMENT

    place = run.resolve()
    for record in sorted(place.parent.glob(f"*/{REFINEMENT}")):
        try:
            known = json.loads(record.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(known, dict) and known.get("from") == str(place):
            say(f"note: {printable(str(record.parent))} was refined from this run.")


def _require_studio() -> None:
    from dikmeans.errors import MissingExtraError

    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(str(error.name), "studio", "The studio") from error
