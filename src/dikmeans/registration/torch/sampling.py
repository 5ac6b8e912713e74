"""Bilinear sampling of many pictures at once, with the conventions of the compiled version.

Between four pixels a, b (right of it), c (below) and d the picture is ``a + x (b - a) + y (c - a) +
x y (a - b - c + d)``. Templates are stored as these four coefficients side by side, for each pixel
and channel: a sample is one access to memory instead of four.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from dikmeans._typing import Array, FloatArray
from dikmeans.registration.sampling import Sampler

# Numbers that are worked on at once, for each temporary array: enough to keep the device busy, few
# enough for its memory (a dozen arrays of that size are alive at a time) or for the processor's
# cache.
NUMBERS_AT_ONCE = {"cpu": 2**17, "cuda": 2**22}


class Places(NamedTuple):
    """Where samples are taken.

    Attributes
    ----------
    cells : int32 tensor of shape (n, n_pixels)
        Index of the upper left neighbor in the padded template.
    rows, columns : float32 tensors of shape (n, n_pixels)
        Fractions beyond it.
    """

    cells: torch.Tensor
    rows: torch.Tensor
    columns: torch.Tensor


class DeviceSampler:
    """A `Sampler` on a device, for warps (n, 2, n_basis) of n templates at once."""

    def __init__(self, sampler: Sampler, device: torch.device):
        self.device = device
        self.width = sampler.width
        self.phi, self.base = upload(sampler.phi, device), upload(sampler.base, device)
        self.scale = upload(sampler.scale, device)[:, None]
        self._limit = upload(sampler.limit, device)[:, None]

    @property
    def n_basis(self) -> int:
        """Number of basis functions of the warp."""
        return len(self.phi)

    @property
    def n_pixels(self) -> int:
        """Pixels of a picture."""
        return self.phi.shape[1]

    def places(self, deltas: torch.Tensor) -> Places:
        """Where all pixels take their values from under the warps ``identity + deltas``."""
        moved = (self.scale * deltas).reshape(-1, self.n_basis) @ self.phi
        places = moved.reshape(-1, 2, self.n_pixels) + self.base
        # NaN becomes zero and cannot point outside
        places = torch.minimum(places.nan_to_num_(nan=0.0).clamp_(min=0), self._limit)
        corners = places.to(torch.int32)
        rows, columns = (places - corners).unbind(1)
        return Places(corners[:, 0] * self.width + corners[:, 1], rows, columns)

    def project(self, slopes: torch.Tensor) -> torch.Tensor:
        """Phi^T times `slopes` (n, 2, n_pixels): shape (n, 2, n_basis)."""
        projected = slopes.reshape(-1, self.n_pixels) @ self.phi.T
        return self.scale * projected.reshape(-1, 2, self.n_basis)


class Templates:
    """Padded pictures (n, C, padded pixels), ready to be sampled."""

    def __init__(self, padded: FloatArray, sampler: DeviceSampler):
        a = upload(padded, sampler.device)
        b, c, d = (a.roll(-step, 2) for step in (1, sampler.width, sampler.width + 1))
        packed = torch.stack([a, b - a, c - a, a - b - c + d], dim=-1)
        self.n_channels, self.size = packed.shape[1:3]
        # (picture and pixel, channel and coefficient)
        self._rows = packed.transpose(1, 2).reshape(-1, 4 * self.n_channels)

    def coefficients(self, first: torch.Tensor, cells: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Four coefficients, each (n, n_pixels, C), at cells of pictures that begin at `first`."""
        chosen = self._rows.index_select(0, (first[:, None] + cells).reshape(-1))
        return chosen.reshape(*cells.shape, self.n_channels, 4).unbind(-1)

    def sample(self, first: torch.Tensor, places: Places) -> torch.Tensor:
        """Values (n, n_pixels, C) at `places` of the pictures that begin at `first`."""
        value, across, down, twist = self.coefficients(first, places.cells)
        rows, columns = places.rows[..., None], places.columns[..., None]
        return value + columns * across + rows * (down + columns * twist)


def upload(array: Array, device: torch.device) -> torch.Tensor:
    """A copy of `array` on `device`."""
    return torch.tensor(np.asarray(array), device=device)


def full_blocks(n: int, size: int, *arrays: FloatArray) -> Iterator[tuple[slice, list[FloatArray]]]:
    """Cut arrays of `n` rows into blocks of exactly `size` rows, the last padded with zeros."""
    for first in range(0, n, size):
        rows = slice(first, min(first + size, n))
        missing = size - (rows.stop - first)
        yield rows, [np.pad(a[rows], [(0, missing)] + [(0, 0)] * (a.ndim - 1)) for a in arrays]


@torch.inference_mode()
def render_pairs(
    sampler: DeviceSampler, padded: FloatArray, which: FloatArray, deltas: FloatArray
) -> FloatArray:
    """Warp template ``which[i]`` by ``deltas[i]``, for every i: (n, C, n_pixels)."""
    templates = Templates(padded, sampler)
    out = np.empty((len(which), templates.n_channels, sampler.n_pixels), np.float32)
    size = n_slots(out[:1].size, sampler.device)
    for rows, (starts, warps) in full_blocks(len(which), size, which * templates.size, deltas):
        first = upload(starts, sampler.device).int()
        places = sampler.places(upload(warps, sampler.device))
        values = templates.sample(first, places).transpose(1, 2)
        out[rows] = values[: rows.stop - rows.start].cpu().numpy()
    return out


def n_slots(numbers: int, device: torch.device) -> int:
    """How many pairs of so many `numbers` each are worked on at once; depends on nothing else."""
    return max(1, NUMBERS_AT_ONCE[device.type] // numbers)
