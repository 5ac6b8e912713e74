"""Errors and warnings in the words of the command line, phrased from their fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from dikmeans.checkpoint.folder import CheckpointError, CheckpointProblem, CheckpointWriteError
from dikmeans.cli.errors import UsageError
from dikmeans.cli.messages import error_message, warning_message
from dikmeans.datasets import (
    AmbiguousLabelsError,
    CorruptFileError,
    LabelsFileError,
    MissingDataError,
    MixedKindsError,
    TooLargeError,
    UnknownNameError,
    UnknownOptionError,
    UnreadableFilesWarning,
    UnsafeFileError,
    WorkingSizeWarning,
)
from dikmeans.errors import MissingExtraError
from dikmeans.parameters import InvalidParameterError
from dikmeans.runs import RunFolderError, RunFolderProblem

AWKWARD = Path("/tmp/n_init size=(height, width) n_clusters")
FULL = OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            InvalidParameterError("n_init", 0, "an integer >= 1"),
            "--runs 0: expected an integer >= 1.",
        ),
        (
            InvalidParameterError("landmarks", (3, 40), "columns from 2 to 12"),
            "--landmarks 3x40: expected columns from 2 to 12.",
        ),
        (InvalidParameterError("device", "cuda", "None"), "--device cuda cannot be used"),
        (MissingExtraError("torch", "deep", "--device cuda"), "pip install 'dikmeans[deep]'"),
        (CheckpointError(AWKWARD, CheckpointProblem.IN_USE, "is in use"), "Wait until it has"),
        (
            CheckpointError(AWKWARD, CheckpointProblem.DAMAGED, "is a damaged checkpoint"),
            f"{AWKWARD} is a damaged checkpoint. To start again, use --force without --resume.",
        ),
        (
            CheckpointError(AWKWARD, CheckpointProblem.OTHER_FIT, "is the checkpoint of another"),
            "give the same input and options",
        ),
        (CheckpointError(AWKWARD, CheckpointProblem.FOREIGN, "is a file"), "another name"),
        (CheckpointWriteError(AWKWARD, FULL, None), "use --no-checkpoint"),
        (
            CheckpointWriteError(AWKWARD, FULL, "run 2"),
            f"The checkpoint {AWKWARD} could not be written: No space left on device. The one "
            "before, at run 2, is intact: make room on the disk, then give the same command with "
            "--resume.",
        ),
        *(
            (RunFolderError(AWKWARD, problem, "is not right"), f"{AWKWARD} is not right. ")
            for problem in RunFolderProblem
        ),
        (RunFolderError(AWKWARD, RunFolderProblem.EXISTS, "exists already"), "use --force"),
        (RunFolderError(AWKWARD, RunFolderProblem.IMAGES_UNREADABLE, "has lost"), "--input"),
        (UnknownNameError("mnits", "mnist", ("mnist",)), "Did you mean 'mnist'?"),
        (UnknownOptionError("mnist", ["size"], []), "--size cannot be used with 'mnist'."),
        (AmbiguousLabelsError(AWKWARD, "a.png"), "use --labels FILE.csv or --labels none"),
        (LabelsFileError(AWKWARD, "lacks 'a.png'"), "lacks 'a.png'. Correct it, or use --labels"),
        (MixedKindsError(AWKWARD, 12, 30), "has 12 pictures and 30 sounds. Put them into"),
        (
            TooLargeError(AWKWARD, 5 * 10**9, 4 * 10**9),
            "take 5.0 GB; at most 4.0 GB are read. Choose a",
        ),
        (UnsafeFileError(AWKWARD, "is a bomb"), "Make it smaller, or remove it."),
        (
            MissingDataError(AWKWARD, "is empty", url="http://x", files=["zip: a.zip"]),
            f"{AWKWARD} is empty. Get the files from http://x and put them there:\n  zip: a.zip",
        ),
        (CorruptFileError(AWKWARD, "is damaged", "Get it again."), "is damaged. Get it again."),
        (UsageError("Say where."), "Say where."),
    ],
)
def test_an_error_says_what_to_do_on_the_command_line(error, message):
    text = error_message(error)
    assert message in text
    if getattr(error, "path", None) is not None:  # an ImportError has one that is None
        assert str(AWKWARD) in text  # words of the path are left as they are
        text = text.replace(str(AWKWARD), "")
    for word in ("n_init", "(height, width)", "n_clusters", "max_bytes", "replace=True"):
        assert word not in text


def test_warnings_name_the_option_that_changes_what_they_warn_about():
    sizes = {(300, 400): 2, (280, 410): 1}
    chosen = WorkingSizeWarning(AWKWARD, sizes, (48, 64), detail=0.984)
    assert warning_message(chosen) == (
        f"{AWKWARD} has pictures of 280x400 to 300x410; they are scaled to fit, padded with their "
        "ground, to 48x64, where 98.4% of their detail is left. Use --size to choose another."
    )
    errors = [CorruptFileError(f"{number}.png", "is cut.") for number in range(7)]
    text = warning_message(UnreadableFilesWarning(AWKWARD, errors))
    assert text.startswith(f"7 file(s) in {AWKWARD} cannot be read and are left out: 0.png is cut;")
    assert text.endswith("4.png is cut; and 2 more.")
    assert warning_message(UserWarning("something else")) == "something else"
