r"""The centroid update: the picture that fits the members of a cluster best, warps held fixed.

*Mean* (image to centroid, or no warp). The cost of a cluster is
:math:`\sum_i w_i \|\mathrm{warp}(x_i;\nu_i) - \mu\|^2`; its minimum is the weighted mean of the
warped members (the paper's Proposition 1), scaled to unit norm under the constraint
:math:`\|\mu\| = 1`.

*Least squares* (centroid to image). Warping is linear in the picture:
:math:`\mathrm{warp}(\mu;\nu_i) = W_i \mu` with a sparse matrix of bilinear weights, so the cost
:math:`\sum_i w_i \|W_i\mu - x_i\|^2` is a linear least-squares problem. It is solved by a few steps
of

.. math::
    \mu \leftarrow \mu + D^{-1} \sum_i w_i W_i^T (x_i - W_i \mu), \qquad
    D = \mathrm{diag}\sum_i w_i W_i^T 1,

none of which raises the cost: :math:`W_i \ge 0` with rows that sum to one at most, hence
:math:`W_i^T W_i \preceq \mathrm{diag}(W_i^T 1)`. Under the unit-norm constraint :math:`D` is
replaced by its largest entry, so that projecting onto the sphere is the exact minimum of the bound.

Where no image has a negative value, no centroid gets one.

*Light and contrast* (``intensity="affine"``, see `dikmeans.registration.intensity`). Gains and
offsets are held fixed with the warps, then solved for anew. All is as above, on standardized
pictures, with the members' gains and offsets: the mean is that of the members after gain and
offset, on the sphere of standardized pictures; and :math:`W_i` becomes :math:`a_i W_i`, so that

.. math::
    \mu \leftarrow \mu + D^{-1} \sum_i w_i a_i \bigl(W_i^T (\tilde x_i - a_i W_i \mu - b_i)
    + \kappa\,(\|\tilde x_i\| / \|\mu\| - a_i)\,\mu\bigr), \qquad
    D = \mathrm{diag}\sum_i w_i a_i^2 (W_i^T 1 + \kappa).

The terms with :math:`\kappa` bound what gains cost: :math:`-\|\mu\|` lies below its tangent. The
cost does not see light and contrast of a centroid; it is given the mean brightness and the mean
contrast of its members, so that it looks like one of them.

No update raises the inertia. They need no more of the images than sums over them (`Sums`), so
images that lie in several places are summed where they lie. Sums run over the images in their
order, in double precision: they do not depend on batches or threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

import numpy as np
from numba import njit

from dikmeans._typing import FloatArray, IntArray
from dikmeans.images import scale_to_unit_norm
from dikmeans.parallel.threads import run_threads
from dikmeans.registration.batches import batches, slices
from dikmeans.registration.intensity import GAIN_WEIGHT, AffineIntensity, IntensityName, Tone
from dikmeans.registration.measure import Measure

N_LEAST_SQUARES_STEPS = 3
# Values of images that are standardized at once: bounds the memory.
STANDARDIZED_AT_ONCE = 2**22
# A gain below this is none: what it would be divided by must not overflow.
NO_GAIN = 1e-6
# Batches rendered before they are added up: bounds the memory.
BATCHES_AT_ONCE = 16


class Members(NamedTuple):
    """Images in memory, each with its nearest centroid and its warp.

    Attributes
    ----------
    images : array of shape (n, C, rows, columns)
    weights, labels : arrays of shape (n,)
    deltas : contiguous array of shape (n, 2, n_basis)
        Parameters, minus the identity, of each image's alignment with its centroid.
    """

    images: FloatArray
    weights: FloatArray
    labels: IntArray
    deltas: FloatArray

    def part(self, rows: slice) -> Members:
        """Some of them."""
        return Members(self.images[rows], self.weights[rows], self.labels[rows], self.deltas[rows])


@dataclass(frozen=True)
class Sums:
    """What the update needs to know of a set of images; sets are joined by adding.

    Attributes
    ----------
    pictures : float64 array of shape (K, C, rows, columns)
        Weighted sum, over the members of each cluster, of what they add to the centroid.
    mass : float64 array of shape (K, 1, 1 or rows, 1 or columns)
        Its weight, per cluster or per pixel.
    lowest : float
        The lowest value of all images.
    tone : float64 array of shape (3, K, C)
        Where light and contrast are solved for: weight of the members of each cluster, and weighted
        sums of their brightness and contrast. Otherwise empty.
    """

    pictures: FloatArray
    mass: FloatArray
    lowest: float
    tone: FloatArray = field(default_factory=lambda: np.zeros((3, 0, 0)))

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.pictures + other.pictures,
            self.mass + other.mass,
            min(self.lowest, other.lowest),
            self.tone + other.tone,
        )


class UpdateRule(Protocol):
    """How centroids follow from sums over images, in a number of passes over them."""

    n_passes: int

    def unmoving(self, centroids: FloatArray, weights: FloatArray) -> Sums:
        """Sums of images of that weight, per cluster, that leave the centroids where they are."""

    def gather(
        self, measure: Measure, members: Members, centroids: FloatArray, n_jobs: int | None
    ) -> Sums:
        """Sums over the members of all clusters."""

    def step(self, centroids: FloatArray, sums: Sums, unit_norm: bool) -> FloatArray:
        """The centroids that follow from the sums over all images, in double precision."""


def weight_per_cluster(labels: IntArray, weights: FloatArray | None, n_clusters: int) -> FloatArray:
    """Sum of the weights of each cluster's members; without weights, their number."""
    totals = np.bincount(labels, weights=weights, minlength=n_clusters)
    return totals.astype(np.float64, copy=False)


