"""Where data lies on this machine.

The published files live under the data home: the argument ``data_home``, else the environment
variable ``DIKMEANS_DATA``, else ``$XDG_CACHE_HOME/dikmeans`` (``~/.cache/dikmeans``). What is
computed from them goes to the folder ``derived`` of the per-user cache, never next to the
originals, which may be shared and read-only.
"""

from __future__ import annotations

import os
from pathlib import Path

ENVIRONMENT_VARIABLE = "DIKMEANS_DATA"


def user_cache() -> Path:
    """The per-user cache folder of this library, after the XDG base directory rules.

    Returns
    -------
    pathlib.Path
        The folder; it need not exist yet.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG rules say that a relative path is invalid and has to be ignored.
    root = Path(base) if os.path.isabs(base) else Path.home() / ".cache"
    return root / "dikmeans"


def resolve_data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder below which each data set has its own folder.

    Parameters
    ----------
    data_home : path, optional
        Wins over the environment variable ``DIKMEANS_DATA``, which wins over the per-user cache.

    Returns
    -------
    pathlib.Path
        The folder; it need not exist yet.

    Examples
    --------
    >>> resolve_data_home("somewhere/else").name
    'else'
    """
    chosen = data_home if data_home is not None else os.environ.get(ENVIRONMENT_VARIABLE) or None
    return Path(chosen).expanduser() if chosen is not None else user_cache()
