"""Fetch a published file once, verify it, and keep it; or say which file to put where."""

from __future__ import annotations

import hashlib
import http.client
import os
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dikmeans.datasets.errors import DownloadError
from dikmeans.datasets.files.progress import Progress
from dikmeans.io.atomic import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

_CHUNK_BYTES = 1 << 18


@dataclass(frozen=True)
class RemoteFile:
    """A published file: what it is called here, where it is, and what its bytes hash to.

    Attributes
    ----------
    name : str
        File name below the folder of its data set.
    url : str
        Where it is published.
    algorithm : str
        A name which `hashlib.new` knows. Publishers of old sets give MD5: it guards against a
        broken transfer.
    digest : str
        The checksum in hexadecimal.
    """

    name: str
    url: str
    algorithm: str
    digest: str


def fetch(remote: RemoteFile, folder: Path, timeout: float = 30.0) -> Path:
    """Download `remote` into `folder`, unless it is there already.

    An interrupted or wrong download leaves nothing behind.

    Parameters
    ----------
    remote : RemoteFile
        What to fetch.
    folder : pathlib.Path
        Where to put it.
    timeout : float, default=30
        Seconds of silence from the server after which to give up.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    DownloadError
        No network, no such file, no place to write, or a wrong checksum.
    """
    path = folder / remote.name
    if path.exists():
        return path
    by_hand = f"Get it by hand from {remote.url} and put it at {path}."
    checksum = hashlib.new(remote.algorithm, usedforsecurity=False)
    try:
        with (
            urllib.request.urlopen(remote.url, timeout=timeout) as response,
            atomic_write(path) as stream,
        ):
            length = response.headers.get("Content-Length")
            expected = int(length) if length and length.isdigit() else None
            with Progress(f"fetching {remote.name}", expected) as progress:
                while chunk := response.read(_CHUNK_BYTES):
                    stream.write(chunk)
                    checksum.update(chunk)
                    progress.advance(len(chunk))
            # Raised within the block, so that the wrong bytes never get the name.
            if checksum.hexdigest() != remote.digest:
                raise DownloadError(
                    f"{remote.url} does not have the published {remote.algorithm} checksum: "
                    f"expected {remote.digest}, got {checksum.hexdigest()} "
                    f"({progress.done:,} bytes). Nothing was kept. Try again, or: {by_hand}"
                )
    except DownloadError:
        raise
    except (OSError, http.client.HTTPException) as error:
        trouble = (
            f"cannot write to {folder}"
            if isinstance(error, PermissionError) and not os.access(folder, os.W_OK)
            else f"could not fetch {remote.url}"
        )
        raise DownloadError(f"{trouble}: {error}. {by_hand}") from error
    return path
