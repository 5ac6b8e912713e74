"""Files of alignments: how images fit all centroids, as it is kept on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dikmeans.registration.warped_measure import Fits
from dikmeans.io.tensor_file import TensorFileError, read_tensor_file, write_tensor_file, write_tensors

FORMAT, VERSION = "dikmeans-state", 1
_TYPES = {"costs": np.float64, "deltas": np.float32, "status": np.int8}


def write_fits(path: Path, fits: Fits) -> None:
    """Keep alignments in a file: whole or absent, and flushed to the disk."""
    write_tensor_file(path, FORMAT, VERSION, {}, fits._asdict())


def put_aside(path: Path, fits: Fits) -> None:
    """Write alignments that need not outlive the process: the same file, but nobody waits for the disk."""
    with open(path, "xb") as stream:
        write_tensors(stream, FORMAT, VERSION, {}, fits._asdict())


def read_fits(path: Path, shape: tuple[int, int] | None = None) -> Fits:
    """Alignments from a file.

    Parameters
    ----------
    path : pathlib.Path
    shape : tuple of int, optional
        The numbers of images and centroids that are expected.

    Raises
    ------
    TensorFileError
        The file is damaged, or holds something else.
    """
    _, tensors = read_tensor_file(path, FORMAT, VERSION, "state of a fit")
    expected = tensors["costs"].shape[:2] if shape is None and "costs" in tensors else shape
    if set(tensors) != set(_TYPES) or any(
        tensors[field].shape[:2] != expected or tensors[field].dtype != kind for field, kind in _TYPES.items()
    ):
        wanted = "" if shape is None else f" of {shape[0]} images with {shape[1]} centroids"
        raise TensorFileError(f"{path} does not hold the alignments{wanted}.")
    return Fits(**tensors)
