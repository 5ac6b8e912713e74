"""Time to the same mean cost: our default solver against the paper's, written in PyTorch.

The baseline is the paper's optimization as any deep-learning framework offers it: the warp by one
product with the (constant) spline matrix, `grid_sample`, automatic differentiation, Adam; two
threads, batches of 64 images with all centroids, the learning rate of the paper's grid that gets
lowest in the given number of steps (found beforehand on 64 images; its time is not counted).
Best-so-far costs count for both. The paper's low-pass affine stage before that is left out: here it
starts from the identity.

1,000 real digits x 10 centroids. For each number of Adam's steps: the mean cost it reaches, and the
time our solver needs, on two threads, to get as low or lower with the smallest sufficient budget of
evaluations. Both objectives: the paper's (no penalty) and ours (smoothness 0.3). Compile time is
excluded and stated.

    pip install torch==2.13.0
    python -m benchmarks.solver
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from benchmarks._common import digits, print_table
from dikmeans import DIKMeans, Search
from dikmeans.registration import MeasureSpec, QuasiNewton
from dikmeans.registration.batches import align_images

LEARNING_RATES = (1e-4, 5e-4, 1e-3, 5e-3, 1e-2, 5e-2)
CHECKPOINTS = (25, 50, 100)
BUDGETS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 45, 70, 100)
BATCH = 64
N_THREADS = 2


def adam_in_torch(
    images: np.ndarray, centroids: np.ndarray, measure: Any, rate: float, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean best-so-far cost, and seconds, after each step (steps + 1 values)."""
    warp = measure.warp
    phi = torch.tensor(warp.basis(warp.grid.points()), dtype=torch.float32)
    n_basis = len(warp.identity)
    problem = measure.bank(centroids).problems[0, False]
    penalty = torch.tensor(problem.penalties[0, :n_basis, :n_basis])  # both axes have the same
    identity = torch.tensor(warp.identity, dtype=torch.float32)
    targets = torch.tensor(centroids)
    n_centroids = len(centroids)
    total, seconds = np.zeros(steps + 1), np.zeros(steps + 1)
    for first in range(0, len(images), BATCH):
        clock = time.perf_counter()
        batch = torch.tensor(images[first : first + BATCH]).repeat_interleave(n_centroids, 0)
        target = targets.repeat(len(batch) // n_centroids, 1, 1, 1)
        delta = torch.zeros(len(batch), *identity.shape, requires_grad=True)
        optimizer = torch.optim.Adam([delta], lr=rate)
        best = torch.full((len(batch),), torch.inf)
        for step in range(steps + 1):
            coordinates = phi @ (identity + delta)
            grid = coordinates.flip(-1).reshape(-1, *batch.shape[2:], 2)
            warped = functional.grid_sample(batch, grid, padding_mode="zeros", align_corners=False)
            cost = ((warped - target) ** 2).sum((1, 2, 3))
            if measure.smoothness:
                cost = cost + torch.einsum("nia,ij,nja->n", delta, penalty, delta)
            optimizer.zero_grad()
            cost.sum().backward()
            optimizer.step()
            best = torch.minimum(best, cost.detach())
            total[step] += float(best.sum())
            seconds[step] += time.perf_counter() - clock
    return total / (len(images) * n_centroids), seconds


def ours(
    images: np.ndarray, centroids: np.ndarray, settings: dict[str, Any], budget: int
) -> tuple[float, float]:
    """Mean cost, and seconds, with `budget` evaluations per stage."""
    measure = MeasureSpec(solver=QuasiNewton(evaluations=budget), **settings).build((28, 28))
    clock = time.perf_counter()
    costs = align_images(measure, images, measure.bank(centroids), n_jobs=N_THREADS).costs
    return float(costs.mean()), time.perf_counter() - clock


def compare(side: int, smoothness: float, n_images: int) -> list[list[str]]:
    """Rows of the table, one for each of Adam's checkpoints."""
    images, _ = digits(n_images)
    settings = {"landmarks": side, "smoothness": smoothness, "direction": "image-to-centroid"}
    centroids = class_centroids()
    measure = MeasureSpec(**settings).build((28, 28))
    steps = CHECKPOINTS[-1]
    reached = {
        rate: adam_in_torch(images[:BATCH], centroids, measure, rate, steps)[0]
        for rate in LEARNING_RATES
    }
    rows = []
    curves: dict[float, tuple[np.ndarray, np.ndarray]] = {}
    for checkpoint in CHECKPOINTS:
        rate = min(LEARNING_RATES, key=lambda r: reached[r][checkpoint])
        if rate not in curves:
            curves[rate] = adam_in_torch(images, centroids, measure, rate, steps)
        costs, seconds = curves[rate]
        target, baseline = costs[checkpoint], seconds[checkpoint]
        for budget in BUDGETS:
            cost, spent = ours(images, centroids, settings, budget)
            if cost <= target:
                spent = float(
                    np.median(
                        [spent, *(ours(images, centroids, settings, budget)[1] for _ in range(2))]
                    )
                )
                break
        rows.append(
            [
                f"{side} x {side}",
                f"{smoothness:g}",
                f"{checkpoint} (rate {rate:g})",
                f"{target:.4f}",
                f"{baseline:.1f}",
                f"{cost:.4f}" if cost <= target else f"{cost:.4f} (not reached)",
                str(budget),
                f"{spent:.2f}",
                f"{baseline / spent:.0f} x" if cost <= target else "-",
            ]
        )
    return rows


def class_centroids() -> np.ndarray:
    """Ten sharp centroids: those of a deformation-invariant clustering of other digits."""
    images, _ = digits(1500, first=2000)
    model = DIKMeans(10, random_state=0, search=Search(n_swaps=0)).fit(images[:, 0])
    return model.cluster_centers_[:, None].astype(np.float32)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--smoothness", type=float, nargs="+", default=[0.0, 0.3])
    parser.add_argument("--sides", type=int, nargs="+", default=[3, 4, 6, 8])
    options = parser.parse_args()
    torch.set_num_threads(N_THREADS)
    clock = time.perf_counter()
    ours(digits(4)[0], digits(2)[0], {"landmarks": 4, "direction": "image-to-centroid"}, 15)
    seconds = time.perf_counter() - clock
    print(f"compilation (or loading from the cache) of our loops: {seconds:.1f} s\n")
    header = [
        "landmarks",
        "smoothness",
        "Adam steps",
        "Adam's mean cost",
        "Adam (s)",
        "our mean cost",
        "our budget",
        "ours (s)",
        "faster",
    ]
    print_table(
        header,
        (
            row
            for side in options.sides
            for smoothness in options.smoothness
            for row in compare(side, smoothness, options.images)
        ),
    )
