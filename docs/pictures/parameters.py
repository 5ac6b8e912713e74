"""The pictures of `understand/parameters`: what each parameter changes."""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot as plt
from scipy.ndimage import rotate, shift
from shared import draw_grid, examples, show

from dikmeans import align


def warp():
    two, other = examples(2, 0, 5)
    grid = plt.subplots(1, 5, figsize=(8.5, 2.1), layout="constrained")[1]
    show(grid[0], two, "target")
    show(grid[1], other, "template")
    for axis, name in zip(grid[2:], ("none", "affine", "tps"), strict=True):
        found = align(two, other, warp=name)
        show(axis, found.warped, f'warp="{name}"', f"cost {found.cost:.2f}")


def smoothness():
    two, other = examples(2, 0, 5)
    three = examples(3, 0)[0]
    values = (0.0, 0.03, 0.3, 3.0, 30.0)
    grid = plt.subplots(2, 6, figsize=(9, 3.3), layout="constrained")[1]
    for axes, template in zip(grid, (other, three), strict=True):
        show(axes[0], template, "template")
        for axis, value in zip(axes[1:], values, strict=True):
            found = align(two, template, smoothness=value)
            show(axis, found.warped, f"{value:g}", f"cost {found.cost:.2f}")


def landmarks():
    two, other = examples(2, 0, 5)
    grid = plt.subplots(2, 5, figsize=(8, 3.3), layout="constrained")[1]
    for column, number in enumerate((2, 3, 4, 6, 8)):
        found = align(two, other, landmarks=number)
        show(grid[0, column], found.warped, f"{number} x {number}", f"cost {found.cost:.2f}")
        show(grid[1, column], other)
        draw_grid(grid[1, column], found.grid)


def direction():
    two, other = examples(2, 0, 5)
    axes = plt.subplots(1, 4, figsize=(7, 2.1), layout="constrained")[1]
    show(axes[0], two, "image")
    show(axes[1], other, "centroid")
    for axis, name in zip(axes[2:], ("centroid-to-image", "image-to-centroid"), strict=True):
        found = align(two, other, direction=name)
        show(axis, found.warped, name, f"cost {found.cost:.2f}")
        axis.title.set_fontsize(8)


def orientation():
    four = np.pad(examples(4, 0)[0], 6)
    turned = rotate(four, 130, reshape=False, order=1)
    axes = plt.subplots(1, 4, figsize=(7, 2.1), layout="constrained")[1]
    show(axes[0], turned, "image")
    show(axes[1], four, "centroid")
    for axis, name in zip(axes[2:], ("upright", "any"), strict=True):
        found = align(turned, four, orientation=name)
        show(axis, found.warped, f'"{name}"', f"cost {found.cost:.2f}")


def starts():
    four = np.pad(examples(4, 0)[0], 6)
    axes = plt.subplots(1, 5, figsize=(8.5, 2.1), layout="constrained")[1]
    show(axes[0], four, "template")
    for column, moved in enumerate(
        (shift(four, (7, -8), order=1), rotate(four, 40, reshape=False, order=1))
    ):
        found = align(moved, four)
        show(axes[1 + 2 * column], moved, "target")
        show(axes[2 + 2 * column], found.warped, "template, warped", f"cost {found.cost:.2f}")


def intensity():
    two, other = examples(2, 0, 5)
    pale = 0.4 * two + 0.02
    contrast = ((pale - pale.mean()) ** 2).sum()
    axes = plt.subplots(1, 4, figsize=(7, 2.1), layout="constrained")[1]
    show(axes[0], pale, "image")
    show(axes[1], other, "centroid")
    for axis, name in zip(axes[2:], ("fixed", "affine"), strict=True):
        found = align(pale, other, intensity=name)
        cost = ((found.warped - pale) ** 2).sum() / contrast
        show(axis, found.warped, f'"{name}"', f"{cost:.0%} does not fit")
    for axis in axes:
        axis.images[0].set_clim(0, float(other.max()))
