"""The template of photographs: what their subject looks like on average, and so where it is in each of them.

It is learned by the algorithm of the package itself: K-means with one centroid, blind to affine maps, and
then once more with the maps that have turned out to be usual (`dikmeans.kmeans.deformation_prior`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import ndimage

from dikmeans.registration import make_measure
from dikmeans.registration.batches import fit_images
from dikmeans.kmeans.pose import to_mean_pose
from dikmeans.kmeans.lloyd import lloyd
from dikmeans.preprocessing.base import representatives, scale_what_is_left
from dikmeans.kmeans.deformation_prior import is_precision, learn_deformation_prior
from dikmeans.kmeans.task import Task
from dikmeans.registration.grid import Grid

# Widths, as parts of a picture's longer side: of the window through which the template is seen, and of the
# neighbourhoods whose mean is taken away.
WINDOW_WIDTH, DETAIL_WIDTH = 1 / 4, 0.1
# It is learned from so many pictures, at most, in so many iterations, or until the distortion falls by less
# than this share.
ENOUGH, ITERATIONS, TOL = 300, 20, 1e-3
# A subject is no further from the middle than this part of a side, and no more than so many times as large as
# in the template.
FARTHEST, LARGEST = 0.25, 4.0
# No pixel of a template is brighter: it was learned from pictures of unit norm.
BRIGHTEST = 1e3


def around_the_middle(pictures: np.ndarray, width: float) -> np.ndarray:
    """Pictures (n, C, rows, columns) that fade out around the middle; `width`: as a part of a side."""
    side = max(pictures.shape[2:])
    from_middle = [np.arange(n) - (n - 1) / 2 for n in pictures.shape[2:]]
    fade_rows, fade_columns = (np.exp(-0.5 * (d / (width * side)) ** 2) for d in from_middle)
    return pictures * np.outer(fade_rows, fade_columns).astype(pictures.dtype)


def detail(pictures: np.ndarray) -> np.ndarray:
    """Pictures less their local mean, around the middle, at unit norm: as a template sees them."""
    sigma = DETAIL_WIDTH * max(pictures.shape[2:])
    local_mean = ndimage.gaussian_filter(pictures, (0, 0, sigma, sigma), mode="nearest")
    return scale_what_is_left(around_the_middle(pictures - local_mean, WINDOW_WIDTH), pictures)


@dataclass(frozen=True, eq=False)
class Template:
    """What is around the middle of pictures on average, and how it is usually moved.

    Attributes
    ----------
    picture : float32 array of shape (C, rows, columns)
        Less the local mean.
    stiffness : array of shape (1, 2 n_basis, 2 n_basis) or None
        Penalty of the affine maps that move it; None if no map is more usual than others.
    """

    picture: np.ndarray
    stiffness: np.ndarray | None = None

    @classmethod
    def learn(cls, pictures: np.ndarray) -> Self:
        """The template of pictures (n, C, rows, columns)."""
        few = pictures[representatives(len(pictures), ENOUGH)]
        seen = detail(few.astype(np.float32, copy=False))
        mean, weights = seen.mean(axis=0), np.ones(len(seen))
        task = Task(seen, weights, _measure(mean))
        here, _ = lloyd(task, task.assign(mean[None]), max_iter=ITERATIONS, tol=TOL)
        stiffness = learn_deformation_prior(task, here)
        task = Task(seen, weights, _measure(mean, stiffness))
        here, _ = lloyd(task, task.assign(to_mean_pose(task, here)), max_iter=ITERATIONS, tol=TOL)
        return cls(to_mean_pose(task, here)[0], stiffness)

    def shifts(self, pictures: np.ndarray) -> np.ndarray:
        """How far the subject of each picture is from the middle: (rows, columns) in pixels, shape (n, 2)."""
        measure = _measure(self.picture, self.stiffness)
        maps = fit_images(measure, detail(pictures), measure.bank(self.picture[None])).deltas[:, 0]
        return _places_of_the_middle(maps.astype(np.float64), measure.warp.grid)

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise ValueError if it is no template of pictures of `shape` (C, rows, columns)."""
        picture = self.picture
        right = picture.shape == shape and picture.dtype == np.float32
        if not (right and np.isfinite(picture).all() and np.abs(picture).max() < BRIGHTEST):
            raise ValueError(f"the template should be finite numbers of shape {shape}")
        size = 2 * _measure(picture).n_basis
        if self.stiffness is not None and not is_precision(self.stiffness, (1, size, size)):
            raise ValueError("the stiffness of the template should be a positive definite matrix")


def _measure(template: np.ndarray, stiffness: np.ndarray | None = None) -> Any:
    """The measure between pictures and the template, which is the one that moves."""
    return make_measure(template.shape[1:], warp="affine", stiffness=stiffness)


def _places_of_the_middle(maps: np.ndarray, grid: Grid) -> np.ndarray:
    """Where in each picture the middle of the template lies, in pixels from the middle of the picture.

    `maps` (n, 2, n_basis) are affine, less the identity: they lead from places of a picture to places of the
    template, p -> p + s + A p. The middle of the template, 0, is at p = -(1 + A)^-1 s.
    """
    live = list(grid.live_axes)
    matrices = np.eye(len(live)) + maps[:, live, 1:]
    upright = np.linalg.det(matrices) > LARGEST**-2  # a template turned over or spread out lies nowhere
    matrices[~upright] = np.eye(len(live))
    places = np.zeros((len(maps), 2))
    places[:, live] = -np.linalg.solve(matrices, maps[:, live, :1])[..., 0] * upright[:, None]
    farthest = FARTHEST * np.array(grid.shape)
    return np.clip(places * grid.scale, -farthest, farthest)
