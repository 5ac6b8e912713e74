"""Arrays computed from data once and kept in the per-user cache, as plain ``.npy`` files.

The name of a file is a digest of everything the array depends on, so a change of source, parameter
or version computes anew and nothing is ever out of date. A cache is a convenience: one that cannot
be read or written is logged and worked around.
"""

from __future__ import annotations

import hashlib
import json
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from dikmeans.datasets.files.home import user_cache
from dikmeans.datasets.files.npy import read_npy
from dikmeans.io.atomic import atomic_write

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

logger = logging.getLogger(__name__)


def derived_array(
    name: str,
    depends_on: Mapping[str, Any],
    compute: Callable[[], NDArray[np.uint8]],
    shape: tuple[int, ...],
) -> NDArray[np.uint8]:
    """The array `compute` returns, from the cache if it was computed before.

    Parameters
    ----------
    name : str
        A readable start of the file's name.
    depends_on : mapping of JSON values
        Everything the result depends on.
    compute : callable
        Makes the array of bytes.
    shape : tuple of int
        What the array must look like; a cached file which does not is computed anew.

    Returns
    -------
    ndarray of uint8
    """
    digest = hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()[:20]
    path = user_cache() / "derived" / f"{name}-{digest}.npy"
    try:
        with path.open("rb") as stream:
            cached = read_npy(stream, path.stat().st_size)
        if cached.shape == shape and cached.dtype == np.uint8:
            return cached
        logger.warning("%s is not what was stored there (%s); computing anew", path, cached.shape)
    except FileNotFoundError:
        pass
    except Exception as error:  # damaged bytes make readers raise nearly anything
        logger.warning("%s cannot be read (%s); computing anew", path, error)
    computed = compute()
    try:
        with atomic_write(path) as stream:
            np.save(stream, computed, allow_pickle=False)
    except OSError as error:
        logger.warning("%s cannot be written (%s); going on without", path, error)
    return computed
