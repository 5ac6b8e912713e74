"""The checkpoint beside a run: ``RUN.checkpoint`` is there while ``dikmeans fit`` works, or was cut short."""

from __future__ import annotations

from pathlib import Path

from dikmeans.cli.mistakes import Mistake


class Keeper:
    """Keeps no checkpoint.

    Attributes
    ----------
    folder : pathlib.Path or None
        Where the fit is kept.
    how_to_go_on : str
        What to tell a user who has stopped it.
    """

    folder: Path | None = None
    how_to_go_on = ""

    def check(self) -> None:
        """Raise `Mistake` if what is there does not go with what the user wants."""

    def begin(self) -> None:
        """The work is about to begin."""

    def discard(self) -> None:
        """It is not needed any more."""


class CheckpointKeeper(Keeper):
    """Keeps a checkpoint beside a run.

    Parameters
    ----------
    output : pathlib.Path
        The run.
    resume : bool
        Go on with the checkpoint that is there.
    force : bool
        If not, delete it.
    """

    how_to_go_on = " To go on from there, give the command again with --resume --force."

    def __init__(self, output: Path, *, resume: bool, force: bool):
        place = output.expanduser().resolve()
        self.folder: Path = place.with_name(f"{place.name}.checkpoint")
        self._resume, self._force = resume, force

    def check(self) -> None:
        """Raise `Mistake` if there is nothing to resume, or something that nobody has given up."""
        from dikmeans.checkpoint.folder import CheckpointFolder

        is_there = CheckpointFolder(self.folder).holds_something
        if self._resume and not is_there:
            raise Mistake(
                f"There is nothing to resume: no checkpoint in {self.folder}. Leave --resume out."
            )
        if is_there and not (self._resume or self._force):
            raise Mistake(
                f"{self.folder} is left of a fit that was cut short. Pass --resume to go on with it, or "
                "--force to start anew."
            )

    def begin(self) -> None:
        """Make room, unless the fit goes on with what is there."""
        if not self._resume:
            self.discard()

    def discard(self) -> None:
        """Delete the folder, unless another process is using it."""
        from dikmeans.checkpoint.folder import CheckpointFolder

        if self.folder.exists():
            with CheckpointFolder(self.folder) as folder:
                folder.discard()


def make_keeper(output: Path, *, resume: bool, force: bool, wanted: bool) -> Keeper:
    """What keeps the fit of the run `output`; nothing, if that is not wanted."""
    return CheckpointKeeper(output, resume=resume, force=force) if wanted else Keeper()
