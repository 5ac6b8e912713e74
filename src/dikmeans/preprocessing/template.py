"""The template of photographs: what their subject looks like on average, and where it is in each.

It is learned by the algorithm of the package itself: K-means with one centroid, invariant to affine
maps, and then once more with a prior of typical maps (`dikmeans.kmeans.deformation_prior`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import ndimage

from dikmeans._typing import FloatArray
from dikmeans.kmeans.dataset import Dataset
from dikmeans.kmeans.deformation_prior import learn_deformation_prior
from dikmeans.kmeans.lloyd import descend
from dikmeans.kmeans.pose import to_mean_pose
from dikmeans.preprocessing.base import learning_indices, unit_norm_unless_negligible
from dikmeans.registration.batches import align_images
from dikmeans.registration.grid import Grid
from dikmeans.registration.measure import Measure
from dikmeans.registration.specification import MeasureSpec, is_precision

# Widths, as parts of a picture's longer side: of the window around the template, and of the
# neighborhoods whose mean is subtracted.
WINDOW_WIDTH, DETAIL_WIDTH = 1 / 4, 0.1
# It is learned from at most so many pictures, in at most so many iterations, or until the inertia
# falls by less than this share.
MAX_PICTURES, MAX_ITER, TOL = 300, 20, 1e-3
# A subject is no further from the middle than this part of a side, and no more than so many times
# as large as in the template.
FARTHEST, LARGEST = 0.25, 4.0
# No pixel of a template is brighter: it was learned from pictures of unit norm.
BRIGHTEST = 1e3


def fade_out(pictures: FloatArray, width: float) -> FloatArray:
    """Pictures (n, C, rows, columns) that fade out around the middle; `width` is in sides."""
    side = max(pictures.shape[2:])
    distances = [np.arange(n) - (n - 1) / 2 for n in pictures.shape[2:]]
    rows, columns = (np.exp(-0.5 * (d / (width * side)) ** 2) for d in distances)
    window: FloatArray = np.outer(rows, columns).astype(pictures.dtype)
    return pictures * window


def detail(pictures: FloatArray) -> FloatArray:
    """Pictures less their local mean, around the middle, at unit norm: as a template sees them."""
    sigma = DETAIL_WIDTH * max(pictures.shape[2:])
    local_mean = ndimage.gaussian_filter(pictures, (0, 0, sigma, sigma), mode="nearest")
    return unit_norm_unless_negligible(fade_out(pictures - local_mean, WINDOW_WIDTH), pictures)


@dataclass(frozen=True, eq=False)
class Template:
    """What is around the middle of pictures on average, and how it is typically moved.

    Attributes
    ----------
    picture : float32 array of shape (C, rows, columns)
        Less its local mean.
    precision : array of shape (1, 2 n_basis, 2 n_basis) or None
        Prior of the affine maps that move it; None if none was learned.
    """

    picture: FloatArray
    precision: FloatArray | None = None

    @classmethod
    def learn(cls, pictures: FloatArray) -> Self:
        """The template of pictures (n, C, rows, columns)."""
        few = pictures[learning_indices(len(pictures), MAX_PICTURES)]
        details = detail(few.astype(np.float32, copy=False))
        images, mean = Dataset.in_memory(details), details.mean(axis=0)
        measure = _measure(mean)
        first = images.assign(measure, mean[None])
        clustering = descend(images, measure, first, max_iter=MAX_ITER, tol=TOL)
        posed = to_mean_pose(images, measure, clustering)
        precision = learn_deformation_prior(images, measure, clustering)
        measure = _measure(mean, precision)
        second = images.assign(measure, posed)
        clustering = descend(images, measure, second, max_iter=MAX_ITER, tol=TOL)
        return cls(to_mean_pose(images, measure, clustering)[0], precision)

    def shifts(self, pictures: FloatArray) -> FloatArray:
        """Offset (rows, columns) of each picture's subject from the middle, in pixels: (n, 2)."""
        measure = _measure(self.picture, self.precision)
        fits = align_images(measure, detail(pictures), measure.bank(self.picture[None]))
        return _offsets(fits.deltas[:, 0].astype(np.float64), measure.warp.grid)

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise ValueError if it is no template of pictures of `shape` (C, rows, columns)."""
        picture = self.picture
        right = picture.shape == shape and picture.dtype == np.float32
        if not (right and np.isfinite(picture).all() and np.abs(picture).max() < BRIGHTEST):
            raise ValueError(f"the template should be finite numbers of shape {shape}")
        size = 2 * _measure(picture).n_basis
        if self.precision is not None and not is_precision(self.precision, (1, size, size)):
            raise ValueError("the prior of the template should be a positive definite matrix")


def _measure(template: FloatArray, precision: FloatArray | None = None) -> Measure:
    """The measure between pictures and the template, which is the one that is warped."""
    return MeasureSpec(warp="affine").build(template.shape[1:], precision)


def _offsets(maps: FloatArray, grid: Grid) -> FloatArray:
    """Where in each picture the middle of the template lies, in pixels from the picture's middle.

    `maps` (n, 2, n_basis) are affine, minus the identity: they lead from points of a picture to
    points of the template, p -> p + s + A p. The middle of the template, 0, is at
    p = -(1 + A)^-1 s.
    """
    live = list(grid.live_axes)
    matrices = np.eye(len(live)) + maps[:, live, 1:]
    # a template that is turned over or spread out lies nowhere
    plausible = np.linalg.det(matrices) > LARGEST**-2
    matrices[~plausible] = np.eye(len(live))
    offsets = np.zeros((len(maps), 2))
    solved = np.linalg.solve(matrices, maps[:, live, :1])[..., 0]
    offsets[:, live] = -solved * plausible[:, None]
    farthest = FARTHEST * np.array(grid.shape)
    return np.clip(offsets * grid.scale, -farthest, farthest)
