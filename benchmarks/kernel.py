"""The gradient step against the machine's own bound.

One evaluation of cost and gradient for one (image, centroid) pair has to do at least: one product
with the basis matrix to find the coordinates, one gather pass over the pixels of every channel, one
product with the transposed matrix. The bound measured here is the time of exactly these: two
single-precision GEMMs of that size by BLAS (all centroids of an image at once, which is BLAS's best
case) and one pass per channel that samples a picture at given coordinates, written as plainly as
possible. Beside it the same evaluation with light and contrast solved for (``intensity="affine"``).
Digits are mostly ground; textures, smooth noise in three channels, have none. Everything on one
thread, interleaved in one process, medians of the processor's time.

    python -m benchmarks.kernel
"""

from __future__ import annotations

import time

import numpy as np
from numba import njit
from scipy import ndimage

from benchmarks._common import digits, interleaved, print_table
from dikmeans.images import scale_to_unit_norm
from dikmeans.parallel.threads import single_blas_thread
from dikmeans.registration import MeasureSpec
from dikmeans.registration.intensity import AffineIntensity
from dikmeans.registration.objective import Pairs, complete, evaluate, make_work
from dikmeans.registration.sampling import FAST, pad

N_CENTROIDS = 10
SCENES = [
    # landmarks, side of the pictures, channels, images
    (3, 28, 1, 200),
    (4, 28, 1, 200),
    (6, 28, 1, 200),
    (8, 28, 1, 200),
    (4, 128, 1, 20),
    (4, 300, 3, 3),
]


def pictures(n: int, side: int, n_channels: int, first: int) -> np.ndarray:
    """Digits of any size, or textures if there are several channels; unit norm."""
    if n_channels == 1:
        images, _ = digits(n, first=first)
        return scale_to_unit_norm(ndimage.zoom(images, (1, 1, side / 28, side / 28), order=1))
    noise = np.random.default_rng(first).normal(size=(n, n_channels, side, side))
    return scale_to_unit_norm(ndimage.gaussian_filter(noise, (0, 0, 4, 4)).astype(np.float32))


@njit(nogil=True, fastmath=True)
def gather_pass(picture, width, rows, columns, out):
    for p in range(rows.shape[0]):
        y, x = rows[p], columns[p]
        iy, ix = np.int32(y), np.int32(x)
        fy, fx = y - np.float32(iy), x - np.float32(ix)
        i = np.uint64(iy * width + ix)
        a, b = picture[i], picture[i + np.uint64(1)]
        c, d = picture[i + np.uint64(width)], picture[i + np.uint64(width + 1)]
        top, bottom = a + fx * (b - a), c + fx * (d - c)
        out[p] = top + fy * (bottom - top)


@njit(nogil=True)
def gather_passes(n, picture, width, rows, columns, out):
    for _ in range(n):
        gather_pass(picture, width, rows, columns, out)


@njit(nogil=True, fastmath=FAST)
def gradient_steps(problem, pairs, deltas, costs, gradient, work):
    for i in range(costs.shape[0]):
        costs[i], n_active = evaluate(problem, pairs, i, deltas[i], gradient, work)
        complete(problem.sampler, n_active, gradient, work)


def measure(landmarks: int, side: int, n_channels: int, n_images: int) -> list[str]:
    images = pictures(n_images, side, n_channels, first=0)
    centroids = pictures(N_CENTROIDS, side, n_channels, first=1000)
    measure = MeasureSpec(landmarks=landmarks).build((side, side))
    problem = measure.bank(centroids).problems[0, False]
    image_of = np.repeat(np.arange(n_images), N_CENTROIDS)
    centroid_of = np.tile(np.arange(N_CENTROIDS), n_images)
    pairs = Pairs(
        templates=pad(centroids, "zero"),
        targets=images.reshape(n_images, n_channels, -1),
        template_of=centroid_of,
        target_of=image_of,
        centroid_of=centroid_of,
        image_of=image_of,
        gain=np.ones(n_images * N_CENTROIDS, np.float32),
    )
    affine = AffineIntensity()
    lit_images, image_norms = affine.level(affine.prepare(images))
    lit_centroids, centroid_norms = affine.level(affine.prepare(centroids))
    lit_pairs = pairs._replace(
        templates=pad(lit_centroids, "rim"),
        targets=lit_images.reshape(n_images, n_channels, -1),
        template_norms=centroid_norms,
        target_norms=image_norms,
    )
    rng = np.random.default_rng(0)
    n_pairs, n_basis = n_images * N_CENTROIDS, measure.n_basis
    deltas = rng.normal(0, 0.03, (n_pairs, 2 * n_basis)).astype(np.float32)
    costs, step = np.empty(n_pairs, np.float32), np.empty(2 * n_basis, np.float32)

    phi = problem.sampler.phi
    parameters = np.ascontiguousarray(deltas[:N_CENTROIDS].reshape(2 * N_CENTROIDS, n_basis))
    coordinates = np.empty((2 * N_CENTROIDS, phi.shape[1]), np.float32)
    gradient = np.empty((2 * N_CENTROIDS, n_basis), np.float32)
    transposed = np.ascontiguousarray(phi.T)
    picture, width = pairs.templates[0, 0], problem.sampler.width
    rows, columns = (problem.sampler.base + rng.uniform(0, 1, (2, phi.shape[1]))).astype(np.float32)
    out = np.empty(phi.shape[1], np.float32)

    def ours() -> None:
        gradient_steps(problem, pairs, deltas, costs, step, make_work(problem, pairs))

    def matched() -> None:
        gradient_steps(problem, lit_pairs, deltas, costs, step, make_work(problem, lit_pairs))

    def gemm() -> None:
        for _ in range(n_images):
            np.dot(parameters, phi, out=coordinates)
            np.dot(coordinates, transposed, out=gradient)

    def gather() -> None:
        gather_passes(n_pairs * n_channels, picture, width, rows, columns, out)

    with single_blas_thread():
        ours_s, matched_s, gemm_s, gather_s = interleaved(
            [ours, matched, gemm, gather], repeats=15, clock=time.thread_time
        )
    us = 1e6 / n_pairs
    bound = gemm_s + gather_s
    return [
        f"{landmarks} x {landmarks}",
        f"{side} x {side}" + (f" x {n_channels}" if n_channels > 1 else ""),
        f"{ours_s * us:.2f}",
        f"{matched_s * us:.2f}",
        f"{matched_s / ours_s:.2f}",
        f"{gemm_s * us:.2f}",
        f"{gather_s * us:.2f}",
        f"{bound * us:.2f}",
        f"{ours_s / bound:.2f}",
    ]


if __name__ == "__main__":
    header = [
        "landmarks",
        "pictures     ",
        "ours (us)",
        "affine (us)",
        "affine / ours",
        "GEMM (us)",
        "gather (us)",
        "bound (us)",
        "ours / bound",
    ]
    print_table(header, (measure(*scene) for scene in SCENES))
