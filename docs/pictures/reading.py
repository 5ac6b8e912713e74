"""The pictures of `understand/reading`: costs and margins of one fit."""

from __future__ import annotations

import numpy as np
from matplotlib import pyplot as plt
from shared import BLUE, RED, digits, model, show


def costs():
    images, _ = digits()
    assignment = model().assignment_
    order = np.argsort(assignment.costs)
    ranks = np.linspace(0, len(order) - 1, 8).round().astype(int)
    figure = plt.figure(figsize=(9, 4), layout="constrained")
    above, below = figure.subfigures(2, 1, height_ratios=[1.1, 1])
    axis = above.subplots()
    axis.hist(assignment.costs, bins=40, color=BLUE)
    axis.set(xlabel="cost of a picture in its cluster", ylabel="pictures")
    axis.spines[["top", "right"]].set_visible(False)
    for panel, rank in zip(below.subplots(1, 8), ranks, strict=True):
        show(panel, images[order[rank]], "", f"{assignment.costs[order[rank]]:.2f}")


def margins():
    _, labels = digits()
    fitted = model()
    assignment = fitted.assignment_
    majority = [np.bincount(labels[fitted.labels_ == k]).argmax() for k in range(5)]
    wrong = np.array(majority)[fitted.labels_] != labels
    axis = plt.subplots(figsize=(8, 3.2), layout="constrained")[1]
    for mask, color, name in ((~wrong, BLUE, "in its digit's cluster"), (wrong, RED, "in another")):
        axis.plot(assignment.costs[mask], assignment.margins[mask], "o", color=color,
                  markersize=4, alpha=0.7, label=f"{name} ({mask.sum()})")  # fmt: skip
    axis.set(xlabel="cost", ylabel="margin", ylim=(0, None))
    axis.legend(frameon=False)
    axis.spines[["top", "right"]].set_visible(False)


def doubtful():
    images, _ = digits()
    fitted = model()
    numbers = np.argsort(fitted.assignment_.margins)[:3]
    grid = plt.subplots(3, 3, figsize=(5, 5), layout="constrained")[1]
    for axes, number in zip(grid, numbers, strict=True):
        margin = fitted.assignment_.margins[number]
        show(axes[0], images[number], "picture", f"margin {margin:.3f}")
        costs = fitted.transform(images[[number]])[0]
        for axis, cluster in zip(axes[1:], np.argsort(costs)[:2], strict=True):
            found = fitted.align(images[[number]], labels=[cluster])[0]
            show(axis, found.warped, f"cluster {cluster}, bent", f"cost {costs[cluster]:.3f}")
