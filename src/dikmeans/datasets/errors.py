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
    """A folder has pictures both inside and outside of class folders.

    Attributes
    ----------
    file : str
        The first picture without a class.
    """

    def __init__(self, path: PathLike, file: str) -> None:
        self.file = file
        super().__init__(
            path,
            f"has pictures in folders and beside them (such as {file!r}), so it is unclear which "
            "class the latter are",
            "Put them into folders too, or load the folders one by one.",
        )


class MixedSizesError(FileError, ValueError):
    """The pictures of a folder differ in size, and `on_mixed_sizes` is "error".

    Attributes
    ----------
    sizes : dict of (height, width) to int
        How many pictures have each size.
    """

    def __init__(self, path: PathLike, sizes: Mapping[tuple[int, int], int]) -> None:
        self.sizes = dict(sizes)
        super().__init__(
            path,
            f"has pictures of different sizes: {_describe_sizes(sizes)}",
            "Pass size=(height, width), or on_mixed_sizes='resize' for the most frequent size.",
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
            f"There is no data set, folder, zip or array file {name!r}.{meant} The data sets are "
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


class MixedSizesWarning(UserWarning):
    """The pictures of a folder differ in size, and all are resized to the most frequent one.

    Attributes
    ----------
    path : str
        The folder or zip.
    sizes : dict of (height, width) to int
        How many pictures have each size.
    size : (int, int)
        The most frequent size.
    """

    def __init__(
        self, path: PathLike, sizes: Mapping[tuple[int, int], int], size: tuple[int, int]
    ) -> None:
        self.path, self.sizes, self.size = str(path), dict(sizes), size
        super().__init__(
            f"{path} has pictures of different sizes: {_describe_sizes(sizes)}. All are resized to "
            f"the most frequent, {format_shape(size)}. Pass size=(height, width) to choose."
        )


class ReducedSizeWarning(UserWarning):
    """Pictures are reduced because of `largest_side`.

    Attributes
    ----------
    path : str
        The folder or file.
    original_size, size : (int, int)
        Height and width before and after.
    """

    def __init__(
        self, path: PathLike, original_size: tuple[int, int], size: tuple[int, int]
    ) -> None:
        self.path, self.original_size, self.size = str(path), original_size, size
        super().__init__(
            f"{path} has pictures of {format_shape(original_size)}; all are reduced to "
            f"{format_shape(size)}. Pass size=(height, width) to choose."
        )


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


def _describe_sizes(sizes: Mapping[tuple[int, int], int]) -> str:
    by_count = sorted(sizes.items(), key=lambda item: -item[1])
    return first_few([f"{format_shape(size)} ({count})" for size, count in by_count])
