"""Arrays computed from data once and kept in the per-user cache as ``.npy`` files.

The name of a file is a digest of everything the array depends on, so a change of source, parameter
or version is computed anew. A cache that cannot be read or written is logged and ignored.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable

import numpy as np

from dikmeans._typing import JSON, IntArray
from dikmeans.datasets.files.npy import read_npy
from dikmeans.datasets.files.paths import user_cache
from dikmeans.io.atomic import atomic_write

logger = logging.getLogger(__name__)


def derived_array(
    name: str, depends_on: JSON, compute: Callable[[], IntArray], shape: tuple[int, ...]
) -> IntArray:
    """The array that `compute` returns, read from the cache if it was computed before.

    Parameters
    ----------
    name : str
        A readable start of the file's name.
    depends_on : dict of JSON values
        Everything the result depends on.
    compute : callable
        Computes the array of bytes (uint8).
    shape : tuple of int
        Shape of the array; a cached array of another shape is computed anew.
    """
    digest = hashlib.sha256(json.dumps(depends_on, sort_keys=True).encode()).hexdigest()[:20]
    path = user_cache() / "derived" / f"{name}-{digest}.npy"
    try:
        with path.open("rb") as stream:
            cached = read_npy(stream, path.stat().st_size)
        if cached.shape == shape and cached.dtype == np.uint8:
            return cached
        logger.warning("%s does not hold the expected array; computing anew", path)
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
