"""The pictures of `understand/how-it-works`: one function per step."""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot as plt
from shared import BLUE, RED, digits, draw_grid, examples, model, row, show, show_signed

from dikmeans import align
from dikmeans.registration import make_warp
from dikmeans.registration.pyramid import build_pyramid, pyramid_grids


def pixels_are_not_enough():
    two, other = examples(2, 0, 5)
    three = examples(3, 0)[0]
    axes = row(5)
    show(axes[0], two, "a two")
    for axis, picture, name in ((axes[1], other, "another two"), (axes[3], three, "a three")):
        show(axis, picture, name)
    for axis, picture in ((axes[2], other), (axes[4], three)):
        difference = picture - two
        show_signed(axis, difference, "difference", f"squared: {(difference**2).sum():.2f}")


def a_warp():
    two, other = examples(2, 0, 5)
    found = align(two, other)
    axes = row(4)
    warp = make_warp("tps", (28, 28))
    landmarks = warp.identity * 14 + 13.5  # from the frame to pixels
    moved = found.parameters * 14 + 13.5
    show(axes[0], two, "target")
    axes[0].plot(landmarks[:, 1], landmarks[:, 0], "o", color=BLUE, markersize=4)
    show(axes[1], other, "template")
    axes[1].plot(landmarks[:, 1], landmarks[:, 0], "o", color=BLUE, markersize=3)
    axes[1].plot(moved[:, 1], moved[:, 0], "o", color=RED, markersize=4)
    for start, end in zip(landmarks, moved, strict=True):
        axes[1].plot([start[1], end[1]], [start[0], end[0]], color=RED, linewidth=0.8)
    show(axes[2], other, "where it is sampled")
    draw_grid(axes[2], found.grid)
    show(axes[3], found.warped, "template, warped")


def the_cost():
    two, other = examples(2, 0, 5)
    three = examples(3, 0)[0]
    grid = plt.subplots(2, 4, figsize=(8, 4), layout="constrained")[1]
    for axes, template, name in zip(grid, (other, three), ("a two", "a three"), strict=True):
        found = align(two, template)
        data = found.cost - found.bending_cost
        show(axes[0], template, name)
        show(axes[1], found.warped, "warped onto the two")
        show_signed(axes[2], found.residual, "what does not fit", f"{data:.3f}")
        axes[3].barh([0], [data], color=BLUE, label="does not fit")
        axes[3].barh([0], [found.bending_cost], left=[data], color=RED, label="bending")
        axes[3].set(xlim=(0, 0.6), yticks=[], title=f"cost {found.cost:.3f}")
        axes[3].spines[["top", "right", "left"]].set_visible(False)
    grid[0, 3].legend(frameon=False, fontsize=8)


def coarse_to_fine():
    two, other = examples(2, 0, 5)
    grids = pyramid_grids((28, 28))
    levels = [
        build_pyramid(picture[None, None].astype(np.float32), grids, "zero")
        for picture in (two, other)
    ]
    axes = row(6)
    for column, level in enumerate((1, 0)):
        name = ("low-pass", "sharp")[column]
        show(axes[2 * column], levels[0][level][0, 0], "target", name)
        show(axes[2 * column + 1], levels[1][level][0, 0], "template", name)
    for axis, warp in ((axes[4], "affine"), (axes[5], "tps")):
        found = align(two, other, warp=warp)
        show(axis, found.warped, {"affine": "affine map", "tps": "then spline"}[warp])
        axis.set_xlabel(f"cost {found.cost:.3f}")


def assignment():
    images, _ = digits()
    fitted = model()
    axes = row(7, width=9.5, height=2.1)
    number = int(np.argsort(fitted.assignment_.margins)[3])
    show(axes[0], images[number], "picture")
    costs = fitted.transform(images[[number]])[0]
    for cluster, axis in enumerate(axes[1:6]):
        found = fitted.align(images[[number]], labels=[cluster])[0]
        best = cluster == costs.argmin()
        show(axis, found.warped, f"centroid {cluster}", f"cost {costs[cluster]:.2f}")
        plt.setp(axis.spines.values(), color=RED if best else "0.85", linewidth=2 if best else 1)
    axes[6].barh(range(5), costs, color=[RED if c == costs.min() else "0.7" for c in costs])
    axes[6].invert_yaxis()
    axes[6].set(title="cost of each", yticks=range(5))


