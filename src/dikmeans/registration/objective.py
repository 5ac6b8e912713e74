r"""The compiled objective: cost and gradient of one (template, target) pair.

For a warp :math:`\nu = \nu_{id} + \delta` with basis :math:`\Phi`,

.. math::
    f(\delta) = a \sum_p (T(F(p)) - G(p))^2 + \delta^T Q\,\delta, \qquad
    \nabla f = 2\,a\,\Phi^T (r\,\nabla T) + 2\,Q\,\delta,

where :math:`T` is the template, :math:`G` the target, :math:`r` their difference and :math:`a` a
gain (one over the image's energy, so that scaling all pictures changes nothing). The warp is linear
in its parameters, so the gradient is two passes with the constant matrix :math:`\Phi` around one
pass over the pixels; nothing is stored but a few rows of pixels. Pixels where :math:`r\,\nabla T`
is zero, as on an even ground that meets its like, are left out of the second pass, block by block.

Where light and contrast are solved for (`dikmeans.registration.intensity`), the pass over the
pixels becomes two: sums, and with the gain and offset that follow from them the residual.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dikmeans._typing import FloatArray, IntArray
from dikmeans.registration.intensity import GAIN_WEIGHT
from dikmeans.registration.lanes import (
    N_LANES,
    any_nonzero,
    fma,
    gather,
    load,
    splat,
    store,
    total,
)
from dikmeans.registration.sampling import (
    FAST,
    GROUP,
    INLINED,
    NO_REFCOUNTS,
    STRIDE,
    Sampler,
    locate,
)

NO_NORMS = np.empty(0, np.float32)


class Pairs(NamedTuple):
    """Pairs to be aligned; all pictures lie on the grid of one pyramid level.

    Attributes
    ----------
    templates : float32 array of shape (n_templates, C, padded pixels)
    targets : float32 array of shape (n_targets, C, n_pixels)
    template_of, target_of, centroid_of : int64 arrays of shape (n_pairs,)
        Which pictures make the pair, and which centroid's curvature belongs to it.
    image_of : int64 array of shape (n_pairs,)
        The image in the pair; pairs of one image stand together.
    gain : float32 array of shape (n_pairs,)
    template_norms, target_norms : float32 arrays of shape (n_templates, C) and (n_targets, C)
        Norms of the channels without their means, where light and contrast are solved for; targets
        have mean zero then. Empty, and of one axis, where they are not.
    """

    templates: FloatArray
    targets: FloatArray
    template_of: IntArray
    target_of: IntArray
    centroid_of: IntArray
    image_of: IntArray
    gain: FloatArray
    template_norms: FloatArray = NO_NORMS
    target_norms: FloatArray = NO_NORMS

    def subset(self, chosen: IntArray) -> Pairs:
        """The pairs at the indices `chosen`."""
        return self._replace(
            template_of=self.template_of[chosen],
            target_of=self.target_of[chosen],
            centroid_of=self.centroid_of[chosen],
            image_of=self.image_of[chosen],
            gain=self.gain[chosen],
        )


class Problem(NamedTuple):
    """One stage of an alignment.

    Attributes
    ----------
    sampler : Sampler
        How templates are sampled.
    penalties : float32 array of shape (K, 2 n_basis, 2 n_basis)
        The matrix Q of the objective, for each centroid.
    priors : float32 array of shape (K, 2 n_basis, 2 n_basis)
        As `penalties`, but never weaker than a slight stiffness: what a solver may expect of warps
        where the pictures say nothing. It changes the way, not the goal.
    """

    sampler: Sampler
    penalties: FloatArray
    priors: FloatArray

    @property
    def n_basis(self) -> int:
        """Number of basis functions of the stage's warp."""
        return len(self.sampler.phi)


class Work(NamedTuple):
    """Scratch space for one evaluation after the other; pixels lie in the sampler's block order.

    Attributes
    ----------
    cells : uint32 array of shape (n_places,)
    rows, columns : float32 arrays of shape (n_places,)
        Where the pixels take their values from: a neighbor, and the fractions beyond it.
    slopes : float32 array of shape (2, n_places)
        Residual times slope.
    rendered : float32 array of shape (3, n_places)
        Value and slopes of the warped template, where light and contrast are solved for.
    active : int array of shape (n_places / N_LANES,)
        Blocks of pixels with slopes.
    target : float32 array of shape (C, n_places)
        The target in block order.
    target_number : int array of shape (1,)
        Which one that is.
    """

    cells: IntArray
    rows: FloatArray
    columns: FloatArray
    slopes: FloatArray
    rendered: FloatArray
    active: IntArray
    target: FloatArray
    target_number: IntArray


