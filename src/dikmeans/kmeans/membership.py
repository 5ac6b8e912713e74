r"""Soft membership: how sure an assignment is, from costs alone.

If the cost of a member is a sum of squared normal residuals, it follows a gamma law, with density
proportional to :math:`c^{a-1} e^{-c/T}`. Its scale T, fitted by maximum likelihood to the costs of
all images in their nearest clusters, is the temperature of

.. math::
    p_k = \frac{e^{-c_k / T}}{\sum_j e^{-c_j / T}}.

No label is involved.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, softmax

from dikmeans._typing import FloatArray


def learn_temperature(costs: FloatArray) -> float:
    """The scale of the gamma law of the costs of images in their nearest clusters.

    In closed form (Minka 2002), 1.5 % from the maximum of the likelihood at most. 0 if all costs
    are equal: then nothing is known about their spread, and membership is certain.

    Examples
    --------
    >>> costs = np.random.default_rng(0).gamma(5.0, 0.02, size=10_000)
    >>> round(learn_temperature(costs), 3)
    0.02
    """
    positive = costs[costs > 0]
    if not len(positive):
        return 0.0
    spread = float(np.log(positive.mean()) - np.log(positive).mean())
    if spread <= np.finfo(np.float32).eps:
        return 0.0
    shape = (3 - spread + np.sqrt((spread - 3) ** 2 + 24 * spread)) / (12 * spread)
    return float(positive.mean() / shape)


def membership(costs: FloatArray, temperature: float) -> FloatArray:
    """Probability-like memberships (N, K) from costs (N, K); rows sum to one."""
    above = costs - costs.min(axis=1, keepdims=True)
    if temperature == 0:
        nearest = above == 0
        return nearest / nearest.sum(axis=1, keepdims=True)
    probabilities: FloatArray = softmax(-above / temperature, axis=1)
    return probabilities


def confidence(margins: FloatArray, temperature: float) -> FloatArray:
    """Membership of images in their clusters, were there only the second-best one beside it."""
    if temperature == 0:
        return np.where(margins > 0, 1.0, np.where(margins < 0, 0.0, 0.5))
    return np.where(np.isnan(margins), 1.0, expit(margins / temperature))