def gather_sums(
    measure: Measure, members: Members, centroids: FloatArray, n_jobs: int | None
) -> Sums:
    """Sums over the members of all clusters, as the update of a measure needs them."""
    return rule_of(measure).gather(measure, members, centroids, n_jobs)


def unmoving_sums(measure: Measure, centroids: FloatArray, weights: FloatArray) -> Sums:
    """Sums of images of that weight, per cluster, that leave the centroids where they are."""
    return rule_of(measure).unmoving(centroids, weights)


def update_step(measure: Measure, centroids: FloatArray, sums: Sums) -> FloatArray:
    """Centroids after one pass over all images; one without any mass stays where it is."""
    current = centroids.astype(np.float64)
    moved = rule_of(measure).step(current, sums, measure.unit_norm)
    empty = sums.mass.max(axis=(1, 2, 3)) == 0
    moved[empty] = current[empty]
    return moved


def move_centroids(
    measure: Measure, centroids: FloatArray, gather: Callable[[FloatArray], Sums]
) -> FloatArray:
    """Best centroids, given who gathers the sums over all images.

    Parameters
    ----------
    measure : Measure
    centroids : array of shape (K, C, rows, columns)
        The present centroids.
    gather : callable
        Takes centroids, returns the `Sums` over all images. Called once per pass.
    """
    moved: FloatArray = centroids.astype(np.float64)
    for _ in range(rule_of(measure).n_passes):
        moved = update_step(measure, moved, gather(moved))
    return moved.astype(centroids.dtype)


class _Mean:
    """The weighted mean of the warped members."""

    n_passes = 1

    def unmoving(self, centroids: FloatArray, weights: FloatArray) -> Sums:
        mass = weights[:, None, None, None]
        return Sums(mass * centroids, mass, _lowest_of(centroids))

    def gather(
        self, measure: Measure, members: Members, centroids: FloatArray, n_jobs: int | None
    ) -> Sums:
        images, deltas = members.images, members.deltas

        def render(part: slice) -> FloatArray:
            which = np.arange(part.stop - part.start)
            return measure.render(images[part], which, deltas[part])

        return _sum_of_members(render, members, centroids, n_jobs)

    def step(self, centroids: FloatArray, sums: Sums, unit_norm: bool) -> FloatArray:
        means = sums.pictures / np.where(sums.mass > 0, sums.mass, 1.0)
        return scale_to_unit_norm(means) if unit_norm else means


