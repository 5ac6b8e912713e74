"""Where data lies on this machine: the data home and the per-user cache."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from dikmeans._typing import PathLike

DATA_HOME_VARIABLE = "DIKMEANS_DATA"


def user_cache() -> Path:
    """The cache folder of this library (``~/.cache/dikmeans`` on Linux); it need not exist yet."""
    return platformdirs.user_cache_path("dikmeans", appauthor=False)


def get_data_home(data_home: PathLike | None = None) -> Path:
    """The folder in which each data set has a folder of published files; it need not exist yet.

    Parameters
    ----------
    data_home : path, optional
        By default the environment variable ``DIKMEANS_DATA``, then the per-user cache.

    Examples
    --------
    >>> get_data_home("other/place").name
    'place'
    """
    if data_home is None:
        data_home = os.environ.get(DATA_HOME_VARIABLE) or user_cache()
    return Path(data_home).expanduser()
