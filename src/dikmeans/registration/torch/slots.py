"""A fixed number of slots, one pair in each: costs and gradients of all of them at once.

The formula is that of `dikmeans.registration.objective`.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from dikmeans.registration.intensity import GAIN_WEIGHT
from dikmeans.registration.objective import Pairs, Problem
from dikmeans.registration.torch.sampling import DeviceSampler, Templates, n_slots, upload


class Slots:
    """Places for pairs of `pairs`.

    How many there are depends on the size of the problem alone, not on the number of pairs; a slot
    that holds no pair is computed like the others and ignored.

    Parameters
    ----------
    problem : Problem
    pairs : Pairs
        Pairs that may be loaded.
    device : torch.device
    """

    def __init__(self, problem: Problem, pairs: Pairs, device: torch.device):
        self.sampler = DeviceSampler(problem.sampler, device)
        self.n_pairs = len(pairs.gain)
        self._all_templates = Templates(pairs.templates, self.sampler)
        self._all_targets = upload(pairs.targets, device).transpose(1, 2).contiguous()
        self._all_penalties = upload(problem.penalties, device)
        self._first_of = upload(pairs.template_of, device) * self._all_templates.size
        self._target_of = upload(pairs.target_of, device)
        self._gain_of = upload(pairs.gain, device)
        self.centroid_of = upload(pairs.centroid_of, device)
        # where light and contrast are solved for: norms (n_pairs, C) of the channels
        self._is_matched = pairs.template_norms.size > 0
        if self._is_matched:
            self._template_norm_of = upload(pairs.template_norms[pairs.template_of], device)
            self._target_norm_of = upload(pairs.target_norms[pairs.target_of], device)

        n_parameters = problem.penalties.shape[-1]
        # matrices are kept, but no step of the work makes temporary arrays of their size
        n = n_slots(self._all_targets[0].numel() + n_parameters**2 // 4, device)
        self.n_slots, self.n_parameters = n, n_parameters
        self._first = torch.zeros(n, dtype=torch.int32, device=device)
        self._targets = torch.zeros((n, *self._all_targets.shape[1:]), device=device)
        self._penalties = torch.zeros((n, n_parameters, n_parameters), device=device)
        self._gain = torch.zeros(n, device=device)
        n_channels = self._all_targets.shape[2]
        self._template_norms, self._target_norms = torch.zeros((2, n, n_channels), device=device)

    def load(self, slots: torch.Tensor, pairs: torch.Tensor) -> None:
        """Put the pairs numbered `pairs` into the slots numbered `slots`."""
        self._first[slots] = self._first_of[pairs].to(torch.int32)
        self._targets[slots] = self._all_targets[self._target_of[pairs]]
        self._penalties[slots] = self._all_penalties[self.centroid_of[pairs]]
        self._gain[slots] = self._gain_of[pairs]
        if self._is_matched:
            self._template_norms[slots] = self._template_norm_of[pairs]
            self._target_norms[slots] = self._target_norm_of[pairs]

    def blocks(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """All pairs, as many at a time as there are slots: pairs, and the slots that hold them."""
        everyone = torch.arange(self.n_pairs, device=self._gain.device)
        for first in range(0, self.n_pairs, self.n_slots):
            pairs = everyone[first : first + self.n_slots]
            self.load(pairs - first, pairs)
            yield pairs, pairs - first

    def evaluate(self, deltas: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Costs (n_slots,) and gradients, as `deltas` (n_slots, n_parameters)."""
        n = self.n_slots
        cells, rows, columns = self.sampler.places(deltas.reshape(n, 2, -1))
        rows, columns = rows[..., None], columns[..., None]
        value, across, down, twist = self._all_templates.coefficients(self._first, cells)
        residual = value + columns * across
        down = down + columns * twist
        across = across + rows * twist
        residual += rows * down
        if self._is_matched:
            residual, gains, costs = self._matched(residual)
            down, across = gains * down, gains * across
        else:
            residual -= self._targets
            costs = residual.square().sum(dim=(1, 2))
        costs = self._gain * costs
        residual *= self._gain[:, None, None]
        slopes = torch.stack([(residual * down).sum(2), (residual * across).sum(2)], dim=1)
        pull = torch.bmm(self._penalties, deltas[..., None])[..., 0]
        gradients = 2 * (self.sampler.project(slopes).reshape(n, -1) + pull)
        return costs + (pull * deltas).sum(1), gradients

    def _matched(self, warped: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Residuals of `warped` (n_slots, n_pixels, C) after the best gain and offset; costs.

        The gains (n_slots, 1, C) are between the two.
        """
        centered = warped - warped.mean(dim=1, keepdim=True)
        template, target = self._template_norms.clamp(min=0), self._target_norms
        is_blank = target < 0
        above = (centered * self._targets).sum(1) + GAIN_WEIGHT * template * target
        below = centered.square().sum(1) + GAIN_WEIGHT * template.square()
        gains = torch.where(below > 0, (above / below).clamp(min=0), 1.0)
        gains = gains.masked_fill(is_blank, 0.0)
        residual = gains[:, None] * centered - self._targets
        excess = (gains * template - target).square()
        unmatched = (1 + GAIN_WEIGHT) * template.square()
        gain_costs = torch.where(is_blank, unmatched, GAIN_WEIGHT * excess).sum(1)
        costs = residual.square().sum(dim=(1, 2)) + gain_costs
        return residual, gains[:, None], costs


@torch.inference_mode()
def evaluate_pairs(slots: Slots, deltas: torch.Tensor) -> torch.Tensor:
    """Cost of every pair at its `deltas` (n_pairs, n_parameters)."""
    costs = torch.empty(slots.n_pairs, device=deltas.device)
    trial = torch.zeros((slots.n_slots, slots.n_parameters), device=deltas.device)
    for pairs, used in slots.blocks():
        trial[used] = deltas[pairs]
        costs[pairs] = slots.evaluate(trial)[0][used]
    return costs