class _LeastSquares:
    """One step of majorization per pass."""

    n_passes = N_LEAST_SQUARES_STEPS

    def unmoving(self, centroids: FloatArray, weights: FloatArray) -> Sums:
        mass = weights[:, None, None, None]
        return Sums(np.zeros_like(centroids), mass, _lowest_of(centroids))

    def gather(
        self, measure: Measure, members: Members, centroids: FloatArray, n_jobs: int | None
    ) -> Sums:
        images, weights, labels, deltas = members
        push, mass = measure.back_project(centroids, images, labels, weights, deltas, n_jobs)
        return Sums(push, mass, float(images.min()))

    def step(self, centroids: FloatArray, sums: Sums, unit_norm: bool) -> FloatArray:
        # the bound is separable, so clipping is its exact minimum among non-negative pictures
        lowest = 0.0 if sums.lowest >= 0 and centroids.min() >= 0 else -np.inf
        mass = sums.mass
        if unit_norm:
            mass = np.broadcast_to(mass.max(axis=(2, 3), keepdims=True), mass.shape)
        moved = np.maximum(centroids + sums.pictures / np.where(mass > 0, mass, np.inf), lowest)
        return scale_to_unit_norm(moved) if unit_norm else moved


class _MatchedMean:
    """The weighted mean of the warped members after gain and offset."""

    n_passes = 1

    def unmoving(self, centroids: FloatArray, weights: FloatArray) -> Sums:
        mass = weights[:, None, None, None]
        pictures = mass * AFFINE.prepare(centroids)
        return Sums(pictures, mass, _lowest_of(centroids), _own_tone(centroids, weights))

    def gather(
        self, measure: Measure, members: Members, centroids: FloatArray, n_jobs: int | None
    ) -> Sums:
        images, weights, labels, deltas = members
        targets = AFFINE.prepare(centroids)

        def render(part: slice) -> FloatArray:
            templates = AFFINE.prepare(images[part])
            warped = measure.render(templates, np.arange(len(templates)), deltas[part])
            return AFFINE.match(warped, templates, targets[labels[part]]).apply(warped)

        sums = _sum_of_members(render, members, centroids, n_jobs)
        return replace(sums, tone=_sum_of_tones(images, weights, labels, len(centroids)))

    def step(self, centroids: FloatArray, sums: Sums, unit_norm: bool) -> FloatArray:
        # the scale of the mean does not matter
        return _mean_tone(sums).give(sums.pictures)


