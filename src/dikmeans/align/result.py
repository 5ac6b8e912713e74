"""Alignments as values: everything there is to see about how pictures fit centroids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dikmeans.align.aligner import energies_of
from dikmeans.align.bulk import fit_images
from dikmeans.align.inverse import inverse_grid
from dikmeans.align.solvers import Status
from dikmeans.images import ImageShape, from_channels_first
from dikmeans.warp.basis import Warp


@dataclass(frozen=True)
class Alignment:
    """One image and one centroid, the one warped onto the other.

    Attributes
    ----------
    label : int
        The centroid's number.
    cost : float
        d(image, centroid), bending included.
    costs : array of shape (K,)
        The image's cost to every centroid.
    bending_cost : float
        The part of `cost` that the warp itself makes: smoothness times bending (and a trace of
        displacement, see `dikmeans.align.aligner`). The rest is the squared residual.
    parameters : array of shape (n_basis, 2)
        nu: of a spline, where each landmark goes, as (row, column) in the frame.
    warped : array
        The warped picture: the image, or with direction "centroid-to-image" the centroid.
    target : array
        The picture it was warped onto.
    residual : array
        `warped` minus `target`.
    grid : array of shape (rows, columns, 2)
        The deformed grid: for each pixel of `warped` the place, as (row, column) in pixels, of the
        original picture where its value comes from.
    aligned : array
        The image in the frame of its centroid: `warped`, or with direction "centroid-to-image" the image
        carried back by the inverse of the warp.
    aligned_grid : array of shape (rows, columns, 2)
        For each pixel of `aligned` its place in the image, as (row, column) in pixels.
    folded : float
        Share of pixels where the warp folds (its Jacobian determinant is not positive).
    status : Status
        How the search ended.
    """

    label: int
    cost: float
    costs: np.ndarray
    bending_cost: float
    parameters: np.ndarray
    warped: np.ndarray
    target: np.ndarray
    residual: np.ndarray
    grid: np.ndarray
    aligned: np.ndarray
    aligned_grid: np.ndarray
    folded: float
    status: Status


@dataclass(frozen=True)
class Alignments:
    """How N images fit K centroids, each aligned with its own; ``alignments[i]`` is one `Alignment`.

    Pictures, grids and the like are computed when asked for.

    Attributes
    ----------
    labels : int array of shape (N,)
    costs : array of shape (N, K)
    parameters : array of shape (N, n_basis, 2)
        Of the alignment of each image with its own centroid.
    status : int8 array of shape (N,)
        Values of `dikmeans.align.Status`.
    image, warped, target, residual, aligned : arrays of shape (N, rows, columns[, channels])
    grid, aligned_grid : arrays of shape (N, rows, columns, 2)
    folded, bending_cost : arrays of shape (N,)
    """

    labels: np.ndarray
    costs: np.ndarray
    parameters: np.ndarray
    status: np.ndarray
    _images: np.ndarray
    _centroids: np.ndarray
    _aligner: Any
    _shape: ImageShape

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Alignment]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Alignment:
        one = self.subset([range(len(self))[i]])  # renders this one only
        return Alignment(
            label=int(one.labels[0]),
            cost=float(one.cost[0]),
            costs=one.costs[0],
            bending_cost=float(one.bending_cost[0]),
            parameters=one.parameters[0],
            warped=one.warped[0],
            target=one.target[0],
            residual=one.residual[0],
            grid=one.grid[0],
            aligned=one.aligned[0],
            aligned_grid=one.aligned_grid[0],
            folded=float(one.folded[0]),
            status=Status(one.status[0]),
        )

    def subset(self, chosen: Any) -> Alignments:
        """The alignments at the indices `chosen` (a slice, a list, or a mask)."""
        return replace(
            self,
            labels=self.labels[chosen],
            costs=self.costs[chosen],
            parameters=self.parameters[chosen],
            status=self.status[chosen],
            _images=self._images[chosen],
        )

    def onto(self, labels: Any, *, n_jobs: int | None = None) -> Alignments:
        """The same images, each aligned with the centroid that `labels` names, be it the cheapest or not.

        Every such pair is refined to the end, and its entry in `costs` with it.

        Parameters
        ----------
        labels : int array of shape (N,)
            Numbers of centroids.
        n_jobs : int, optional
            Threads; -1 for all cores.
        """
        chosen = self._check_labels(labels)
        parameters, status, costs = self.parameters.copy(), self.status.copy(), self.costs.copy()
        for k in np.unique(chosen):
            rows = np.flatnonzero(chosen == k)
            bank = self._aligner.bank(self._centroids[k : k + 1], numbers=np.array([k]))
            fits = fit_images(self._aligner, self._images[rows], bank, n_jobs=n_jobs)
            parameters[rows] = self.warp.identity + np.swapaxes(fits.deltas[:, 0], 1, 2)
            status[rows], costs[rows, k] = fits.status[:, 0], fits.costs[:, 0]
        return replace(self, labels=chosen, costs=costs, parameters=parameters, status=status)

    def _check_labels(self, labels: Any) -> np.ndarray:
        chosen, k = np.asarray(labels), self.costs.shape[1]
        if chosen.shape != (len(self),) or chosen.dtype.kind not in "iu":
            raise ValueError(
                f"labels must name one centroid for each of the {len(self)} images, as whole numbers; got "
                f"{chosen.dtype} of shape {chosen.shape}."
            )
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < k:
            raise ValueError(
                f"labels must be from 0 to {k - 1}; got values from {chosen.min()} to {chosen.max()}."
            )
        return chosen.astype(np.int64)

    @property
    def warp(self) -> Warp:
        """The family of warps."""
        return self._aligner.warp

    @property
    def cost(self) -> np.ndarray:
        """Cost of each image to its own centroid."""
        return self.costs[np.arange(len(self)), self.labels]

    @cached_property
    def _deltas(self) -> np.ndarray:
        return np.swapaxes(self.parameters - self.warp.identity, 1, 2).astype(np.float32)

    @property
    def image(self) -> np.ndarray:
        """The images as the measure saw them: normalised, if the model does that."""
        return from_channels_first(self._images, self._shape)

    @cached_property
    def warped(self) -> np.ndarray:
        """The warped pictures."""
        image_warped = self._aligner.direction == "image-to-centroid"
        pictures = self._images if image_warped else self._centroids
        which = np.arange(len(self)) if image_warped else self.labels
        return from_channels_first(self._aligner.render(pictures, which, self._deltas), self._shape)

    @cached_property
    def target(self) -> np.ndarray:
        """What each was warped onto."""
        image_warped = self._aligner.direction == "image-to-centroid"
        pictures = self._centroids[self.labels] if image_warped else self._images
        return from_channels_first(pictures, self._shape)

    @cached_property
    def residual(self) -> np.ndarray:
        """Warped picture minus target."""
        return self.warped - self.target

    @cached_property
    def grid(self) -> np.ndarray:
        """Where, in pixels of the original, the pixels of the warped pictures come from."""
        return self.warp.grid.to_pixels(self.warp.coordinates(self.parameters))

    @cached_property
    def aligned_grid(self) -> np.ndarray:
        """Where, in pixels of the images, the pixels of `aligned` come from."""
        if self._aligner.direction == "image-to-centroid":
            return self.grid
        return inverse_grid(self.warp, self.parameters)

    @cached_property
    def aligned(self) -> np.ndarray:
        """The images in the frames of their centroids."""
        if self._aligner.direction == "image-to-centroid":
            return self.warped
        return from_channels_first(self._aligner.render_at(self._images, self.aligned_grid), self._shape)

    @cached_property
    def folded(self) -> np.ndarray:
        """Share of folded pixels of each warp."""
        determinants = self.warp.jacobian_determinant(self.parameters)
        return (determinants <= 0).mean(axis=(1, 2))

    @cached_property
    def bending_cost(self) -> np.ndarray:
        """Smoothness times bending of each alignment, as it stands in `cost`."""
        return self._aligner.penalty(self._deltas, self.labels) * energies_of(self._images)