def make_work(problem: Problem, pairs: Pairs) -> Work:
    """Scratch space for evaluations of these pairs."""
    n_places = len(problem.sampler.block_weight)
    return Work(
        cells=np.empty(n_places, np.uint32),
        rows=np.empty(n_places, np.float32),
        columns=np.empty(n_places, np.float32),
        slopes=np.empty((2, n_places), np.float32),
        rendered=np.empty((3, n_places), np.float32),
        active=np.empty(n_places // N_LANES, np.int64),
        target=np.zeros((pairs.targets.shape[1], n_places), np.float32),
        target_number=np.full(1, -1),
    )


@njit(**INLINED)
def take_target(sampler, targets, number, work):
    """Bring a target into block order, if it is not the one that is there."""
    if work.target_number[0] == number:
        return
    work.target_number[0] = number
    for c in range(targets.shape[1]):
        for p in range(sampler.order.shape[0]):
            work.target[c, p] = targets[number, c, sampler.order[p]]


@njit(error_model="numpy", **INLINED)
def matched_residual(sampler, templates, number, channel, gain, norms, work):
    """`residual` after the best gain and offset; `norms` are those of template and target."""
    template_norm, target_norm = norms
    weight, zero, one = np.float32(GAIN_WEIGHT), np.float32(0), np.float32(1)
    template_norm = max(template_norm, zero)
    if target_norm < zero:  # blank, in all channels
        return gain * (one + weight) * template_norm**2, 0
    cells, rows, columns, slopes, active, rendered = (
        work.cells, work.rows, work.columns, work.slopes, work.active, work.rendered
    )  # fmt: skip
    target, inside, width = work.target[channel], sampler.block_weight, sampler.width
    n_places, n_pixels = inside.shape[0], np.float32(sampler.order.shape[0])
    picture = (number * templates.shape[1] + channel) * templates.shape[2]
    values = squares = products = splat(zero)
    for p in range(0, n_places, N_LANES):
        a, b, c, d = gather(templates, picture, width, cells, p)
        y, x = load(rows, p), load(columns, p)
        upper_step, lower_step = b - a, d - c
        upper = fma(x, upper_step, a)
        down = fma(x, lower_step, c) - upper
        value = fma(y, down, upper) * load(inside, p)
        store(value, rendered, p)
        store(down, rendered, n_places + p)
        store(fma(y, lower_step - upper_step, upper_step), rendered, 2 * n_places + p)
        values = values + value
        squares = fma(value, value, squares)
        products = fma(value, load(target, p), products)
    mean = total(values) / n_pixels
    below = max(total(squares) - total(values) * mean, zero)
    below += weight * template_norm * template_norm
    contrast = one
    if below > zero:
        contrast = max((total(products) + weight * template_norm * target_norm) / below, zero)
    cost, n_active = splat(zero), 0
    factor, offset, steepness = splat(contrast), splat(contrast * mean), splat(gain * contrast)
    for p in range(0, n_places, N_LANES):
        r = (factor * load(rendered, p) - offset - load(target, p)) * load(inside, p)
        cost = fma(r, r, cost)
        r = r * steepness
        down, across = r * load(rendered, n_places + p), r * load(rendered, 2 * n_places + p)
        if channel > 0:
            down, across = down + load(slopes, p), across + load(slopes, n_places + p)
        store(down, slopes, p)
        store(across, slopes, n_places + p)
        active[n_active] = p
        n_active += any_nonzero(down, across)
    excess = contrast * template_norm - target_norm
    return gain * (total(cost) + weight * excess * excess), n_active


@njit(**INLINED)
def residual(template_norms, target_norms, sampler, pairs, pair, channel, work):
    """Squared residual of a channel times the gain; adds residual times slope to the slopes.

    Returns the number of blocks that have slopes as well.
    """
    templates, template, gain = pairs.templates, pairs.template_of[pair], pairs.gain[pair]
    # the compiler knows the number of axes of an argument, and leaves out the other way
    if template_norms.ndim == 2:
        norms = template_norms[template, channel], target_norms[pairs.target_of[pair], channel]
        return matched_residual(sampler, templates, template, channel, gain, norms, work)
    cells, rows, columns, slopes, active = (
        work.cells, work.rows, work.columns, work.slopes, work.active
    )  # fmt: skip
    target, weight, width = work.target[channel], sampler.block_weight, sampler.width
    n_places = weight.shape[0]
    picture = (template * templates.shape[1] + channel) * templates.shape[2]
    cost, steepness, n_active = splat(np.float32(0)), splat(gain), 0
    for p in range(0, n_places, N_LANES):
        a, b, c, d = gather(templates, picture, width, cells, p)
        y, x = load(rows, p), load(columns, p)
        upper_step, lower_step = b - a, d - c
        upper = fma(x, upper_step, a)
        down = fma(x, lower_step, c) - upper
        across = fma(y, lower_step - upper_step, upper_step)
        r = (fma(y, down, upper) - load(target, p)) * load(weight, p)
        cost = fma(r, r, cost)
        r = r * steepness
        down, across = r * down, r * across
        if channel > 0:
            down, across = down + load(slopes, p), across + load(slopes, n_places + p)
        store(down, slopes, p)
        store(across, slopes, n_places + p)
        active[n_active] = p
        n_active += any_nonzero(down, across)
    return gain * total(cost), n_active


@njit(**INLINED)
def complete(sampler, n_active, gradient, work):
    """Complete a gradient: from what the penalty pulls to ``2 (pull + Phi^T slopes)``.

    `n_active` is the number of blocks in ``work.active``, the only ones that count.
    """
    slopes, active = work.slopes, work.active
    blocks, n_basis, n_places = sampler.blocks, sampler.phi.shape[0], slopes.shape[1]
    n_filled, two = blocks.shape[1], np.float32(2)
    scale_y, scale_x = sampler.scale
    for j in range(0, n_basis, GROUP):
        y0 = y1 = y2 = y3 = x0 = x1 = x2 = x3 = splat(np.float32(0))
        for i in range(n_active):
            p = active[i]
            down, across = load(slopes, p), load(slopes, n_places + p)
            place = (p // STRIDE * n_filled + j) * STRIDE + p % STRIDE
            f0, f1 = load(blocks, place), load(blocks, place + STRIDE)
            f2, f3 = load(blocks, place + 2 * STRIDE), load(blocks, place + 3 * STRIDE)
            y0, y1, y2, y3 = (
                fma(down, f0, y0),
                fma(down, f1, y1),
                fma(down, f2, y2),
                fma(down, f3, y3),
            )
            x0, x1, x2, x3 = (
                fma(across, f0, x0),
                fma(across, f1, x1),
                fma(across, f2, x2),
                fma(across, f3, x3),
            )
        sums = (
            (total(y0), total(x0)), (total(y1), total(x1)),
            (total(y2), total(x2)), (total(y3), total(x3)),
        )  # fmt: skip
        for i in range(min(GROUP, n_basis - j)):
            y, x = sums[i]
            row, column = j + i, n_basis + j + i
            gradient[row] = two * (gradient[row] + scale_y * y)
            gradient[column] = two * (gradient[column] + scale_x * x)


@njit(fastmath=FAST, **INLINED)
def penalize(penalty, delta, pull):
    """Return delta^T Q delta; Q delta goes into `pull`."""
    cost = np.float32(0)
    for i in range(delta.shape[0]):
        row = penalty[i]
        product = np.float32(0)
        for j in range(delta.shape[0]):
            product += row[j] * delta[j]
        cost += product * delta[i]
        pull[i] = product
    return cost


@njit(**INLINED)
def evaluate(problem, pairs, pair, delta, gradient, work):
    """Cost of pair number `pair` at `delta`, and the number of its active blocks.

    `delta` and `gradient` are flat, parameters of rows before those of columns. The gradient is
    begun in `gradient`; `complete` finishes it, where it is needed.
    """
    sampler = problem.sampler
    take_target(sampler, pairs.targets, pairs.target_of[pair], work)
    locate(sampler, delta, work.cells, work.rows, work.columns)
    cost, n_active = penalize(problem.penalties[pairs.centroid_of[pair]], delta, gradient), 0
    for c in range(pairs.targets.shape[1]):
        of_channel, n_active = residual(
            pairs.template_norms, pairs.target_norms, sampler, pairs, pair, c, work
        )
        cost += of_channel
    return cost, n_active


@njit(fastmath=FAST, **NO_REFCOUNTS)
def unmoved_costs(pairs, shape, padding, costs):
    """Cost of every pair at the identity, where each pixel simply meets its like."""
    rows, columns = shape
    width = columns + 2 * padding
    for i in range(costs.shape[0]):
        template = pairs.templates[pairs.template_of[i]]
        target = pairs.targets[pairs.target_of[i]]
        cost = np.float32(0)
        for c in range(template.shape[0]):
            for row in range(rows):
                start = (row + padding) * width + padding
                for column in range(columns):
                    r = template[c, start + column] - target[c, row * columns + column]
                    cost += r * r
        costs[i] = pairs.gain[i] * cost


def evaluate_pairs(problem: Problem, pairs: Pairs, deltas: FloatArray) -> FloatArray:
    """Cost of every pair at its `deltas` (n_pairs, 2, n_basis)."""
    costs = np.empty(len(deltas), np.float32)
    flat = deltas.reshape(len(deltas), 2 * problem.n_basis)
    pull = np.empty(flat.shape[1], np.float32)
    _evaluate_pairs(problem, pairs, flat, costs, pull, make_work(problem, pairs))
    return costs


@njit(**NO_REFCOUNTS)
def _evaluate_pairs(problem, pairs, deltas, costs, pull, work):
    for i in range(costs.shape[0]):
        costs[i] = evaluate(problem, pairs, i, deltas[i], pull, work)[0]