def centroid_update():
    images, _ = digits()
    fitted = model()
    prepared = fitted.preprocessing_.transform(images)
    members = np.flatnonzero(fitted.assignment_.prototypes == 0)
    aligned = fitted.align(images[members]).aligned
    axes = row(6)
    for axis, number in zip(axes[:3], members, strict=False):
        show(axis, prepared[number], "a member")
    show(axes[3], prepared[members].mean(axis=0), "plain mean", f"of {len(members)}")
    show(axes[4], aligned.mean(axis=0), "mean, aligned")
    show(axes[5], fitted.prototypes_[0], "prototype")


def typical_deformations():
    """What a cluster's prior calls cheap: the two cheapest directions of its warps."""
    fitted = model()
    axes = row(5)
    prototype = fitted.prototypes_[0]
    show(axes[0], prototype, "prototype")
    _, vectors = np.linalg.eigh(fitted.deformation_precision_[0])
    warp = make_warp("tps", (28, 28))
    for column, direction in enumerate((0, 1)):
        for side, sign in enumerate((-1, 1)):
            step = sign * 0.25 * vectors[:, direction] / np.abs(vectors[:, direction]).max()
            parameters = warp.identity + step.reshape(2, -1).T
            places = warp.coordinates(parameters) * 14 + 13.5
            show(axes[1 + 2 * column + side], _sampled(prototype, places))
            axes[1 + 2 * column + side].set_title(f"direction {direction + 1}, {'-+'[side]}")


def _sampled(picture: np.ndarray, places: np.ndarray) -> np.ndarray:
    from scipy.ndimage import map_coordinates

    return map_coordinates(picture, np.moveaxis(places, -1, 0), order=1)


def the_search():
    iterations = model().history_.iterations
    axis = plt.subplots(figsize=(8, 3), layout="constrained")[1]
    phases = list(dict.fromkeys(iteration.phase for iteration in iterations))
    for number, phase in enumerate(phases):
        steps = [i for i, iteration in enumerate(iterations) if iteration.phase == phase]
        each = [iterations[i].inertia / iterations[i].n_images for i in steps]
        axis.plot(steps, each, "-o", markersize=4, color=plt.cm.tab10(number), label=phase)
    axis.set(xlabel="iteration", ylabel="inertia per picture", ylim=(0, None))
    axis.legend(frameon=False, fontsize=8, ncols=2)
    axis.spines[["top", "right"]].set_visible(False)


def swap():
    """One digit has two centroids, another has none: Lloyd's algorithm cannot get out of it."""
    from dikmeans import DIKMeans, Search
    from dikmeans.evaluation import clustering_accuracy

    images, labels = digits()
    start = np.stack(
        [images[labels == digit][i] for digit, i in ((0, 0), (1, 0), (1, 3), (2, 0), (3, 0))]
    )
    stuck = DIKMeans(5, init=start, n_prototypes=1).fit(images)
    searched = DIKMeans(5, n_init=1, n_prototypes=1, random_state=0, search=Search(n_swaps=10)).fit(
        images
    )
    grid = plt.subplots(2, 5, figsize=(7, 3.2), layout="constrained")[1]
    for axes, fitted, name in zip(grid, (stuck, searched), ("from there", "searched"), strict=True):
        for cluster, axis in enumerate(axes):
            show(axis, fitted.cluster_centers_[cluster])
        accuracy = clustering_accuracy(labels, fitted.labels_)
        axes[0].set_ylabel(
            f"{name}\n{accuracy:.0%} right\ninertia {fitted.inertia_:.1f}", fontsize=8
        )


def prototypes():
    fitted = model()
    clusters = fitted.prototype_clusters_
    height = int(np.bincount(clusters).max())
    grid = plt.subplots(height, 5, figsize=(6, 1.3 * height), layout="constrained", squeeze=False)[
        1
    ]
    for cluster, column in enumerate(grid.T):
        numbers = np.flatnonzero(clusters == cluster)
        for axis in column[len(numbers) :]:
            axis.remove()
        for axis, number in zip(column, numbers, strict=False):
            show(axis, fitted.prototypes_[number], "", f"{fitted.prototype_weights_[number]:.0f}")
