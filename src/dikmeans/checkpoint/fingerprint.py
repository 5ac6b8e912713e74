"""What tells a fit from others (images, parameters, version), and how two fits differ."""

from __future__ import annotations

import json
from importlib.metadata import version

from dikmeans._typing import JSON, ImageShape
from dikmeans.kmeans.dataset import Dataset


def fingerprint_of(parameters: JSON, shape: ImageShape, dataset: Dataset) -> JSON:
    """Everything that shapes the result of a fit, as it comes back from JSON.

    Parameters
    ----------
    parameters : dict
        Those of the estimator that matter for the result.
    shape : tuple of int
        Of the images.
    dataset : Dataset
    """
    mark = {
        "dikmeans": version("dikmeans"),
        "image_shape": shape,
        "images": dataset.fingerprint(),
        "parameters": parameters,
    }
    decoded: JSON = json.loads(json.dumps(mark, default=lambda value: value.tolist()))
    return decoded


def differences(stored: JSON, current: JSON) -> list[str]:
    """In what two fingerprints differ, in words; empty if in nothing.

    Examples
    --------
    >>> images = {"n_images": 9, "dtype": "float32", "pixels": "ab", "weights": "cd"}
    >>> stored = {"dikmeans": "1", "image_shape": [8, 8], "images": images,
    ...           "parameters": {"n_clusters": 3}}
    >>> differences(stored, {**stored, "parameters": {"n_clusters": 4}})
    ['n_clusters was 3 and is 4']
    >>> differences(stored, {**stored, "images": {**images, "pixels": "ef"}})
    ['the images have other pixels']
    """
    changes = [
        f"{name} was {before!r} and is {now!r}"
        for name, before, now in _pairs(stored["parameters"], current["parameters"])
    ]
    if stored["dikmeans"] != current["dikmeans"]:
        changes.append(f"it was dikmeans {stored['dikmeans']} and is {current['dikmeans']}")
    return changes + _image_differences(stored, current)


def _image_differences(stored: JSON, current: JSON) -> list[str]:
    before, now = stored["images"], current["images"]
    if before["n_images"] != now["n_images"]:
        return [f"there were {before['n_images']} images and are {now['n_images']}"]
    if stored["image_shape"] != current["image_shape"]:
        shapes = (tuple(mark["image_shape"]) for mark in (stored, current))
        return ["the images were of shape {} and are {}".format(*shapes)]
    if before["dtype"] != now["dtype"]:
        return [f"the images were {before['dtype']} and are {now['dtype']}"]
    words = {"pixels": "the images have other pixels", "weights": "the images have other weights"}
    return [words.get(name, f"{name} of the images differs") for name, _, _ in _pairs(before, now)]


def _pairs(before: JSON, now: JSON) -> list[tuple[str, object, object]]:
    """Entries that differ, with both values; an entry that is missing counts as None."""
    return [
        (name, before.get(name), now.get(name))
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
