"""The slow, obvious versions of the compiled loops: the specification of what those compute.

All of it is plain NumPy in double precision.
"""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from dikmeans.registration.intensity import GAIN_WEIGHT
from dikmeans.registration.sampling import PADDING

# What scipy calls the two ways to continue a picture.
SCIPY_MODES = {"zero": "grid-constant", "edge": "nearest"}


def locate(sampler, delta):
    """Coordinates (2, n_pixels) in the padded template: base + scale * delta Phi."""
    phi, base, scale = (
        np.asarray(a, dtype=float) for a in (sampler.phi, sampler.base, sampler.scale)
    )
    return base + scale[:, None] * (np.asarray(delta, dtype=float) @ phi)


def split(sampler, coordinates):
    """Upper left neighbors (as flat indices) and fractions (2, n_pixels), after clamping."""
    clamped = np.clip(coordinates, 0.0, sampler.limit.astype(float)[:, None])
    corner = np.floor(clamped)
    cells = (corner[0] * sampler.width + corner[1]).astype(int)
    return cells, clamped - corner


def gather(template, width, cells):
    """The four neighbors of each cell: itself, right, below, below right."""
    return np.stack([template[cells + step] for step in (0, 1, width, width + 1)])


def blend(corners, fractions):
    """Bilinear interpolation, weight by weight."""
    y, x = fractions
    weights = np.stack([(1 - y) * (1 - x), (1 - y) * x, y * (1 - x), y * x])
    return (weights * corners).sum(axis=0)


def slopes_of(corners, fractions):
    """Derivative of the bilinear interpolation along rows and columns, (2, n_pixels)."""
    (y, x), (a, b, c, d) = fractions, corners
    return np.stack([(1 - x) * (c - a) + x * (d - b), (1 - y) * (b - a) + y * (d - c)])


def evaluate(problem, pairs, pair, delta):
    """Cost and gradient of one pair, from the formula in `dikmeans.registration.objective`."""
    sampler, gain = problem.sampler, float(pairs.gain[pair])
    penalty = problem.penalties[pairs.centroid_of[pair]].astype(float)
    delta = np.asarray(delta, dtype=float)
    template = pairs.templates[pairs.template_of[pair]].astype(float)
    target = pairs.targets[pairs.target_of[pair]].astype(float)
    cells, fractions = split(sampler, locate(sampler, delta))
    cost, pull = 0.0, np.zeros((2, target.shape[1]))
    for channel, wanted in zip(template, target, strict=True):
        corners = gather(channel, sampler.width, cells)
        if pairs.template_norms.size:
            value = blend(corners, fractions)
            inner = channel.reshape(-1, sampler.width)[PADDING:-PADDING, PADDING:-PADDING]
            factor, offset, squares = matched(value, inner, wanted)
            cost += gain * squares
            difference = factor * (factor * value + offset - wanted)
        else:
            difference = blend(corners, fractions) - wanted
            cost += gain * (difference**2).sum()
        pull += gain * difference * slopes_of(corners, fractions)
    phi, scale = sampler.phi.astype(float), sampler.scale.astype(float)
    gradient = 2 * scale[:, None] * (pull @ phi.T) + 2 * (penalty @ delta.ravel()).reshape(
        delta.shape
    )
    return cost + delta.ravel() @ penalty @ delta.ravel(), gradient


def standardized(pictures):
    """Channels of pictures (n, C, rows, columns) at mean zero, norms equal, squares adding to 1."""
    pictures = np.asarray(pictures, dtype=float)
    centered = pictures - pictures.mean(axis=(2, 3), keepdims=True)
    norms = np.linalg.norm(centered, axis=(2, 3), keepdims=True)
    return centered / norms / np.sqrt(pictures.shape[1])


