r"""Orientation: in which of several turned, or turned and mirrored, versions an image is compared.

Letters stand upright; coins, cells and particles lie as they fell. Where any angle is asked for,
every image is compared in 16 orientations :math:`O_r`, 22.5 degrees apart (32 with their mirror
images), and the deformation begins where the turn has ended:

.. math:: x_r(p) = x(O_r\,p), \qquad d(x, \mu) = \min_r d(x_r, \mu).

What lies between two orientations is left to the warp, so every angle is reached. The penalty sees
the warp of the turned image alone: a turn as such costs nothing, and a learned deformation prior
lies in the centroid's own frame. The whole map between image and centroid is the warp together with
:math:`O_r`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from dikmeans._typing import FloatArray

Orientation = Literal["upright", "any", "any-mirrored"]
ORIENTATIONS: tuple[Orientation, ...] = ("upright", "any", "any-mirrored")

N_TURNS = 16


def orientation_matrices(orientation: Orientation) -> FloatArray:
    """The matrices O_r of an orientation parameter, shape (n, 2, 2); the first is the identity.

    Examples
    --------
    >>> [len(orientation_matrices(name)) for name in ORIENTATIONS]
    [1, 16, 32]
    """
    if orientation == "upright":
        return np.eye(2)[None]
    angles = 2 * np.pi * np.arange(N_TURNS) / N_TURNS
    cosines, sines = np.cos(angles), np.sin(angles)
    turns = np.moveaxis(np.array([[cosines, -sines], [sines, cosines]]), 2, 0)
    if orientation == "any":
        return turns
    return np.concatenate([turns, turns @ np.diag([1.0, -1.0])])
