"""``pictures.safetensors``: the pictures of a run as they were compared, with their labels.

With them a run can be looked at even if the files it was made from have gone. Pictures of eight
bits, which those of files are, take one byte per value.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np

from dikmeans._typing import Array
from dikmeans.datasets import Card, ImageSet
from dikmeans.frames import Frame
from dikmeans.io.tensor_file import TensorFileError, read_tensor_file, write_tensor_file

FORMAT, VERSION = "dikmeans-pictures", 1
MAX_BYTES = 256_000_000
"""Larger sets are not kept: their files must stay where they are."""


def write_pictures(path: Path, images: ImageSet) -> bool:
    """Write the pictures of a set; False if they are too large to be kept."""
    tensors: dict[str, Array] = {"images": _compact(images.images)}
    if tensors["images"].nbytes > MAX_BYTES:
        return False
    if images.labels is not None:
        tensors["labels"] = images.labels.astype(np.int64)
    header = {
        "class_names": list(images.class_names),
        "card": asdict(images.card),
        "frame": images.frame,
        "kind": images.kind,
        "label_source": images.label_source,
    }
    write_tensor_file(path, FORMAT, VERSION, header, tensors)
    return True


def read_pictures(path: Path, names: tuple[str, ...]) -> ImageSet:
    """The pictures of a set with these names.

    Raises
    ------
    TensorFileError
        The file is damaged, or of other pictures.
    """
    header, tensors = read_tensor_file(path, FORMAT, VERSION, "file of pictures")
    try:
        images = tensors["images"]
        if images.dtype == np.uint8:
            images = images / np.float32(255)
        frame: Frame = "fit" if header["frame"] == "fit" else "stretch"
        class_names, card = tuple(map(str, header["class_names"])), Card(**header["card"])
        source = header["label_source"]
        return ImageSet(
            images,
            tensors.get("labels"),
            class_names,
            names,
            card,
            label_source=None if source is None else str(source),
            kind="sound" if header["kind"] == "sound" else "picture",
            frame=frame,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TensorFileError(
            path, f"it does not hold the pictures of the run ({error})"
        ) from error


def _compact(images: Array) -> Array:
    """Pictures as bytes, if they come back from them unchanged."""
    if images.min() < 0 or images.max() > 1:
        return images
    levels = np.rint(images * np.float32(255)).astype(np.uint8)
    return levels if np.array_equal(levels / np.float32(255), images) else images
