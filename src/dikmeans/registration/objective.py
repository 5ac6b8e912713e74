r"""The compiled objective: cost and gradient of one (template, target) pair.

For a warp :math:`\nu = \nu_{id} + \delta` with basis :math:`\Phi`,

.. math::
    f(\delta) = a \sum_p (T(F(p)) - G(p))^2 + \delta^T Q\,\delta, \qquad
    \nabla f = 2\,a\,\Phi^T (r\,\nabla T) + 2\,Q\,\delta,

where :math:`T` is the template, :math:`G` the target, :math:`r` their difference and :math:`a` a
gain (one over the image's energy, so that scaling all pictures changes nothing). The warp is linear
in its parameters, so the gradient is two passes with the constant matrix :math:`\Phi` around one
pass over the pixels; nothing is stored but a few rows of pixels.

Where light and contrast are solved for (`dikmeans.registration.intensity`), the pass over the
pixels becomes two: sums, and with the gain and offset that follow from them the residual.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dikmeans._typing import FloatArray, IntArray
from dikmeans.registration.intensity import GAIN_WEIGHT
from dikmeans.registration.sampling import FAST, Sampler, gather, locate, split

N_WORK_ROWS = 8
NO_NORMS = np.empty((0, 0), np.float32)


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
        have mean zero then. Empty where they are not.
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


@njit(fastmath=FAST, nogil=True, cache=True, forceinline=True)
def residual(corners, rows, columns, target, gain, first, slopes):
    """Squared residual of one channel times the gain; adds residual times slope to `slopes`."""
    cost = np.float32(0)
    for p in range(target.shape[0]):
        a, b, c, d = corners[0, p], corners[1, p], corners[2, p], corners[3, p]
        fy, fx = rows[p], columns[p]
        upper_step, lower_step = b - a, d - c
        upper = a + fx * upper_step
        down = c + fx * lower_step - upper
        r = upper + fy * down - target[p]
        cost += r * r
        r *= gain
        across = upper_step + fy * (lower_step - upper_step)
        if first:
            slopes[0, p] = r * down
            slopes[1, p] = r * across
        else:
            slopes[0, p] += r * down
            slopes[1, p] += r * across
    return gain * cost


@njit(fastmath=FAST, nogil=True, cache=True, forceinline=True)
def matched_residual(corners, rows, columns, target, gain, norms, first, slopes):
    """`residual` after the best gain and offset; `norms` are those of template and target.

    Values and slopes at the pixels replace three of the `corners`.
    """
    template_norm, target_norm = norms
    weight, zero, one = np.float32(GAIN_WEIGHT), np.float32(0), np.float32(1)
    if target_norm < zero:  # blank
        if first:
            slopes[:] = 0
        return gain * (one + weight) * max(template_norm, zero) ** 2
    template_norm = max(template_norm, zero)
    total = square = product = np.float32(0)
    n_pixels = target.shape[0]
    for p in range(n_pixels):
        a, b, c, d = corners[0, p], corners[1, p], corners[2, p], corners[3, p]
        fy, fx = rows[p], columns[p]
        upper_step, lower_step = b - a, d - c
        upper = a + fx * upper_step
        down = c + fx * lower_step - upper
        value = upper + fy * down
        corners[0, p] = value
        corners[1, p] = down
        corners[2, p] = upper_step + fy * (lower_step - upper_step)
        total += value
        square += value * value
        product += value * target[p]
    mean = total / np.float32(n_pixels)
    below = max(square - total * mean, zero) + weight * template_norm * template_norm
    contrast = one
    if below > zero:
        contrast = max((product + weight * template_norm * target_norm) / below, zero)
    cost, steepness = zero, gain * contrast
    for p in range(n_pixels):
        r = contrast * (corners[0, p] - mean) - target[p]
        cost += r * r
        r *= steepness
        if first:
            slopes[0, p] = r * corners[1, p]
            slopes[1, p] = r * corners[2, p]
        else:
            slopes[0, p] += r * corners[1, p]
            slopes[1, p] += r * corners[2, p]
    excess = contrast * template_norm - target_norm
    return gain * (cost + weight * excess * excess)


@njit(fastmath=FAST, nogil=True, cache=True, forceinline=True)
def project(sampler, slopes, gradient):
    """Phi^T times the slopes: the data term's gradient (halved) in `gradient` (2, n_basis)."""
    phi, scale = sampler.phi, sampler.scale
    n_basis, n_pixels = phi.shape
    j = 0
    while j + 4 <= n_basis:
        y0 = y1 = y2 = y3 = x0 = x1 = x2 = x3 = np.float32(0)
        for p in range(n_pixels):
            sy, sx = slopes[0, p], slopes[1, p]
            f0, f1, f2, f3 = phi[j, p], phi[j + 1, p], phi[j + 2, p], phi[j + 3, p]
            y0 += sy * f0
            y1 += sy * f1
            y2 += sy * f2
            y3 += sy * f3
            x0 += sx * f0
            x1 += sx * f1
            x2 += sx * f2
            x3 += sx * f3
        gradient[0, j], gradient[0, j + 1] = scale[0] * y0, scale[0] * y1
        gradient[0, j + 2], gradient[0, j + 3] = scale[0] * y2, scale[0] * y3
        gradient[1, j], gradient[1, j + 1] = scale[1] * x0, scale[1] * x1
        gradient[1, j + 2], gradient[1, j + 3] = scale[1] * x2, scale[1] * x3
        j += 4
    while j < n_basis:
        y0 = x0 = np.float32(0)
        for p in range(n_pixels):
            y0 += slopes[0, p] * phi[j, p]
            x0 += slopes[1, p] * phi[j, p]
        gradient[0, j], gradient[1, j] = scale[0] * y0, scale[1] * x0
        j += 1