class _MatchedLeastSquares:
    """One step of majorization per pass, with the gains and offsets that fit the last one best."""

    n_passes = N_LEAST_SQUARES_STEPS

    def unmoving(self, centroids: FloatArray, weights: FloatArray) -> Sums:
        mass, tone = weights[:, None, None, None], _own_tone(centroids, weights)
        return Sums(np.zeros_like(centroids), mass, _lowest_of(centroids), tone)

    def gather(
        self, measure: Measure, members: Members, centroids: FloatArray, n_jobs: int | None
    ) -> Sums:
        images, weights, labels, _ = members
        current = AFFINE.prepare(centroids)
        push, mass = np.zeros(centroids.shape), np.zeros(centroids.shape)
        for part in slices(len(images), STANDARDIZED_AT_ONCE // images[0].size):
            more_push, more_mass = self._gather_part(measure, members.part(part), current, n_jobs)
            push += more_push
            mass += more_mass
        tone = _sum_of_tones(images, weights, labels, len(centroids))
        return Sums(push, mass, float(images.min()), tone)

    def _gather_part(
        self, measure: Measure, members: Members, current: FloatArray, n_jobs: int | None
    ) -> tuple[FloatArray, FloatArray]:
        """Push and mass of some members; `current` are the centroids, standardized."""
        images, weights, labels, deltas = members
        targets = AFFINE.prepare(images)

        def match(part: slice) -> tuple[FloatArray, FloatArray]:
            warped = measure.render(current, labels[part], deltas[part])
            gains, _ = AFFINE.match(warped, current[labels[part]], targets[part])
            return gains, warped.mean(axis=(2, 3), dtype=np.float64)

        parts = batches(len(images), images[0].size)
        matches = zip(*run_threads(match, parts, n_jobs), strict=True)
        gains, means = (np.concatenate(columns) for columns in matches)
        gains = np.where(gains < NO_GAIN, 0.0, gains)
        push, mass = np.empty(current.shape), np.empty(current.shape)
        for c in range(current.shape[1]):
            gain, one = gains[:, c], slice(c, c + 1)
            inverse = 1 / np.where(gain > 0, gain, np.inf)
            # w a W^T (x - a (W mu - mean)) is w a^2 W^T (x / a + mean - W mu)
            wanted = inverse[:, None, None, None] * targets[:, one] + means[:, one, None, None]
            wanted = wanted.astype(targets.dtype)
            push[:, one], mass[:, one] = measure.back_project(
                current[:, one], wanted, labels, weights * gain**2, deltas, n_jobs
            )
        pull, stiffness = _gain_terms(current, targets, gains, weights, labels)
        return push + pull * current, mass + stiffness

    def step(self, centroids: FloatArray, sums: Sums, unit_norm: bool) -> FloatArray:
        current = AFFINE.prepare(centroids)
        moved = current + sums.pictures / np.where(sums.mass > 0, sums.mass, np.inf)
        return _mean_tone(sums).give(moved)


def _gain_terms(
    current: FloatArray,
    targets: FloatArray,
    gains: FloatArray,
    weights: FloatArray,
    labels: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """What the cost of gains adds to the push, as a multiple of the centroid, and to the mass."""
    sizes = Tone.of(current).contrasts
    is_alive = sizes > 0
    ratios = Tone.of(targets).contrasts / np.where(is_alive, sizes, np.inf)[labels]
    alive_gains = gains * is_alive[labels]
    pull, stiffness = np.zeros((2, *current.shape[:2]))
    each = GAIN_WEIGHT * weights[:, None] * alive_gains
    np.add.at(pull, labels, each * (ratios - alive_gains))
    np.add.at(stiffness, labels, each * alive_gains)
    return pull[..., None, None], stiffness[..., None, None]


def _sum_of_members(
    render: Callable[[slice], FloatArray],
    members: Members,
    centroids: FloatArray,
    n_jobs: int | None,
) -> Sums:
    """Weighted sums of what `render` makes of the members, in their order."""
    images, weights, labels, _ = members
    sums = np.zeros((len(centroids), centroids[0].size))
    parts = batches(len(images), images[0].size)
    for first in range(0, len(parts), BATCHES_AT_ONCE):
        group = parts[first : first + BATCHES_AT_ONCE]
        for part, warped in zip(group, run_threads(render, group, n_jobs), strict=True):
            flat = warped.reshape(len(warped), -1)
            _add_in_order(sums, flat, labels[part], weights[part])
    totals = weight_per_cluster(labels, weights, len(centroids))
    pictures = sums.reshape(centroids.shape)
    return Sums(pictures, totals[:, None, None, None], float(images.min()))


def _lowest_of(centroids: FloatArray) -> float:
    """The lowest value that images before these centroids may have had."""
    return float(min(centroids.min(), 0.0))


def _sum_of_tones(
    images: FloatArray, weights: FloatArray, labels: IntArray, n_clusters: int
) -> FloatArray:
    """`Sums.tone` of some images."""
    parts = slices(len(images), STANDARDIZED_AT_ONCE // images[0].size)
    tones = [np.stack(Tone.of(images[part])) for part in parts]
    means, contrasts = np.concatenate(tones, axis=1)
    sums = np.zeros((3, n_clusters, images.shape[1]))
    columns = np.ones_like(means), means, contrasts
    for total, column in zip(sums, columns, strict=True):
        np.add.at(total, labels, weights[:, None] * column)
    return sums


def _own_tone(centroids: FloatArray, weights: FloatArray) -> FloatArray:
    """`Sums.tone` of images of that weight, per cluster, with the tone of their centroid."""
    tone = Tone.of(centroids)
    columns = np.ones_like(tone.means), tone.means, tone.contrasts
    return weights[:, None] * np.stack(columns)


def _mean_tone(sums: Sums) -> Tone:
    weights, means, contrasts = sums.tone
    weights = np.where(weights > 0, weights, 1.0)
    return Tone(means / weights, contrasts / weights)


@njit(nogil=True, cache=True)
def _add_in_order(sums, pictures, labels, weights):
    for i in range(pictures.shape[0]):
        row, weight = sums[labels[i]], weights[i]
        for p in range(pictures.shape[1]):
            row[p] += weight * pictures[i, p]


AFFINE = AffineIntensity()
RULES: dict[tuple[IntensityName, str], UpdateRule] = {
    ("fixed", "mean"): _Mean(),
    ("fixed", "least-squares"): _LeastSquares(),
    ("affine", "mean"): _MatchedMean(),
    ("affine", "least-squares"): _MatchedLeastSquares(),
}


def rule_of(measure: Measure) -> UpdateRule:
    """How the centroids of a measure are updated."""
    return RULES[measure.intensity.name, measure.centroid_update]
