"""The checkpoint beside a run: the folder ``RUN.checkpoint`` of an unfinished fit."""

from __future__ import annotations

from pathlib import Path

from dikmeans.cli.console import say
from dikmeans.cli.errors import UsageError


def find_checkpoint(output: Path, *, resume: bool, force: bool) -> Path:
    """The folder for the checkpoint of the run `output`.

    Raises
    ------
    UsageError
        It holds an unfinished fit, which the user wants neither to continue nor to discard.
    """
    from dikmeans.checkpoint.folder import CheckpointFolder

    place = output.expanduser().resolve()
    path = place.with_name(f"{place.name}.checkpoint")
    exists = CheckpointFolder(path).holds_something
    if exists and not (resume or force):
        raise UsageError(
            f"{path} holds an unfinished fit. Use --resume to continue it, or --force to start "
            "again."
        )
    if resume and not exists:
        say(f"There is no checkpoint {path} to resume; the fit starts from the beginning.")
    return path


def discard_checkpoint(path: Path) -> None:
    """Delete a checkpoint; `CheckpointError` if it is in use, or not a checkpoint."""
    from dikmeans.checkpoint.folder import CheckpointFolder

    if path.exists():
        with CheckpointFolder(path) as folder:
            folder.discard()