@njit(fastmath=FAST, nogil=True, cache=True, forceinline=True)
def add_penalty(penalty, delta, gradient):
    """Return delta^T Q delta; `gradient`, halved on entry, becomes the whole gradient."""
    # one row of numbers, from zero on: an offset in an index would keep the compiler from using
    # vector units
    parameters, slopes = delta.ravel(), gradient.ravel()
    cost = np.float32(0)
    for i in range(parameters.shape[0]):
        row = penalty[i]
        pull = np.float32(0)
        for j in range(parameters.shape[0]):
            pull += row[j] * parameters[j]
        cost += pull * parameters[i]
        slopes[i] = np.float32(2) * (slopes[i] + pull)
    return cost


@njit(fastmath=FAST, nogil=True, cache=True, forceinline=True)
def data_term(problem, pairs, pair, delta, work, cells):
    """Cost of pair number `pair` without the penalty; residual times slope is in ``work[2:4]``."""
    rows, columns, slopes, corners = work[0], work[1], work[2:4], work[4:8]
    template = pairs.templates[pairs.template_of[pair]]
    target = pairs.targets[pairs.target_of[pair]]
    locate(problem.sampler, delta, rows, columns)
    split(problem.sampler, rows, columns, cells)
    cost = np.float32(0)
    for c in range(template.shape[0]):
        gather(template[c], problem.sampler.width, cells, corners)
        if pairs.template_norms.size:
            norms = (
                pairs.template_norms[pairs.template_of[pair], c],
                pairs.target_norms[pairs.target_of[pair], c],
            )
            cost += matched_residual(
                corners, rows, columns, target[c], pairs.gain[pair], norms, c == 0, slopes
            )
        else:
            cost += residual(corners, rows, columns, target[c], pairs.gain[pair], c == 0, slopes)
    return cost


@njit(fastmath=FAST, nogil=True, cache=True, forceinline=True)
def evaluate(problem, pairs, pair, delta, gradient, work, cells):
    """Cost of pair number `pair` at `delta` (2, n_basis); its gradient goes into `gradient`.

    `work` (N_WORK_ROWS, n_pixels) float32 and `cells` (n_pixels,) uint32 are scratch space.
    """
    cost = data_term(problem, pairs, pair, delta, work, cells)
    project(problem.sampler, work[2:4], gradient)
    return cost + add_penalty(problem.penalties[pairs.centroid_of[pair]], delta, gradient)


@njit(fastmath=FAST, nogil=True, cache=True)
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


@njit(fastmath=FAST, nogil=True, cache=True)
def evaluate_pairs(problem, pairs, deltas, costs):
    """Cost of every pair at its `deltas` (n_pairs, 2, n_basis)."""
    n_pixels = problem.sampler.base.shape[1]
    work, cells = np.empty((N_WORK_ROWS, n_pixels), np.float32), np.empty(n_pixels, np.uint32)
    gradient = np.empty((2, problem.sampler.phi.shape[0]), np.float32)
    for i in range(costs.shape[0]):
        cost = data_term(problem, pairs, i, deltas[i], work, cells)
        gradient[:] = 0  # of the penalty alone, and not used
        costs[i] = cost + add_penalty(problem.penalties[pairs.centroid_of[i]], deltas[i], gradient)