def matched(warped, template, target):
    """Gain, offset and cost of one channel: least squares with one more equation for the gain.

    All three are pictures; the last equation asks for the contrast of the target.
    """
    warped, template, target = (np.ravel(a).astype(float) for a in (warped, template, target))
    weight = np.sqrt(GAIN_WEIGHT)
    contrasts = [np.linalg.norm(a - a.mean()) for a in (template, target)]
    equations = np.stack([warped, np.ones_like(warped)], axis=1)
    equations = np.vstack([equations, [weight * contrasts[0], 0]])
    wanted = np.append(target, weight * contrasts[1])
    (gain, offset), *_ = np.linalg.lstsq(equations, wanted)
    if gain < 0:
        gain, offset = 0.0, target.mean()
    return gain, offset, ((equations @ [gain, offset] - wanted) ** 2).sum()


def finite_differences(function, delta, step=1e-6):
    """Central differences of a function of `delta`, entry by entry."""
    gradient = np.zeros(delta.shape)
    for index in np.ndindex(*delta.shape):
        move = np.zeros(delta.shape)
        move[index] = step
        gradient[index] = (function(delta + move) - function(delta - move)) / (2 * step)
    return gradient


def adam(problem, pairs, pair, start, rate, steps):
    """Adam as its authors write it (Kingma and Ba 2015, algorithm 1); the best point it visits."""
    current = np.array(start, dtype=float)
    best, gradient = evaluate(problem, pairs, pair, current)
    best_point = current
    mean, square = np.zeros(current.shape), np.zeros(current.shape)
    for t in range(1, steps + 1):
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        current = current - rate * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
        cost, gradient = evaluate(problem, pairs, pair, current)
        if cost < best:
            best, best_point = cost, current
    return best, best_point


def bfgs_inverse(inverse, steps, changes):
    """The inverse Hessian after BFGS updates with the given steps, oldest first, as a matrix."""
    matrix = np.array(inverse, dtype=float)
    for s, y in zip(np.asarray(steps, dtype=float), np.asarray(changes, dtype=float), strict=True):
        rho = 1 / (s @ y)
        left = np.eye(len(s)) - rho * np.outer(s, y)
        matrix = left @ matrix @ left.T + rho * np.outer(s, s)
    return matrix


def render(picture, pixels, border):
    """A picture (rows, columns) at the fractional pixel indices (..., 2), by scipy."""
    if border == "rim":
        outside = edge_mean(picture)
        return outside + render(np.asarray(picture) - outside, pixels, "zero")
    return ndimage.map_coordinates(
        np.asarray(picture, dtype=float),
        np.moveaxis(pixels, -1, 0),
        order=1,
        mode=SCIPY_MODES[border],
    )


def edge_mean(picture):
    """Mean of the pixels on the edge of a picture of several rows; of a signal, of its ends."""
    rows, columns = np.shape(picture)
    edge = [
        picture[i][j]
        for i in range(rows)
        for j in range(columns)
        if (rows > 3 and i in (0, rows - 1)) or (columns > 3 and j in (0, columns - 1))
    ]
    return np.mean(edge)


def warp_matrix(warp, delta, border):
    """Warping as a matrix W (n_pixels, n_pixels): column j is pixel j alone, warped."""
    parameters = warp.identity + np.asarray(delta, dtype=float).T
    pixels = warp.grid.to_pixels(warp.coordinates(parameters))
    n = warp.grid.n_pixels
    alone = np.eye(n).reshape(n, *warp.grid.shape)
    return np.stack([render(picture, pixels, border).ravel() for picture in alone], axis=1)


def pad_sides(shape):
    """Rows and columns of a padded picture."""
    return tuple(n + 2 * PADDING for n in shape)


def clustering_accuracy(truth, labels):
    """Share of images on the diagonal of the best one-to-one matching of classes and clusters."""
    classes, of_truth = np.unique(truth, return_inverse=True)
    clusters, of_labels = np.unique(labels, return_inverse=True)
    counts = np.zeros((len(classes), len(clusters)))
    np.add.at(counts, (of_truth, of_labels), 1)
    return counts[linear_sum_assignment(-counts)].sum() / len(of_truth)
