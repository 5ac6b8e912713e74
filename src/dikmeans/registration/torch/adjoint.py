"""The adjoint of rendering, summed over the members of each cluster, on a device.

Many pixels add to one and in no certain order, which in floating point would show. The sums are
therefore taken in whole numbers, whose unit is so small that nothing is lost that double precision
would keep.
"""

from __future__ import annotations

import numpy as np
import torch

from dikmeans._typing import FloatArray
from dikmeans.registration.torch.sampling import (
    DeviceSampler,
    Templates,
    full_blocks,
    n_slots,
    upload,
)

# Largest whole number that a sum may reach.
_CEILING = 2.0**62


@torch.inference_mode()
def back_project(
    sampler: DeviceSampler,
    padded: FloatArray,
    targets: FloatArray,
    labels: FloatArray,
    weights: FloatArray,
    deltas: FloatArray,
    push: FloatArray,
    mass: FloatArray,
) -> None:
    """`dikmeans.registration.sampling.back_project` with the work done on the sampler's device."""
    device, templates = sampler.device, Templates(padded, sampler)
    # weights are counted as shares of their cluster's, so that a sum of them is at most 1
    totals = np.bincount(labels, weights=weights, minlength=len(padded))
    shares = weights / np.where(totals > 0, totals, 1.0)[labels]
    largest = float(np.abs(padded).max(initial=0)) + float(np.abs(targets).max(initial=0)) or 1.0
    unit_push, unit_mass = (reach * sampler.n_pixels / _CEILING for reach in (largest, 1.0))
    push_sums = torch.zeros(
        (push.shape[1], len(padded) * templates.size), dtype=torch.int64, device=device
    )
    mass_sums = torch.zeros(len(padded) * templates.size, dtype=torch.int64, device=device)

    members = full_blocks(
        len(labels), n_slots(targets[0].size, device), labels, shares, targets, deltas
    )
    for _, (some_labels, some_shares, some_targets, some_deltas) in members:
        first = upload(some_labels * templates.size, device).int()
        share = upload(some_shares, device)[:, None]
        places = sampler.places(upload(some_deltas, device))
        wanted = upload(some_targets, device).transpose(1, 2)
        residual = (wanted - templates.sample(first, places)).double()
        rows, columns = places.rows.double(), places.columns.double()
        corner = first[:, None] + places.cells
        for step, weight in (
            (0, (1 - rows) * (1 - columns)),
            (1, (1 - rows) * columns),
            (sampler.width, rows * (1 - columns)),
            (sampler.width + 1, rows * columns),
        ):
            where, part = (corner + step).reshape(-1), share * weight
            mass_sums.index_add_(0, where, _whole(part, unit_mass))
            for channel, sums in zip(residual.unbind(2), push_sums, strict=True):
                sums.index_add_(0, where, _whole(part * channel, unit_push))

    scale = totals[:, None]
    mass += scale * unit_mass * mass_sums.double().cpu().numpy().reshape(mass.shape)
    sums = push_sums.double().cpu().numpy().reshape(push.shape[1], len(push), -1)
    push += scale[..., None] * unit_push * np.swapaxes(sums, 0, 1)


def _whole(numbers: torch.Tensor, unit: float) -> torch.Tensor:
    return (numbers / unit).round().to(torch.int64).reshape(-1)
