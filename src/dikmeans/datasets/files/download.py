"""Download published files once, verified by their checksums."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dikmeans.datasets.errors import DownloadError
from dikmeans.datasets.files.progress import download_progress
from dikmeans.errors import MissingExtraError

_RETRIES = 1
_CHUNK_BYTES = 1 << 18
_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class RemoteFile:
    """A published file.

    Attributes
    ----------
    name : str
        File name below the folder of its data set.
    url : str
        Where it is published.
    checksum : str
        Algorithm and hexadecimal digest, ``md5:...`` or ``sha256:...``. Publishers of old data
        sets give MD5, which guards against a broken transfer.
    """

    name: str
    url: str
    checksum: str


def download(remote: RemoteFile, folder: Path) -> Path:
    """Download a file into a folder, unless it is there already, and return its path.

    A failed or interrupted download leaves nothing behind.

    Raises
    ------
    DownloadError
        No network, no such file, no permission to write, or a wrong checksum.
    MissingExtraError
        The library pooch is not installed.
    """
    path = folder / remote.name
    if path.exists():
        return path
    try:
        import pooch
    except ImportError as error:
        purpose = f"Downloading {remote.url} to {path}"
        raise MissingExtraError("pooch", "datasets", purpose) from error

    pooch.get_logger().setLevel("WARNING")  # by default it announces every download
    files = pooch.create(
        path=folder,
        base_url="",
        registry={remote.name: remote.checksum},
        urls={remote.name: remote.url},
        retry_if_failed=_RETRIES,
    )
    try:
        with download_progress(remote.name) as progress:
            downloader = pooch.HTTPDownloader(
                progressbar=progress, chunk_size=_CHUNK_BYTES, timeout=_TIMEOUT_SECONDS
            )
            files.fetch(remote.name, downloader=downloader)
    except (OSError, ValueError) as error:  # pooch reports a wrong checksum as a ValueError
        raise DownloadError(
            path,
            f"could not be downloaded from {remote.url}: {error}",
            f"Get it by hand from {remote.url} and put it at {path}.",
            url=remote.url,
        ) from error
    path.chmod(0o644)  # pooch makes files private, but a data home may be shared
    return path
