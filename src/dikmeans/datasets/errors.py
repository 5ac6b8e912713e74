"""Errors and warnings of the data loaders; each carries its facts as fields.

Every error also derives from the built-in exception a caller would guess (`FileNotFoundError`,
`ValueError`, `OSError`), so nobody has to know this module to catch one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from dikmeans._typing import PathLike
from dikmeans.datasets._text import first_few, format_shape
from dikmeans.errors import DikmeansError


class DataError(DikmeansError):
    """Base of the errors that `dikmeans.datasets` raises."""


class FileError(DataError):
    """A file or folder cannot be used as asked.

    Attributes
    ----------
    path : str
        The file or folder; a member of an archive by its name there.
    reason : str
        What is wrong; continues a sentence that begins with `path`.
    suggestion : str
        What to do about it, for readers of Python; may be empty.
    url : str or None
        Where to get missing files.
    files : tuple of str
        The files to get, one description for each layout in which they may be put into `path`.
    """

    def __init__(
        self,
        path: PathLike,
        reason: str,
        suggestion: str = "",
        *,
        url: str | None = None,
        files: Iterable[str] = (),
    ) -> None:
        self.path, self.reason, self.suggestion = str(path), reason, suggestion
        self.url, self.files = url, tuple(files)
        super().__init__(f"{self.path} {reason.rstrip('.')}. {suggestion}".rstrip())


class MissingDataError(FileError, FileNotFoundError):
    """Files are not there; the suggestion says which to put where."""


class DownloadError(FileError, OSError):
    """A file could not be downloaded, or its checksum is not the published one."""


class CorruptFileError(FileError, ValueError):
    """A file is damaged, or its content is of another kind than expected."""


class UnsafeFileError(FileError, ValueError):
    """A file could do harm: a decompression bomb, or an archive with names outside of it."""


class AmbiguousLabelsError(FileError, ValueError):
    """Folders are asked for as labels, and some files lie in none.

    Attributes
    ----------
    file : str
        The first file without a folder.
    """

    def __init__(self, path: PathLike, file: str) -> None:
        self.file = file
        super().__init__(
            path,
            f"has files beside its folders (such as {file!r}), so folders cannot be the labels",
            "Put them into folders too, or give the labels in a table.",
        )


class LabelsFileError(FileError, ValueError):
    """A table of labels lacks files, names others, or contradicts itself."""


class MixedKindsError(FileError, ValueError):
    """A folder has pictures and sounds, and it is unclear which are meant.

    Attributes
    ----------
    n_pictures, n_sounds : int
    """

    def __init__(self, path: PathLike, n_pictures: int, n_sounds: int) -> None:
        self.n_pictures, self.n_sounds = n_pictures, n_sounds
        super().__init__(
            path,
            f"has {n_pictures:,} pictures and {n_sounds:,} sounds",
            "Put them into different folders: they are clustered separately.",
        )


class TooLargeError(FileError, ValueError):
    """The images would take more memory than `max_bytes`.

    Attributes
    ----------
    needed_bytes, max_bytes : int
        Memory of the images, and the limit.
    """

    def __init__(self, path: PathLike, needed_bytes: int, max_bytes: int) -> None:
        self.needed_bytes, self.max_bytes = needed_bytes, max_bytes
        super().__init__(
            path,
            f"has images that take {needed_bytes:,} bytes, more than max_bytes={max_bytes:,}",
            "Pass a smaller size=(height, width), or a larger max_bytes.",
        )


class UnknownNameError(DataError, ValueError):
    """A name is neither a data set nor a folder or file.

    Attributes
    ----------
    name : str
        As the caller gave it.
    suggestion : str or None
        The data set that was probably meant.
    known : tuple of str
        Names of all data sets.
    """

    def __init__(self, name: str, suggestion: str | None, known: Iterable[str]) -> None:
        self.name, self.suggestion, self.known = name, suggestion, tuple(known)
        meant = f" Did you mean {suggestion!r}?" if suggestion else ""
        super().__init__(
            f"There is no data set, folder or file {name!r}.{meant} The data sets are "
            f"{', '.join(self.known)}."
        )


class UnknownOptionError(DataError, TypeError):
    """Options that this kind of data does not have.

    Attributes
    ----------
    name : str
        The data set or path.
    options, known : tuple of str
        The unknown options, and those there are.
    """

    def __init__(self, name: str, options: Iterable[str], known: Iterable[str]) -> None:
        self.name, self.options, self.known = name, tuple(options), tuple(known)
        super().__init__(
            f"{name!r} has no option {', '.join(map(repr, self.options))}; it takes "
            f"{', '.join(map(repr, self.known)) or 'none'}."
        )


class WorkingSizeWarning(UserWarning):
    """Pictures are brought to a size that was chosen for them.

    Attributes
    ----------
    path : str
        The folder or file.
    sizes : dict of (height, width) to int
        How many pictures have each size.
    size : (int, int)
        The size that was chosen.
    detail : float
        The part of the pictures' detail that is left at this size.
    stretched : bool
        Whether pictures of another shape are stretched rather than padded.
    """

    def __init__(
        self,
        path: PathLike,
        sizes: Mapping[tuple[int, int], int],
        size: tuple[int, int],
        *,
        detail: float,
        stretched: bool = False,
    ) -> None:
        self.path, self.sizes, self.size = str(path), dict(sizes), size
        self.detail, self.stretched = detail, stretched
        super().__init__(f"{path} has {self.describe()}. Pass size=(height, width) to choose.")

    def describe(self) -> str:
        """What sizes there are, what was chosen, and why; continues "The folder has ..."."""
        fate = "stretched" if self.stretched else "scaled to fit, padded with their ground,"
        if len(self.sizes) == 1:
            fate = "scaled"
        return (
            f"pictures of {describe_sizes(self.sizes)}; they are {fate} to "
            f"{format_shape(self.size)}, where {self.detail:.1%} of their detail is left"
        )


class IgnoredFilesWarning(UserWarning):
    """A few files of another kind lie among the rest and are not used.

    Attributes
    ----------
    path : str
        The folder or zip.
    kind : str
        What they are: "pictures" or "sounds".
    files : tuple of str
    """

    def __init__(self, path: PathLike, kind: str, files: Sequence[str]) -> None:
        self.path, self.kind, self.files = str(path), kind, tuple(files)
        super().__init__(f"{path} has {len(files)} {kind}, not used: {first_few(self.files)}.")


class UnreadableFilesWarning(UserWarning):
    """Files are left out because they cannot be read.

    Attributes
    ----------
    path : str
        The folder or zip.
    errors : tuple of CorruptFileError
        One for each file left out.
    """

    def __init__(self, path: PathLike, errors: Sequence[CorruptFileError]) -> None:
        self.path, self.errors = str(path), tuple(errors)
        reasons = first_few([str(error).rstrip(".") for error in errors], "; ")
        super().__init__(f"{path} has {len(errors)} unreadable file(s), left out: {reasons}")


def check_choice(parameter: str, value: object, choices: Iterable[object]) -> None:
    """Raise a ValueError if a parameter is not one of its choices."""
    choices = tuple(choices)
    if value not in choices:
        expected = ", ".join(map(repr, choices))
        raise ValueError(f"{parameter} must be one of {expected}; got {value!r}.")


def describe_sizes(sizes: Mapping[tuple[int, int], int]) -> str:
    """Sizes of pictures: the one there is, or the range.

    Examples
    --------
    >>> describe_sizes({(28, 28): 5}), describe_sizes({(40, 90): 1, (60, 50): 2})
    ('28x28', '40x50 to 60x90')
    """
    smallest, largest = ([f(side) for side in zip(*sizes, strict=True)] for f in (min, max))
    if smallest == largest:
        return format_shape(smallest)
    return f"{format_shape(smallest)} to {format_shape(largest)}"
