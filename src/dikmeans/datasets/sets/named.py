"""What a named data set is made of: layouts on disk, places to fetch from, and a loader.

A set may lie on disk in several layouts (as published; unpacked; as a compact copy). Each `Layout`
knows which files it needs and how to read them; the first one whose files are there is used.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dikmeans.datasets.errors import DownloadError, MissingDataError, check_choice, check_options
from dikmeans.datasets.files.fetch import RemoteFile, fetch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from dikmeans.datasets.imageset import ImageSet

SPLITS = ("train", "test")

Content = TypeVar("Content")


@dataclass(frozen=True)
class Layout(Generic[Content]):
    """One way in which the files of a set may lie in its folder.

    Attributes
    ----------
    description : str
        What it is, to be read after "expected".
    needs : mapping of split to tuple of str
        Files or folders that must be there; a file may also have ``.gz`` behind its name.
    read : callable (folder, split) -> content
        Reads a folder which has them.
    """

    description: str
    needs: Mapping[str, tuple[str, ...]]
    read: Callable[[Path, str], Content]

    def is_in(self, folder: Path, split: str) -> bool:
        """Whether everything it needs for a split is in a folder."""
        return all(find_file(folder, name) is not None for name in self.needs[split])


@dataclass(frozen=True)
class Shelf(Generic[Content]):
    """Where the files of a set are, or can be had.

    Attributes
    ----------
    folder : str
        Name of its folder in the data home.
    layouts : tuple of Layout
        Looked for in this order.
    homepage : str
        Where a person gets the files.
    remotes : mapping of split to tuple of RemoteFile
        What can be fetched; only files with a known checksum.
    """

    folder: str
    layouts: tuple[Layout[Content], ...]
    homepage: str
    remotes: Mapping[str, tuple[RemoteFile, ...]] = field(default_factory=dict)

    def read(self, split: str, data_home: Path, download: bool) -> Content:
        """Read a split from the first layout that is there; if none is, fetch the published files.

        Raises
        ------
        MissingDataError
            Nothing is there and nothing can be fetched; says which files to put where.
        """
        folder = data_home / self.folder
        layout = self._present(folder, split)
        if layout is None and download:
            try:
                for remote in self.remotes.get(split, ()):
                    fetch(remote, folder)
            except DownloadError as error:
                raise DownloadError(f"{error}\n{self._how_to_get(folder, split)}") from error
            layout = self._present(folder, split)
        if layout is None:
            offer = "\nor let it be fetched with download=True" if split in self.remotes else ""
            raise MissingDataError(self._how_to_get(folder, split) + offer)
        return layout.read(folder, split)

    def _present(self, folder: Path, split: str) -> Layout[Content] | None:
        return next((layout for layout in self.layouts if layout.is_in(folder, split)), None)

    def _how_to_get(self, folder: Path, split: str) -> str:
        choices = "\n".join(
            f"  - {layout.description}: {', '.join(layout.needs[split])}" for layout in self.layouts
        )
        return (
            f"The {split} part is not in {folder}. Get the files from {self.homepage} and put into "
            "that folder (or another: data_home=..., or the environment variable DIKMEANS_DATA) "
            f"one of\n{choices}"
        )


def find_file(folder: Path, name: str) -> Path | None:
    """The file or folder of that name, or the file with ``.gz`` behind it, if it is there."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.exists()), None)


@dataclass(frozen=True)
class NamedSet:
    """A data set by name.

    Attributes
    ----------
    name : str
        What to ask `dikmeans.datasets.load` for.
    loader : callable (split, data_home, download, **options) -> ImageSet
        Does the work; its keyword-only parameters are the options of the set.
    """

    name: str
    loader: Callable[..., ImageSet]

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options the set takes."""
        parameters = inspect.signature(self.loader).parameters.values()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    def load(
        self, split: str, data_home: Path, download: bool, options: dict[str, Any]
    ) -> ImageSet:
        """Load a split, after a check of the options."""
        check_choice("split", split, SPLITS)
        check_options(f"The data set {self.name!r}", options, self.options)
        return self.loader(split, data_home, download, **options)
