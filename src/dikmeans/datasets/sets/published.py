"""The published files of a data set: how they lie on disk, and where to download them.

The files of one set may lie on disk in several layouts (as published, unpacked, or as a compact
copy). The first layout whose files are there is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from dikmeans.datasets.errors import DownloadError, MissingDataError
from dikmeans.datasets.files.download import RemoteFile, download
from dikmeans.datasets.files.paths import DATA_HOME_VARIABLE
from dikmeans.datasets.imageset import ImageSet

SPLITS = ("train", "test")

Content = TypeVar("Content")


class DatasetLoader(Protocol):
    """Loads one split of a named data set; its parameters with a default are the set's options."""

    def __call__(
        self, split: str, data_home: Path, may_download: bool, /, *args: Any, **options: Any
    ) -> ImageSet:
        """Load a split from the set's folder in `data_home`, downloading it first if allowed."""


@dataclass(frozen=True)
class FileLayout(Generic[Content]):
    """One way in which the files of a data set may lie in its folder.

    Attributes
    ----------
    description : str
        For the error that lists the layouts.
    files : mapping of split to tuple of str
        Files or folders that must be there; a file may also end in ``.gz``.
    read : callable (folder, split) -> content
        Reads a folder that has them.
    """

    description: str
    files: Mapping[str, tuple[str, ...]]
    read: Callable[[Path, str], Content]

    def is_in(self, folder: Path, split: str) -> bool:
        """Whether a folder has all files of a split."""
        return all(find_file(folder, name).exists() for name in self.files[split])


@dataclass(frozen=True)
class PublishedFiles(Generic[Content]):
    """Where the files of a data set are, or can be downloaded.

    Attributes
    ----------
    folder : str
        Name of its folder in the data home.
    layouts : tuple of FileLayout
        Tried in this order.
    homepage : str
        Where a person gets the files.
    remotes : mapping of split to tuple of RemoteFile
        Files that can be downloaded; only those with a known checksum.
    """

    folder: str
    layouts: tuple[FileLayout[Content], ...]
    homepage: str
    remotes: Mapping[str, tuple[RemoteFile, ...]] = field(default_factory=dict)

    def read(self, split: str, data_home: Path, may_download: bool) -> Content:
        """Read a split from the first layout that is there; if there is none, download it.

        Raises
        ------
        MissingDataError
            There are no files and they cannot be downloaded.
        DownloadError
            The download failed.
        """
        folder = data_home / self.folder
        layout = self._find_layout(folder, split)
        if layout is None and may_download:
            try:
                for remote in self.remotes.get(split, ()):
                    download(remote, folder)
            except DownloadError as error:
                raise DownloadError(
                    error.path,
                    error.reason,
                    f"{error.suggestion}\n{self._how_to_get(folder, split)}",
                    url=error.url,
                    files=self._describe_layouts(split),
                ) from error
            layout = self._find_layout(folder, split)
        if layout is None:
            offer = "\nor pass download=True" if split in self.remotes else ""
            raise MissingDataError(
                folder,
                f"does not have the {split} files",
                self._how_to_get(folder, split) + offer,
                url=self.homepage,
                files=self._describe_layouts(split),
            )
        return layout.read(folder, split)

    def _find_layout(self, folder: Path, split: str) -> FileLayout[Content] | None:
        return next((layout for layout in self.layouts if layout.is_in(folder, split)), None)

    def _describe_layouts(self, split: str) -> list[str]:
        return [
            f"{layout.description}: {', '.join(layout.files[split])}" for layout in self.layouts
        ]

    def _how_to_get(self, folder: Path, split: str) -> str:
        choices = "\n".join(f"  - {files}" for files in self._describe_layouts(split))
        return (
            f"Get the files from {self.homepage} and put into {folder} (another data home: "
            f"data_home=..., or the environment variable {DATA_HOME_VARIABLE}) one of\n{choices}"
        )


def find_file(folder: Path, name: str) -> Path:
    """The file or folder of that name, or the file with ``.gz`` behind it if only that is there."""
    path, zipped = folder / name, folder / f"{name}.gz"
    return zipped if zipped.exists() and not path.exists() else path
