"""Alignments as values: everything there is to see about how pictures fit centroids."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dikmeans._typing import ArrayLike, FloatArray, ImageShape, IntArray
from dikmeans.images import from_channels_first
from dikmeans.registration.batches import align_images
from dikmeans.registration.intensity import Match
from dikmeans.registration.inverse import inverse_grid
from dikmeans.registration.measure import Measure
from dikmeans.registration.solvers import Status
from dikmeans.registration.warps import Warp


def cluster_costs(costs: FloatArray, clusters: IntArray) -> FloatArray:
    """Costs (n, K) to clusters: each that of the cheapest of its prototypes.

    Parameters
    ----------
    costs : array of shape (n, M)
        Costs to all prototypes.
    clusters : int array of shape (M,)
        The cluster of each prototype; ascending.

    Examples
    --------
    >>> cluster_costs(np.array([[5.0, 3.0, 4.0], [1.0, 2.0, 6.0]]), np.array([0, 0, 1]))
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
    prototype : int
        The number, among the prototypes of all clusters, of the picture it is aligned with. Where
        every cluster has one prototype, it is the cluster's number.
    cost : float
        d(image, centroid), bending included.
    costs : array of shape (K,)
        The image's cost to every cluster: to the cheapest of its prototypes.
    bending_cost : float
        The part of `cost` that the warp itself makes: smoothness times bending (and a trace of
        displacement, see `dikmeans.registration.warped_measure`). The rest is the squared residual.
    parameters : array of shape (n_basis, 2)
        nu: of a spline, where each landmark goes, as (row, column) in the frame.
    orientation : array of shape (2, 2)
        The turn, or turn and reflection, that comes before the warp: the image is compared as
        x(orientation p). The identity unless the measure was asked for any orientation. All maps
        and pictures below include it.
    warped : array
        The warped picture: the image, or with direction "centroid-to-image" the centroid; with the
        gain and offset of each channel.
    target : array
        The picture it was warped onto.
    residual : array
        `warped` minus `target`.
    gain, offset : arrays of shape (channels,)
        What the warped picture was multiplied by, and what was added then: 1 and 0 unless the
        measure has ``intensity="affine"``.
    grid : array of shape (rows, columns, 2)
        The deformed grid: for each pixel of `warped` the place, as (row, column) in pixels, of the
        original picture where its value comes from.
    aligned : array
        The image in the frame of its centroid, in its own light: warped, or with direction
        "centroid-to-image" carried back by the inverse of the warp.
    aligned_grid : array of shape (rows, columns, 2)
        For each pixel of `aligned` its place in the image, as (row, column) in pixels.
    folded : float
        Share of pixels where the warp folds (its Jacobian determinant is not positive).
    status : Status
        How the search ended.
    """

    label: int
    prototype: int
    cost: float
    costs: FloatArray
    bending_cost: float
    parameters: FloatArray
    orientation: FloatArray
    warped: FloatArray
    target: FloatArray
    residual: FloatArray
    gain: FloatArray
    offset: FloatArray
    grid: FloatArray
    aligned: FloatArray
    aligned_grid: FloatArray
    folded: float
    status: Status


@dataclass(frozen=True)
class Alignments:
    """How N images fit K clusters, each aligned with its own; ``alignments[i]`` is one `Alignment`.

    A cluster has one or several prototypes, M pictures in all. Pictures, grids and the like are
    computed when asked for.

    Attributes
    ----------
    prototypes : int array of shape (N,)
        The prototype that each image is aligned with.
    labels : int array of shape (N,)
        Its cluster.
    cost : array of shape (N,)
        Cost of that alignment.
    costs : array of shape (N, K)
        Costs to all clusters: to the cheapest of their prototypes.
    parameters : array of shape (N, n_basis, 2)
        Warp of each image's alignment.
    orientations : int array of shape (N,)
        Numbers of the orientations that the images were compared in.
    orientation : array of shape (N, 2, 2)
        Those orientations as matrices.
    status : int8 array of shape (N,)
        Values of `dikmeans.registration.Status`.
    image, warped, target, residual, aligned : arrays of shape (N, rows, columns[, channels])
    gain, offset : arrays of shape (N, channels)
    grid, aligned_grid : arrays of shape (N, rows, columns, 2)
    folded, bending_cost : arrays of shape (N,)
    """

    prototypes: IntArray
    cost: FloatArray
    costs: FloatArray
    parameters: FloatArray
    orientations: IntArray
    status: IntArray
    _images: FloatArray
    _centroids: FloatArray
    _clusters: IntArray
    _measure: Measure
    _shape: ImageShape

    def __len__(self) -> int:
        return len(self.prototypes)

    def __iter__(self) -> Iterator[Alignment]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Alignment:
        one = self.subset([range(len(self))[i]])  # renders this one only
        return Alignment(
            label=int(one.labels[0]),
            prototype=int(one.prototypes[0]),
            cost=float(one.cost[0]),
            costs=one.costs[0],
            bending_cost=float(one.bending_cost[0]),
            parameters=one.parameters[0],
            orientation=one.orientation[0],
            warped=one.warped[0],
            target=one.target[0],
            residual=one.residual[0],
            gain=one.gain[0],
            offset=one.offset[0],
            grid=one.grid[0],
            aligned=one.aligned[0],
            aligned_grid=one.aligned_grid[0],
            folded=float(one.folded[0]),
            status=Status(one.status[0]),
        )

    def subset(self, chosen: ArrayLike | slice) -> Alignments:
        """The alignments at the indices `chosen` (a slice, a list, or a mask)."""
        index = chosen if isinstance(chosen, slice) else np.asarray(chosen)
        return replace(
            self,
            prototypes=self.prototypes[index],
            cost=self.cost[index],
            costs=self.costs[index],
            parameters=self.parameters[index],
            orientations=self.orientations[index],
            status=self.status[index],
            _images=self._images[index],
        )

    def onto(self, labels: ArrayLike, *, n_jobs: int | None = None) -> Alignments:
        """The same images, each aligned with the cluster that `labels` names.

        Each is aligned with the cheapest prototype of that cluster; all of them are refined to the
        end, and their costs with them.

        Parameters
        ----------
        labels : int array of shape (N,)
            Numbers of clusters.
        n_jobs : int, optional
            Threads; -1 for all cores.
        """
        chosen = self._check_labels(labels)
        prototypes, cost, costs = self.prototypes.copy(), self.cost.copy(), self.costs.copy()
        parameters, status = self.parameters.copy(), self.status.copy()
        orientations = self.orientations.copy()
        for k in np.unique(chosen):
            rows, columns = np.flatnonzero(chosen == k), np.flatnonzero(self._clusters == k)
            bank = self._measure.bank(self._centroids[columns], columns=columns)
            fits = align_images(self._measure, self._images[rows], bank, n_jobs=n_jobs)
            cheapest = fits.costs.argmin(axis=1)
            pairs = np.arange(len(rows)), cheapest
            parameters[rows] = self.warp.identity + np.swapaxes(fits.deltas[pairs], 1, 2)
            prototypes[rows], status[rows] = columns[cheapest], fits.status[pairs]
            orientations[rows] = fits.orientations[pairs]
            cost[rows] = costs[rows, k] = fits.costs[pairs]
        return replace(
            self,
            prototypes=prototypes,
            cost=cost,
            costs=costs,
            parameters=parameters,
            orientations=orientations,
            status=status,
        )

    def _check_labels(self, labels: ArrayLike) -> IntArray:
        chosen, k = np.asarray(labels), self.costs.shape[1]
        if chosen.shape != (len(self),) or chosen.dtype.kind not in "iu":
            raise ValueError(
                f"labels must name one cluster for each of the {len(self)} images, as whole "
                f"numbers; got {chosen.dtype} of shape {chosen.shape}."
            )
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < k:
            raise ValueError(
                f"labels must be from 0 to {k - 1}; got values from {chosen.min()} to "
                f"{chosen.max()}."
            )
        return chosen.astype(np.int64)

    @property
    def warp(self) -> Warp:
        """The family of warps."""
        return self._measure.warp

    @property
    def labels(self) -> IntArray:
        """The cluster of each image."""
        return self._clusters[self.prototypes]

    @cached_property
    def _deltas(self) -> FloatArray:
        return np.swapaxes(self.parameters - self.warp.identity, 1, 2).astype(np.float32)

    @property
    def image(self) -> FloatArray:
        """The images as the measure saw them: preprocessed, if the model does that."""
        return from_channels_first(self._images, self._shape)

    @property
    def _image_is_warped(self) -> bool:
        return self._measure.direction == "image-to-centroid"

    @cached_property
    def _rendered(self) -> FloatArray:
        """The warped pictures (N, C, rows, columns) before gain and offset."""
        if self.orientations.any():
            source = self._images if self._image_is_warped else self._centroids[self.prototypes]
            return self._measure.render_at(source, self.grid)
        if self._image_is_warped:
            return self._measure.render(self._images, np.arange(len(self)), self._deltas)
        return self._measure.render(self._centroids, self.prototypes, self._deltas)

    @cached_property
    def _match(self) -> Match:
        centroids = self._centroids[self.prototypes]
        pair = (self._images, centroids) if self._image_is_warped else (centroids, self._images)
        return self._measure.intensity.match(self._rendered, *pair)

    @property
    def gain(self) -> FloatArray:
        """What each channel of the warped pictures was multiplied by."""
        return self._match.gains

    @property
    def offset(self) -> FloatArray:
        """What was added to each channel of the warped pictures after that."""
        return self._match.offsets

    @cached_property
    def warped(self) -> FloatArray:
        """The warped pictures, with their gains and offsets."""
        return from_channels_first(self._match.apply(self._rendered), self._shape)

    @cached_property
    def target(self) -> FloatArray:
        """What each was warped onto."""
        pictures = self._centroids[self.prototypes] if self._image_is_warped else self._images
        return from_channels_first(pictures, self._shape)

    @cached_property
    def residual(self) -> FloatArray:
        """Warped picture minus target."""
        return self.warped - self.target

    @property
    def orientation(self) -> FloatArray:
        """The orientations of the images as matrices."""
        return self._measure.orientations[self.orientations]

    @cached_property
    def grid(self) -> FloatArray:
        """Where, in pixels of the original, the pixels of the warped pictures come from."""
        warp, places = self.warp, self.warp.coordinates(self.parameters)
        if self.orientations.any():
            if self._image_is_warped:
                places = _turned(places, self.orientation)
            else:  # a pixel of the image is a turned pixel of the oriented image
                inverse = np.swapaxes(self.orientation, 1, 2)
                points = _turned(warp.grid.points()[None], inverse)
                places = points + np.stack(
                    [warp.basis(p) @ d.T for p, d in zip(points, self._deltas, strict=True)]
                )
                places = places.reshape(len(self), *warp.grid.shape, 2)
        return warp.grid.to_pixels(places)

    @cached_property
    def aligned_grid(self) -> FloatArray:
        """Where, in pixels of the images, the pixels of `aligned` come from."""
        if self._image_is_warped:
            return self.grid
        pixels = inverse_grid(self.warp, self.parameters)
        if not self.orientations.any():
            return pixels
        grid = self.warp.grid
        places = (pixels - np.array(grid.offset)) / np.array(grid.scale)
        return grid.to_pixels(_turned(places, self.orientation))

    @cached_property
    def aligned(self) -> FloatArray:
        """The images in the frames of their centroids, in their own light."""
        if self._image_is_warped:
            return from_channels_first(self._rendered, self._shape)
        return from_channels_first(
            self._measure.render_at(self._images, self.aligned_grid), self._shape
        )

    @cached_property
    def folded(self) -> FloatArray:
        """Share of folded pixels of each warp."""
        determinants = self.warp.jacobian_determinant(self.parameters)
        return (determinants <= 0).mean(axis=(1, 2))

    @cached_property
    def bending_cost(self) -> FloatArray:
        """Smoothness times bending of each alignment, as it stands in `cost`."""
        energies = self._measure.intensity.energies(self._images)
        return self._measure.penalty(self._deltas, self.prototypes) * energies


def align_to_nearest(
    measure: Measure,
    images: FloatArray,
    prototypes: FloatArray,
    shape: ImageShape,
    *,
    clusters: IntArray | None = None,
    prune: float = np.inf,
    n_jobs: int | None = None,
) -> Alignments:
    """Alignments of pictures (N, C, rows, columns), each with the cheapest of the prototypes.

    `clusters` is the cluster of each prototype, ascending; by default each is its own.
    """
    images, prototypes = images.astype(measure.dtype), prototypes.astype(measure.dtype)
    clusters = np.arange(len(prototypes)) if clusters is None else clusters
    bank = measure.bank(prototypes)
    fits = align_images(measure, images, bank, prune=prune, n_jobs=n_jobs)
    nearest = fits.costs.argmin(axis=1)
    pairs = np.arange(len(images)), nearest
    return Alignments(
        prototypes=nearest,
        cost=fits.costs[pairs],
        costs=cluster_costs(fits.costs, clusters),
        parameters=measure.warp.identity + np.swapaxes(fits.deltas[pairs], 1, 2),
        orientations=fits.orientations[pairs],
        status=fits.status[pairs],
        _images=images,
        _centroids=prototypes,
        _clusters=clusters,
        _measure=measure,
        _shape=shape,
    )


def _turned(points: FloatArray, matrices: FloatArray) -> FloatArray:
    """Frame points (n or 1, ..., 2), each set multiplied by its own matrix (n, 2, 2)."""
    flat = points.reshape(len(points), -1, 2) @ np.swapaxes(matrices, 1, 2)
    return flat.reshape(len(matrices), *points.shape[1:])
