"""What the scripts of the pictures share: digits, one model of some of them, and panels."""

from __future__ import annotations

from functools import cache

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from dikmeans import DIKMeans
from dikmeans.demo import load_digits

RED, BLUE = "#c1440e", "#1d6fa5"


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Some 240 digits from 0 to 4, 28 x 28, and their labels."""
    some = load_digits(480, seed=0)
    chosen = some.labels < 5
    return some.images[chosen], some.labels[chosen]


@cache
def model() -> DIKMeans:
    """Five clusters of them, with all defaults but one run."""
    return DIKMeans(5, n_init=1, random_state=0).fit(digits()[0])


def examples(digit: int, *numbers: int) -> np.ndarray:
    """Pictures of one digit, at unit norm: a cost of 1 is no better than an empty picture."""
    images, labels = digits()
    pictures = images[labels == digit][list(numbers)]
    return pictures / np.linalg.norm(pictures, axis=(1, 2), keepdims=True)


def show(axis: Axes, picture: np.ndarray, title: str = "", below: str = "") -> None:
    """A picture, dark on white, without ticks."""
    axis.imshow(picture, cmap="gray_r", vmin=min(0.0, float(picture.min())))
    axis.set(title=title, xlabel=below, xticks=[], yticks=[])
    plt.setp(axis.spines.values(), color="0.85")


def show_signed(axis: Axes, picture: np.ndarray, title: str = "", below: str = "") -> None:
    """A difference: red where there is too much, blue where there is too little."""
    largest = float(np.abs(picture).max())
    axis.imshow(picture, cmap="RdBu_r", vmin=-largest, vmax=largest)
    axis.set(title=title, xlabel=below, xticks=[], yticks=[])
    plt.setp(axis.spines.values(), color="0.85")


def draw_grid(axis: Axes, grid: np.ndarray, every: int = 3) -> None:
    """The lines of a deformed grid (rows, columns, 2) over a picture."""
    for lines in (grid[::every], grid[:, ::every].swapaxes(0, 1)):
        for line in lines:
            axis.plot(line[:, 1], line[:, 0], color=RED, linewidth=0.7)


def row(n: int, width: float = 9.0, height: float = 2.2) -> list[Axes]:
    """A figure of `n` panels side by side."""
    return list(plt.subplots(1, n, figsize=(width, height), layout="constrained")[1])
