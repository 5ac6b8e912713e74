"""Alignments as values: everything there is to see about how pictures fit centroids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dikmeans.registration.warped_measure import energies_of
from dikmeans.registration.batches import fit_images
from dikmeans.registration.inverse import inverse_grid
from dikmeans.registration.solvers import Status
from dikmeans.images import ImageShape, from_channels_first
from dikmeans.registration.warps import Warp


def costs_of_clusters(costs: np.ndarray, clusters: np.ndarray) -> np.ndarray:
    """Costs (n, K) to clusters: each that of the cheapest of its forms.

    Parameters
    ----------
    costs : array of shape (n, M)
        To all forms.
    clusters : int array of shape (M,)
        The cluster of each form; ascending.

    Examples
    --------
    >>> costs_of_clusters(np.array([[5.0, 3.0, 4.0], [1.0, 2.0, 6.0]]), np.array([0, 0, 1]))
    array([[3., 4.],
           [1., 6.]])
    """
    _, first = np.unique(clusters, return_index=True)
    return np.minimum.reduceat(costs, first, axis=1)


@dataclass(frozen=True)
class Alignment:
    """One image and one centroid, the one warped onto the other.

    Attributes
    ----------
    label : int
        The cluster's number.
    form : int
        The number of the picture, among the forms of all clusters, that it is aligned with: the centroid.
        Where each cluster has but one, it is the cluster's number.
    cost : float
        d(image, centroid), bending included.
    costs : array of shape (K,)
        The image's cost to every cluster: to the cheapest of its forms.
    bending_cost : float
        The part of `cost` that the warp itself makes: smoothness times bending (and a trace of
        displacement, see `dikmeans.registration.warped_measure`). The rest is the squared residual.
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
    form: int
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
    """How N images fit K clusters, each aligned with its own; ``alignments[i]`` is one `Alignment`.

    A cluster is one picture, its centroid, or several, its forms: M pictures in all.

    Pictures, grids and the like are computed when asked for.

    Attributes
    ----------
    forms : int array of shape (N,)
        The picture that each image is aligned with.
    form_costs : array of shape (N, M)
        Costs to all of them.
    labels : int array of shape (N,)
        Clusters.
    costs : array of shape (N, K)
        Costs to clusters: to the cheapest of their forms.
    parameters : array of shape (N, n_basis, 2)
        Of the alignment of each image with its own centroid.
    status : int8 array of shape (N,)
        Values of `dikmeans.registration.Status`.
    image, warped, target, residual, aligned : arrays of shape (N, rows, columns[, channels])
    grid, aligned_grid : arrays of shape (N, rows, columns, 2)
    folded, bending_cost : arrays of shape (N,)
    """

    forms: np.ndarray
    form_costs: np.ndarray
    parameters: np.ndarray
    status: np.ndarray
    _images: np.ndarray
    _centroids: np.ndarray
    _clusters: np.ndarray
    _measure: Any
    _shape: ImageShape

    def __len__(self) -> int:
        return len(self.forms)

    def __iter__(self) -> Iterator[Alignment]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Alignment:
        one = self.subset([range(len(self))[i]])  # renders this one only
        return Alignment(
            label=int(one.labels[0]),
            form=int(one.forms[0]),
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
            forms=self.forms[chosen],
            form_costs=self.form_costs[chosen],
            parameters=self.parameters[chosen],
            status=self.status[chosen],
            _images=self._images[chosen],
        )

    def onto(self, labels: Any, *, n_jobs: int | None = None) -> Alignments:
        """The same images, each aligned with the cluster that `labels` names, be it the cheapest or not.

        With the cheapest of its forms: all of them are refined to the end, and their costs with them.

        Parameters
        ----------
        labels : int array of shape (N,)
            Numbers of clusters.
        n_jobs : int, optional
            Threads; -1 for all cores.
        """
        chosen = self._check_labels(labels)
        forms, costs = self.forms.copy(), self.form_costs.copy()
        parameters, status = self.parameters.copy(), self.status.copy()
        for k in np.unique(chosen):
            rows, numbers = np.flatnonzero(chosen == k), np.flatnonzero(self._clusters == k)
            bank = self._measure.bank(self._centroids[numbers], numbers=numbers)
            fits = fit_images(self._measure, self._images[rows], bank, n_jobs=n_jobs)
            cheapest = fits.costs.argmin(axis=1)
            own = np.arange(len(rows)), cheapest
            parameters[rows] = self.warp.identity + np.swapaxes(fits.deltas[own], 1, 2)
            forms[rows], status[rows] = numbers[cheapest], fits.status[own]
            costs[np.ix_(rows, numbers)] = fits.costs
        return replace(self, forms=forms, form_costs=costs, parameters=parameters, status=status)

    def _check_labels(self, labels: Any) -> np.ndarray:
        chosen, k = np.asarray(labels), self.costs.shape[1]
        if chosen.shape != (len(self),) or chosen.dtype.kind not in "iu":
            raise ValueError(
                f"labels must name one cluster for each of the {len(self)} images, as whole numbers; got "
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
        return self._measure.warp

    @property
    def labels(self) -> np.ndarray:
        """The cluster of each image."""
        return self._clusters[self.forms]

    @cached_property
    def costs(self) -> np.ndarray:
        """Costs to all clusters."""
        return costs_of_clusters(self.form_costs, self._clusters)

    @property
    def cost(self) -> np.ndarray:
        """Cost of each image to its own centroid."""
        return self.form_costs[np.arange(len(self)), self.forms]

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
        image_warped = self._measure.direction == "image-to-centroid"
        pictures = self._images if image_warped else self._centroids
        which = np.arange(len(self)) if image_warped else self.forms
        return from_channels_first(self._measure.render(pictures, which, self._deltas), self._shape)

    @cached_property
    def target(self) -> np.ndarray:
        """What each was warped onto."""
        image_warped = self._measure.direction == "image-to-centroid"
        pictures = self._centroids[self.forms] if image_warped else self._images
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
        if self._measure.direction == "image-to-centroid":
            return self.grid
        return inverse_grid(self.warp, self.parameters)

    @cached_property
    def aligned(self) -> np.ndarray:
        """The images in the frames of their centroids."""
        if self._measure.direction == "image-to-centroid":
            return self.warped
        return from_channels_first(self._measure.render_at(self._images, self.aligned_grid), self._shape)

    @cached_property
    def folded(self) -> np.ndarray:
        """Share of folded pixels of each warp."""
        determinants = self.warp.jacobian_determinant(self.parameters)
        return (determinants <= 0).mean(axis=(1, 2))

    @cached_property
    def bending_cost(self) -> np.ndarray:
        """Smoothness times bending of each alignment, as it stands in `cost`."""
        return self._measure.penalty(self._deltas, self.forms) * energies_of(self._images)
