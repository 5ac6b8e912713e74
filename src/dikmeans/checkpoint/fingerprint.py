"""What tells a fit from others: images, parameters and version; and in words, how two fits differ."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from dikmeans.io.parameters import parameters_as_json, plain
from dikmeans.kmeans.population import digest
from dikmeans.kmeans.run import Plan

# Do not show in the result; of `image_shape`, the shape that came of it does.
_IRRELEVANT = ("n_jobs", "verbose", "image_shape")


def fingerprint_of(model: Any, plan: Plan, population: Any, seeds: Sequence[int]) -> dict[str, Any]:
    """Everything that shapes the result of a fit, as it comes back from JSON.

    Parameters
    ----------
    model : DIKMeans
        With its parameters, and the shape of the images.
    plan : Plan
        Of its runs.
    population : Population or ShardedPopulation
    seeds : sequence of int
        Of the runs.
    """
    parameters = {name: value for name, value in parameters_as_json(model).items() if name not in _IRRELEVANT}
    if plan.given:
        parameters["init"] = f"pictures {digest(plan.init)}"
    if isinstance(model.random_state, np.random.RandomState):
        parameters["random_state"] = f"a generator, about to draw {seeds[0]}"
    mark = {
        "dikmeans": version("dikmeans"),
        "image_shape": model.image_shape_,
        "images": population.fingerprint(),
        "parameters": parameters,
    }
    return json.loads(json.dumps(mark, default=plain))


def differences(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    """In what two fingerprints differ, in words; empty if in nothing.

    Examples
    --------
    >>> images = {"shape": [9, 1, 8, 8], "dtype": "float32", "pixels": "ab", "weights": "cd"}
    >>> there = {"dikmeans": "1", "image_shape": [8, 8], "images": images, "parameters": {"n_clusters": 3}}
    >>> differences(there, {**there, "parameters": {"n_clusters": 4}})
    ['n_clusters was 3 and is 4']
    >>> differences(there, {**there, "images": {**images, "pixels": "ef"}})
    ['the images have other pixels']
    """
    found = [
        f"{name} was {before!r} and is {now!r}"
        for name, before, now in _pairs(there["parameters"], here["parameters"])
    ]
    if there["dikmeans"] != here["dikmeans"]:
        found.append(f"it was dikmeans {there['dikmeans']} and is {here['dikmeans']}")
    return found + _differences_of_images(there, here)


def _differences_of_images(there: dict[str, Any], here: dict[str, Any]) -> list[str]:
    before, now = there["images"], here["images"]
    if before["shape"][0] != now["shape"][0]:
        return [f"there were {before['shape'][0]} images and are {now['shape'][0]}"]
    if there["image_shape"] != here["image_shape"]:
        return [
            f"the images were of shape {tuple(there['image_shape'])} and are {tuple(here['image_shape'])}"
        ]
    if before["dtype"] != now["dtype"]:
        return [f"the images were {before['dtype']} and are {now['dtype']}"]
    words = {"pixels": "the images have other pixels", "weights": "the images have other weights"}
    return [words.get(name, f"{name} of the images differs") for name, _, _ in _pairs(before, now)]


def _pairs(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    """Entries that differ, with both values; an entry that is missing counts as None."""
    return [
        (name, before.get(name), now.get(name))
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]
