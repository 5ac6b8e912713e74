"""The library's errors and warnings in the words of the command line, from their fields."""

from __future__ import annotations

from dikmeans.checkpoint.folder import CheckpointError, CheckpointProblem, CheckpointWriteError
from dikmeans.cli.console import describe_bytes, describe_shape
from dikmeans.datasets import (
    AmbiguousLabelsError,
    FileError,
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
from dikmeans.errors import DikmeansError, MissingExtraError
from dikmeans.parameters import InvalidParameterError
from dikmeans.runs import RunFolderError, RunFolderProblem

OPTIONS = {
    "n_clusters": "--clusters",
    "n_init": "--runs",
    "n_prototypes": "--prototypes",
    "random_state": "--seed",
    "n_jobs": "--jobs",
}
"""Options of the command line that are not called like the parameter."""

_MAX_ITEMS = 5
_START_AGAIN = "To start again, use --force without --resume."
_CHECKPOINT_ADVICE = {
    CheckpointProblem.IN_USE: "Wait until it has ended, or choose another name for the run.",
    CheckpointProblem.DAMAGED: _START_AGAIN,
    CheckpointProblem.OTHER_FIT: f"To continue it, give the same input and options. {_START_AGAIN}",
    CheckpointProblem.FOREIGN: "Choose another name for the run, or move that away.",
}
_RUN_ADVICE = {
    RunFolderProblem.NOT_A_RUN: "Make a run with: dikmeans fit INPUT -k K -o RUN",
    RunFolderProblem.DAMAGED: "Fit again.",
    RunFolderProblem.OTHER_VERSION: "Update dikmeans, or fit again.",
    RunFolderProblem.EXISTS: "Choose another name, or use --force to replace it.",
    RunFolderProblem.EXPORT_EXISTS: "Choose another folder, or remove it first.",
    RunFolderProblem.NO_LINKS: "Leave --links out to copy the originals.",
    RunFolderProblem.FOREIGN: "Choose another name, or move that away.",
    RunFolderProblem.IMAGES_UNREADABLE: "If they have moved, say where they are with --input.",
    RunFolderProblem.IMAGES_CHANGED: "Restore the old pictures, or fit again.",
}


def option_of(parameter: str) -> str:
    """The option of the command line that sets a parameter.

    Examples
    --------
    >>> option_of("n_init"), option_of("landmarks")
    ('--runs', '--landmarks')
    """
    return OPTIONS.get(parameter, f"--{parameter.replace('_', '-')}")


def error_message(error: DikmeansError) -> str:
    """What went wrong, and what to do about it on the command line."""
    match error:
        case InvalidParameterError(parameter="device"):
            return (
                f"--device {error.value} cannot be used: PyTorch does not find it. Check the "
                "driver and that PyTorch was installed with CUDA, or leave --device out."
            )
        case InvalidParameterError(value=value):
            if isinstance(value, tuple):
                value = describe_shape(value)
            return f"{option_of(error.parameter)} {value}: expected {error.expected}."
        case MissingExtraError():
            return (
                f"{error.purpose} needs the library '{error.library}', which is not installed. "
                f"Install it with: pip install 'dikmeans[{error.extra}]'"
            )
        case CheckpointError():
            return f"{error.path} {error.reason}. {_CHECKPOINT_ADVICE[error.problem]}"
        case CheckpointWriteError():
            return _checkpoint_write_message(error)
        case RunFolderError():
            return f"{error.path} {error.reason.rstrip('.')}. {_RUN_ADVICE[error.problem]}"
        case UnknownNameError():
            meant = f" Did you mean {error.suggestion!r}?" if error.suggestion else ""
            return (
                f"There is no folder, file or data set {error.name!r}.{meant} The data "
                f"sets are {', '.join(error.known)}."
            )
        case UnknownOptionError():
            options = ", ".join(map(option_of, error.options))
            return f"{options} cannot be used with {error.name!r}."
        case TooLargeError():
            needed, limit = describe_bytes(error.needed_bytes), describe_bytes(error.max_bytes)
            return (
                f"The pictures in {error.path} take {needed}; at most {limit} are read. Choose a "
                "smaller --size."
            )
        case FileError():
            return f"{error.path} {error.reason.rstrip('.')}. {_file_advice(error)}".rstrip()
        case _:
            return str(error)


def _checkpoint_write_message(error: CheckpointWriteError) -> str:
    text = f"The checkpoint {error.path} could not be written: {error.strerror}."
    if error.before is None:
        return f"{text} Choose another place for the run, or use --no-checkpoint."
    return (
        f"{text} The one before, at {error.before}, is intact: make room on the disk, then give "
        "the same command with --resume."
    )


def _file_advice(error: FileError) -> str:
    match error:
        case AmbiguousLabelsError():
            return "Put them into folders too, or use --labels FILE.csv or --labels none."
        case MixedKindsError():
            return "Put them into different folders and cluster one at a time."
        case LabelsFileError():
            return f"{error.suggestion} Correct it, or use --labels none.".lstrip()
        case UnsafeFileError():
            return "Make it smaller, or remove it."
        case MissingDataError(url=str() as url, files=(_, *_) as files):
            layouts = "".join(f"\n  {layout}" for layout in files)
            return f"Get the files from {url} and put them there:{layouts}"
        case _:
            return error.suggestion


def warning_message(warning: Warning | str) -> str:
    """A warning of the library, with the option that changes what it warns about."""
    match warning:
        case WorkingSizeWarning():
            return f"{warning.path} has {warning.describe()}. Use --size to choose another."
        case UnreadableFilesWarning():
            reasons = [f"{error.path} {error.reason.rstrip('.')}" for error in warning.errors]
            return (
                f"{len(reasons)} file(s) in {warning.path} cannot be read and are left out: "
                f"{'; '.join(_first(reasons))}."
            )
        case _:
            return str(warning)


def _first(items: list[str]) -> list[str]:
    n_more = len(items) - _MAX_ITEMS
    return items if n_more <= 0 else [*items[:_MAX_ITEMS], f"and {n_more} more"]
