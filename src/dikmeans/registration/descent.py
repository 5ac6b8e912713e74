r"""All pairs of some images with some centroids, on their way to the best warp.

A cold descent goes coarse to fine. On the coarsest level every pair starts from the identity, and
once more from the best of a lattice of poses (`dikmeans.registration.starts`), which must turn out
clearly better: a picture that is far away is more often another picture than the same one moved.
Where any orientation is asked for, the pair starts from the best poses of its most promising
orientations instead. A warm descent refines on the sharp pictures alone.

Most pairs are hopeless, and most of them show it early. A pair that costs far more than the best of
its image, in the best of the poses or after a stage, goes no further; nor does one, within a stage,
whose slope promises too little to come near the best. Of an image and forty prototypes, about
twenty-five are aligned by affine maps, fifteen by splines on low-pass pictures, three to the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dikmeans._typing import FloatArray, IntArray
from dikmeans.registration.measure import PairFits, WarmStart, all_centroids
from dikmeans.registration.objective import Pairs, Problem, unmoved_costs
from dikmeans.registration.sampling import PADDING, pad
from dikmeans.registration.solvers import Stage, Status
from dikmeans.registration.starts import StartBank, best_poses

if TYPE_CHECKING:
    from dikmeans.registration.warped_measure import WarpedMeasure

StageKey = tuple[int, bool]
"""Pyramid level, and whether the stage is affine."""

# A pose is refined if its cost, as it is, is at most this multiple of what the identity has led to,
# and of what a pair may cost at most to be refined; it is kept if it then costs at most this share.
PROMISING, CLEARLY_BETTER = 1.5, 0.8
# Orientations of a pair that are refined.
N_REFINED_ORIENTATIONS = 3
# With many centroids, so many pairs of an image take part in the affine stage: those with the best
# poses. So many of them go further, and are its candidates from then on.
MAX_AFFINE, MAX_CANDIDATES = 512, 80
# Many of them resemble the image, and low-pass pictures hardly tell which does most: what a pair
# may cost to go further is so many times as much.
LENIENCY = 2.0
# On the sharp pictures a pair is refined as long as it promises a cost below this multiple of what
# the best pair of its image has reached. Low-pass pictures do not tell that exactly.
CLOSE = 1.5


class Compared(NamedTuple):
    """Pictures of one pyramid level as `Pairs` has them: padded if they are warped.

    Attributes
    ----------
    pictures : float32 array of shape (n, C, pixels)
    norms : float32 array of shape (n, C)
        Empty unless light and contrast are solved for.
    """

    pictures: FloatArray
    norms: FloatArray


def compared(measure: WarpedMeasure, pictures: FloatArray, *, is_image: bool) -> Compared:
    """Images or centroids (n, C, rows, columns) of one level, ready to be made pairs of."""
    is_warped = is_image == (measure.direction == "image-to-centroid")
    level, norms = measure.intensity.level(pictures)
    if is_warped:
        return Compared(pad(level, measure.border), norms)
    return Compared(np.ascontiguousarray(level.reshape(*level.shape[:2], -1)), norms)


@dataclass(frozen=True)
class CentroidBank:
    """Centroids as the solver needs them: on the levels, with the curvature, of coming stages."""

    pictures: FloatArray
    compared: tuple[Compared, ...]
    problems: dict[StageKey, Problem]
    curvatures: dict[StageKey, FloatArray]
    starts: StartBank | None


class Start(NamedTuple):
    """Where some pairs start from on the coarsest level.

    Attributes
    ----------
    pairs : int array of shape (m,)
        Their numbers.
    orientations : int8 array of shape (m,)
    deltas : float32 array of shape (m, 2, n_basis)
        Affine maps.
    share : float
        What a descent from here leads to is kept if it costs less than this share of what there is.
    """

    pairs: IntArray
    orientations: IntArray
    deltas: FloatArray
    share: float


class Poses(NamedTuple):
    """The best pose of each pair in each orientation.

    Attributes
    ----------
    numbers : int array of shape (n_pairs, n_orientations)
        Among those of the `StartBank`.
    costs : float32 array of shape (n_pairs, n_orientations)
    """

    numbers: IntArray
    costs: FloatArray


class Descent:
    """All pairs of some images with all centroids of a bank.

    Pairs are numbered image by image. What each has reached is in its delta, cost, status and
    orientation.
    """

    def __init__(
        self,
        measure: WarpedMeasure,
        images: FloatArray,
        bank: CentroidBank,
        start: WarmStart | None,
    ):
        self._measure, self._images, self._bank = measure, images, bank
        self._energies = measure.intensity.energies(images)
        self._centroids = all_centroids(len(images), len(bank.pictures))
        if start is not None and start.centroids is not None:
            self._centroids = start.centroids
        n_pairs = self._centroids.size
        self._deltas = np.zeros((n_pairs, 2, measure.n_basis), np.float32)
        self._orientations: IntArray = np.zeros(n_pairs, np.int8)
        if start is not None:
            self._deltas = np.array(start.deltas, np.float32).reshape(n_pairs, 2, -1)
            if start.orientations is not None:
                self._orientations = start.orientations.reshape(n_pairs)
        self._costs = np.full(n_pairs, np.inf, np.float32)
        self._status = np.full(n_pairs, Status.PRUNED, np.int8)

    @property
    def _shape(self) -> tuple[int, int]:
        """Images, and pairs of each."""
        n_images, n_pairs = self._centroids.shape
        return n_images, n_pairs

    def run_cold(self, stages: tuple[Stage, ...], prune: float, narrow: bool) -> None:
        """Coarse to fine; pairs that are hopeless after a stage take no part in those after it.

        With `narrow` only the candidates of each image remain.
        """
        narrow = narrow and self._shape[1] > MAX_CANDIDATES
        if narrow:
            prune *= LENIENCY
        levels = self._measure.pyramid(self._images, self._measure.grids)
        active: IntArray = np.arange(len(self._costs))
        for stage in stages:
            images = levels[stage.level]
            if stage.affine:
                self._run_affine(stage, images, self._poses(images, narrow), prune)
                active = np.flatnonzero(self._status != Status.PRUNED)
                continue
            factor = prune if stage.prune is None or np.isinf(prune) else stage.prune
            if narrow and np.isfinite(factor):
                self._narrow(self._costs, MAX_CANDIDATES)
                active, narrow = np.arange(len(self._costs)), False
            active = active[self._status[active] != Status.PRUNED]
            active = self._near_best(self._costs, active, factor)
            self._run(stage, self._pairs(images, stage.level), active, self._costs, prune)
        self._active, self._sharp = active, self._pairs(self._images, 0)

    def _narrow(self, costs: FloatArray, most: int) -> IntArray:
        """Keep the pairs of each image that cost least; returns their numbers among those before.

        An image has `most` pairs then, or all that there are.
        """
        n, m = self._shape
        chosen = np.tile(np.arange(m), (n, 1))
        if most < m:
            ranked = np.argpartition(costs.reshape(n, m), most - 1, axis=1)
            chosen = np.sort(ranked[:, :most], axis=1)
        kept: IntArray = (m * np.arange(n)[:, None] + chosen).ravel()
        self._centroids = np.take_along_axis(self._centroids, chosen, axis=1)
        self._deltas, self._costs = self._deltas[kept], self._costs[kept]
        self._status, self._orientations = self._status[kept], self._orientations[kept]
        return kept

    def retry_from_identity(self, stages: tuple[Stage, ...]) -> None:
        """Start again where coarse stages led astray; then cost the pruned pairs as they are.

        No cost of a refined pair exceeds that of the identity.
        """
        active, sharp = self._active, self._sharp
        unmoved = self._unmoved_costs(sharp.subset(active))
        astray = active[unmoved < self._costs[active]]
        if len(astray):
            self._deltas[astray] = 0
            for stage in stages:
                self._run(stage, sharp, astray, self._costs)
        pruned = np.setdiff1d(np.arange(len(self._costs)), active, assume_unique=True)
        self._costs[pruned] = self._measure.evaluate(
            self._bank.problems[0, False], sharp.subset(pruned), self._deltas[pruned]
        )
        self._status[pruned] = Status.PRUNED

    def run_warm(self, stages: tuple[Stage, ...], start: WarmStart, prune: float) -> None:
        """Refine the promising pairs, and those that `start` keeps, on the sharp pictures alone."""
        sharp = self._pairs(self._images, 0)
        all_pairs: IntArray = np.arange(len(self._costs))
        evaluated = all_pairs
        if start.costs is not None:
            self._costs = (start.costs / self._energies[:, None]).astype(np.float32).ravel()
            evaluated = self._near_best(self._costs, all_pairs, prune**2)
        self._costs[evaluated] = self._measure.evaluate(
            self._bank.problems[0, False], sharp.subset(evaluated), self._deltas[evaluated]
        )
        chosen = self._near_best(self._costs, evaluated, prune)
        order = self._costs.copy()
        if start.keep is not None:
            kept = all_pairs.reshape(self._shape)[np.arange(len(start.keep)), start.keep]
            chosen = np.union1d(chosen, kept)
            order[kept] = -np.inf  # the first pair of an image is never given up
        for stage in stages:
            self._run(stage, sharp, chosen, order, prune)

    def result(self) -> PairFits:
        """What the pairs have reached, by image and centroid."""
        costs = self._costs.reshape(self._shape).astype(np.float64) * self._energies[:, None]
        deltas = self._deltas.reshape(*self._shape, 2, -1)
        status, orientations = (
            array.reshape(self._shape) for array in (self._status, self._orientations)
        )
        return PairFits(costs, deltas, status, orientations, self._centroids)

    # -- stages --------------------------------------------------------------------------------

    def _run(
        self,
        stage: Stage,
        pairs: Pairs,
        active: IntArray,
        order: FloatArray,
        prune: float = np.inf,
    ) -> None:
        """One stage with the whole warp on the `active` pairs; of each image in ascending order."""
        active = active[np.lexsort((order[active], pairs.image_of[active]))]
        key = (stage.level, False)
        self._deltas[active], self._costs[active], self._status[active] = self._measure.minimize(
            self._bank.problems[key],
            pairs.subset(active),
            self._bank.curvatures[key],
            stage,
            self._deltas[active],
            prune if stage.level or not np.isfinite(prune) else CLOSE,
        )

    def _run_affine(
        self, stage: Stage, images: FloatArray, poses: Poses | None, prune: float
    ) -> None:
        """The affine stage, from one start of the pairs after the other; the best is kept."""
        key = (stage.level, True)
        problem, curvature = self._bank.problems[key], self._bank.curvatures[key]
        for start in self._starts(poses, problem.n_basis, prune):
            if not len(start.pairs):
                continue
            before = self._orientations
            self._orientations = before.copy()
            self._orientations[start.pairs] = start.orientations
            pairs = self._pairs(images, stage.level).subset(start.pairs)
            reached, costs, status = self._measure.minimize(
                problem, pairs, curvature, stage, start.deltas.copy()
            )
            better = costs < start.share * self._costs[start.pairs]
            rows, worse = start.pairs[better], start.pairs[~better]
            self._deltas[rows] = self._embedded(reached[better])
            self._costs[rows], self._status[rows] = costs[better], status[better]
            self._orientations[worse] = before[worse]

    def _poses(self, images: FloatArray, narrow: bool) -> Poses | None:
        """The best pose of every pair in every orientation; None if poses are not tried.

        With `narrow` those pairs of each image remain that have the best ones.
        """
        if self._bank.starts is None:
            return None
        n, k = self._shape
        n_orientations = len(self._measure.orientations)
        which = np.repeat(np.arange(n), n_orientations)
        orientations = np.tile(np.arange(n_orientations), n)
        oriented = self._measure.orient_level(images, which, orientations, self._measure.cold_level)
        numbers, costs = best_poses(
            self._bank.starts, oriented.reshape(len(oriented), -1), self._gains[which]
        )
        by_image, by_pair = (n, n_orientations, k), (n * k, n_orientations)
        poses = Poses(
            np.swapaxes(numbers.reshape(by_image), 1, 2).reshape(by_pair),
            np.swapaxes(costs.reshape(by_image), 1, 2).reshape(by_pair),
        )
        if not narrow:
            return poses
        kept = self._narrow(poses.costs.min(axis=1), MAX_AFFINE)
        return Poses(poses.numbers[kept], poses.costs[kept])

    def _starts(self, poses: Poses | None, n_basis: int, prune: float) -> Iterator[Start]:
        """Where the pairs start from that are not hopeless in any pose, and where some again."""
        all_pairs = np.arange(len(self._costs))
        upright = np.zeros(len(all_pairs), np.int8)
        unmoved = np.zeros((len(all_pairs), 2, n_basis), np.float32)
        if poses is None or self._bank.starts is None:
            yield Start(all_pairs, upright, unmoved, 1.0)
            return
        ranking = np.argsort(poses.costs, axis=1, kind="stable")[:, :N_REFINED_ORIENTATIONS].T
        deltas = [self._bank.starts.deltas[poses.numbers[all_pairs, rank]] for rank in ranking]
        costs = poses.costs.min(axis=1)
        self._deltas[:], self._orientations[:] = self._embedded(deltas[0]), ranking[0]
        first = self._near_best(costs, all_pairs, PROMISING * prune)
        if len(self._measure.orientations) > 1:
            for rank, start in zip(ranking, deltas, strict=True):
                yield Start(first, rank[first].astype(np.int8), start[first], 1.0)
            return
        yield Start(first, upright[first], unmoved[first], 1.0)
        limits = np.minimum(self._costs, self._limits(self._costs, first, prune))
        is_moved = deltas[0].any(axis=(1, 2))
        again = first[is_moved[first] & (costs[first] < PROMISING * limits[first])]
        yield Start(again, upright[again], deltas[0][again], CLEARLY_BETTER)

    def _unmoved_costs(self, sharp: Pairs) -> FloatArray:
        """Cost of pairs of sharp pictures at the identity."""
        costs = np.empty(len(sharp.gain), np.float32)
        if sharp.template_norms.size:  # gain and offset must be solved for: evaluated as any warp
            deltas = np.zeros((len(costs), 2, self._measure.n_basis), np.float32)
            return self._measure.evaluate(self._bank.problems[0, False], sharp, deltas)
        unmoved_costs(sharp, self._measure.warp.grid.shape, PADDING, costs)
        return costs

    # -- pairs ---------------------------------------------------------------------------------

    @property
    def _gains(self) -> FloatArray:
        """One over the unit of the costs of each image."""
        return (1 / self._energies).astype(np.float32)

    def _pairs(self, images: FloatArray, level: int) -> Pairs:
        """All pairs on one level, each image in the orientation that it has in the pair."""
        numbers = np.repeat(np.arange(self._shape[0]), self._shape[1])
        image_of, centroid_of = numbers, self._centroids.ravel().astype(np.int64)
        gain = self._gains[image_of]
        if len(self._measure.orientations) > 1:
            code = image_of * len(self._measure.orientations) + self._orientations
            used, image_of = np.unique(code, return_inverse=True)
            which, orientations = np.divmod(used, len(self._measure.orientations))
            images = self._measure.orient_level(images, which, orientations, level)
        side = compared(self._measure, images, is_image=True)
        of_images, of_centroids = (side, image_of), (self._bank.compared[level], centroid_of)
        image_is_warped = self._measure.direction == "image-to-centroid"
        warped, fixed = (of_images, of_centroids) if image_is_warped else (of_centroids, of_images)
        return Pairs(
            templates=warped[0].pictures,
            targets=fixed[0].pictures,
            template_of=warped[1],
            target_of=fixed[1],
            centroid_of=centroid_of,
            image_of=numbers,
            gain=gain,
            template_norms=warped[0].norms,
            target_norms=fixed[0].norms,
        )

    def _near_best(self, costs: FloatArray, pairs: IntArray, factor: float) -> IntArray:
        """Those of `pairs` that cost at most `factor` times the best of them with their image."""
        return pairs[costs[pairs] <= self._limits(costs, pairs, factor)[pairs]]

    def _limits(self, costs: FloatArray, pairs: IntArray, factor: float) -> FloatArray:
        """`factor` times the lowest cost of an image in any of `pairs`, for each of its pairs."""
        limits = np.full(self._shape, np.inf, np.float32)
        if np.isfinite(factor):
            limits.ravel()[pairs] = costs[pairs]
            limits[:] = np.float32(factor) * limits.min(axis=1, keepdims=True)
        return limits.ravel()

    def _embedded(self, affine: FloatArray) -> FloatArray:
        """Affine maps (n, 2, n_affine) as parameters of the whole warp."""
        return affine @ self._measure.embedding.T.astype(np.float32)
