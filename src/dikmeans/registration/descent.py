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
from dikmeans.registration.measure import PairFits
from dikmeans.registration.objective import Pairs, Problem, unmoved_costs
from dikmeans.registration.pyramid import build_pyramid
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
# Where hopeless pairs are given up, at most so many pairs of an image take part in the affine
# stage, in the first one with the whole warp, and in those after it. It tells with many centroids.
MAX_PAIRS = (64, 24, 16)
# On the sharp pictures a pair is refined as long as it promises a cost below this multiple of what
# the best pair of its image has reached. Low-pass pictures do not tell that exactly.
CLOSE = 1.1


@dataclass(frozen=True)
class CentroidBank:
    """Centroids as the solver needs them: on the levels, with the curvature, of coming stages."""

    pictures: FloatArray
    levels: tuple[FloatArray, ...]
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
        start: FloatArray | None,
        orientations: IntArray | None = None,
    ):
        self._measure, self._images, self._bank = measure, images, bank
        self._energies = measure.intensity.energies(images)
        self._shape = len(images), len(bank.pictures)
        n_pairs = len(images) * len(bank.pictures)
        if start is None:
            self._deltas = np.zeros((n_pairs, 2, measure.n_basis), np.float32)
        else:
            self._deltas = np.array(start, np.float32).reshape(n_pairs, 2, -1)
        upright = np.zeros(n_pairs, np.int8)
        self._orientations = upright if orientations is None else orientations.reshape(n_pairs)
        self._costs = np.full(n_pairs, np.inf, np.float32)
        self._status = np.full(n_pairs, Status.PRUNED, np.int8)

    def run_cold(self, stages: tuple[Stage, ...], prune: float) -> None:
        """Coarse to fine; pairs that are hopeless after a stage take no part in those after it."""
        levels = build_pyramid(self._images, self._measure.grids, self._measure.border)
        active: IntArray = np.arange(len(self._costs))
        for number, stage in enumerate(stages):
            if number:
                most = MAX_PAIRS[min(number, len(MAX_PAIRS) - 1)]
                active = active[self._status[active] != Status.PRUNED]
                active = self._near_best(self._costs, active, prune, most)
            if stage.affine:
                self._run_affine(stage, levels[stage.level], prune)
            else:
                pairs = self._pairs(levels[stage.level], stage.level)
                self._run(stage, pairs, active, self._costs, prune)
        self._active, self._sharp = active, self._pairs(self._images, 0)

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

    def run_warm(
        self,
        stages: tuple[Stage, ...],
        keep: IntArray | None,
        known: FloatArray | None,
        prune: float,
    ) -> None:
        """Refine the promising pairs, and each image's `keep`, on the sharp pictures alone."""
        sharp = self._pairs(self._images, 0)
        everyone: IntArray = np.arange(len(self._costs))
        looked_at = everyone
        if known is not None:
            self._costs = (known / self._energies[:, None]).astype(np.float32).ravel()
            looked_at = self._near_best(self._costs, everyone, prune**2)
        self._costs[looked_at] = self._measure.evaluate(
            self._bank.problems[0, False], sharp.subset(looked_at), self._deltas[looked_at]
        )
        chosen = self._near_best(self._costs, looked_at, prune)
        order = self._costs.copy()
        if keep is not None:
            kept = everyone.reshape(self._shape)[np.arange(len(keep)), keep]
            chosen = np.union1d(chosen, kept)
            order[kept] = -np.inf  # who comes first has nobody to lose the race against
        for stage in stages:
            self._run(stage, sharp, chosen, order, prune)

    def result(self) -> PairFits:
        """What the pairs have reached, by image and centroid."""
        costs = self._costs.reshape(self._shape).astype(np.float64) * self._energies[:, None]
        deltas = self._deltas.reshape(*self._shape, 2, -1)
        status, orientations = (
            array.reshape(self._shape) for array in (self._status, self._orientations)
        )
        return PairFits(costs, deltas, status, orientations)

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
            stage.evaluations,
            self._deltas[active],
            prune if stage.level or not np.isfinite(prune) else CLOSE,
        )

    def _run_affine(self, stage: Stage, images: FloatArray, prune: float) -> None:
        """The affine stage, from one start of the pairs after the other; the best is kept."""
        key = (stage.level, True)
        problem, curvature = self._bank.problems[key], self._bank.curvatures[key]
        for start in self._starts(images, problem.n_basis, prune):
            if not len(start.pairs):
                continue
            before = self._orientations
            self._orientations = before.copy()
            self._orientations[start.pairs] = start.orientations
            pairs = self._pairs(images, stage.level).subset(start.pairs)
            reached, costs, status = self._measure.minimize(
                problem, pairs, curvature, stage.evaluations, start.deltas.copy()
            )
            better = costs < start.share * self._costs[start.pairs]
            rows, worse = start.pairs[better], start.pairs[~better]
            self._deltas[rows] = self._embedded(reached[better])
            self._costs[rows], self._status[rows] = costs[better], status[better]
            self._orientations[worse] = before[worse]

    def _starts(self, images: FloatArray, n_basis: int, prune: float) -> Iterator[Start]:
        """Where the pairs start from that are not hopeless in any pose, and where some again."""
        everyone = np.arange(len(self._costs))
        if len(self._measure.orientations) > 1:
            yield from self._oriented_starts(images, prune)
            return
        upright = np.zeros(len(everyone), np.int8)
        unmoved = np.zeros((len(everyone), 2, n_basis), np.float32)
        if self._bank.starts is None:
            yield Start(everyone, upright, unmoved, 1.0)
            return
        poses, pose_costs = self._best_poses(images, self._gains)
        deltas, costs = self._bank.starts.deltas[poses.ravel()], pose_costs.ravel()
        self._deltas[:] = self._embedded(deltas)
        first = self._near_best(costs, everyone, PROMISING * prune, MAX_PAIRS[0])
        yield Start(first, upright[first], unmoved[first], 1.0)
        limits = np.minimum(self._costs, self._limits(self._costs, first, prune))
        is_moved = deltas.any(axis=(1, 2))
        again = first[is_moved[first] & (costs[first] < PROMISING * limits[first])]
        yield Start(again, upright[again], deltas[again], CLEARLY_BETTER)

    def _oriented_starts(self, images: FloatArray, prune: float) -> Iterator[Start]:
        """The best poses of each pair's most promising orientations."""
        assert self._bank.starts is not None
        n_orientations = len(self._measure.orientations)
        which = np.repeat(np.arange(len(images)), n_orientations)
        orientations = np.tile(np.arange(n_orientations), len(images))
        oriented = self._measure.orient_level(images, which, orientations, self._measure.cold_level)
        by_orientation = len(images), n_orientations, len(self._bank.pictures)
        poses, costs = (
            np.swapaxes(array.reshape(by_orientation), 1, 2).reshape(-1, n_orientations)
            for array in self._best_poses(oriented, self._gains[which])
        )
        ranking = np.argsort(costs, axis=1, kind="stable")[:, :N_REFINED_ORIENTATIONS].T
        everyone = np.arange(len(costs))
        deltas = [self._bank.starts.deltas[poses[everyone, rank]] for rank in ranking]
        self._deltas[:], self._orientations[:] = self._embedded(deltas[0]), ranking[0]
        chosen = self._near_best(costs.min(axis=1), everyone, PROMISING * prune, MAX_PAIRS[0])
        for rank in range(N_REFINED_ORIENTATIONS):
            orientations = ranking[rank, chosen].astype(np.int8)
            yield Start(chosen, orientations, deltas[rank][chosen], 1.0)

    def _best_poses(self, images: FloatArray, gains: FloatArray) -> tuple[IntArray, FloatArray]:
        assert self._bank.starts is not None
        return best_poses(self._bank.starts, images.reshape(len(images), -1), gains)

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
        n, k = self._shape
        image_of, centroid_of = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
        gain = self._gains[image_of]
        if len(self._measure.orientations) > 1:
            code = image_of * len(self._measure.orientations) + self._orientations
            used, image_of = np.unique(code, return_inverse=True)
            which, orientations = np.divmod(used, len(self._measure.orientations))
            images = self._measure.orient_level(images, which, orientations, level)
        image_is_warped = self._measure.direction == "image-to-centroid"
        centroids = self._bank.levels[level]
        templates, targets = (images, centroids) if image_is_warped else (centroids, images)
        (templates, template_norms), (targets, target_norms) = map(
            self._measure.intensity.level, (templates, targets)
        )
        return Pairs(
            templates=pad(templates, self._measure.border),
            targets=np.ascontiguousarray(targets.reshape(*targets.shape[:2], -1)),
            template_of=image_of if image_is_warped else centroid_of,
            target_of=centroid_of if image_is_warped else image_of,
            centroid_of=centroid_of,
            image_of=np.repeat(np.arange(n), k),
            gain=gain,
            template_norms=template_norms,
            target_norms=target_norms,
        )

    def _near_best(
        self, costs: FloatArray, pairs: IntArray, factor: float, most: int | None = None
    ) -> IntArray:
        """Those of `pairs` that cost at most `factor` times the best of them with their image.

        If that is finite, not more than the `most` best of an image.
        """
        return pairs[costs[pairs] <= self._limits(costs, pairs, factor, most)[pairs]]

    def _limits(
        self, costs: FloatArray, pairs: IntArray, factor: float, most: int | None = None
    ) -> FloatArray:
        """What each pair may cost to be among the best of its image, as `_near_best` says."""
        limits = np.full(self._shape, np.inf, np.float32)
        if np.isfinite(factor):
            limits.ravel()[pairs] = costs[pairs]
            highest = np.float32(factor) * limits.min(axis=1)
            if most is not None and most < limits.shape[1]:
                highest = np.minimum(highest, np.partition(limits, most - 1, axis=1)[:, most - 1])
            limits[:] = highest[:, None]
        return limits.ravel()

    def _embedded(self, affine: FloatArray) -> FloatArray:
        """Affine maps (n, 2, n_affine) as parameters of the whole warp."""
        return affine @ self._measure.embedding.T.astype(np.float32)
