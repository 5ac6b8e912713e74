"""The centroid update: it never raises the inertia, and it is the best there is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from dikmeans.images import scale_to_unit_norm
from dikmeans.kmeans.centroid_update import Members, _add_in_order, gather_sums, move_centroids
from dikmeans.registration import batches
from dikmeans.registration.sampling import pad, unpad
from tests import reference
from tests.helpers import build_measure

BORDERS = ["zero", "edge", "rim"]
DIRECTIONS = ["image-to-centroid", "centroid-to-image"]

seeds = st.integers(0, 2**32 - 1)


def update(measure, members, centroids, n_jobs=1):
    """The update of images in memory."""
    return move_centroids(measure, centroids, lambda c: gather_sums(measure, members, c, n_jobs))


class Scene:
    """Random pictures, warps, weights and labels, and their inertia from the definition."""

    def __init__(
        self, direction, border="zero", shape=(7, 9), warp="tps", n_channels=2, seed=0, reach=0.15
    ):
        rng = np.random.default_rng(seed)
        self.words = {"direction": direction, "border": border, "warp": warp}
        self.measure = build_measure(shape, **self.words)
        n, self.k = 12, 3
        self.images = rng.random((n, n_channels, *shape)).astype(np.float32)
        self.centroids = rng.random((self.k, n_channels, *shape)).astype(np.float32)
        self.labels = rng.permutation(np.arange(n) % self.k)
        self.weights = rng.uniform(0.1, 2.0, n)
        deltas = rng.normal(scale=reach, size=(n, 2, self.measure.n_basis))
        self.deltas = deltas.astype(np.float32)
        self.matrices = [reference.warp_matrix(self.measure.warp, d, border) for d in self.deltas]

    def update(self, centroids=None, unit_norm=False, **options):
        centroids = self.centroids if centroids is None else centroids
        members = self.members(slice(None))._replace(weights=options.pop("weights", self.weights))
        measure = build_measure(centroids.shape[2:], unit_norm=unit_norm, **self.words)
        return update(measure, members, centroids, **options)

    def members(self, part):
        return Members(self.images[part], self.weights[part], self.labels[part], self.deltas[part])

    def inertia(self, centroids, weights=None):
        total = 0.0
        weights = self.weights if weights is None else weights
        for x, w, k, matrix in zip(self.images, weights, self.labels, self.matrices, strict=True):
            x, mu = (
                x.reshape(len(x), -1).astype(float),
                centroids[k].reshape(len(x), -1).astype(float),
            )
            warped_image = self.measure.direction == "image-to-centroid"
            difference = x @ matrix.T - mu if warped_image else mu @ matrix.T - x
            total += w * (difference**2).sum()
        return total


@given(
    seed=seeds,
    direction=st.sampled_from(DIRECTIONS),
    border=st.sampled_from(BORDERS),
    unit=st.booleans(),
)
def test_the_update_never_raises_the_inertia(seed, direction, border, unit):
    scene = Scene(direction, border, shape=(5, 6), seed=seed, reach=0.3)
    before = scale_to_unit_norm(scene.centroids) if unit else scene.centroids
    after = scene.update(before, unit_norm=unit)
    assert scene.inertia(after) <= scene.inertia(before) * (1 + 1e-6)
    assert scene.inertia(after) < scene.inertia(before)  # from a random start it gains
    if unit:
        np.testing.assert_allclose((after.astype(float) ** 2).sum(axis=(1, 2, 3)), 1, rtol=1e-5)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_repeating_the_update_never_raises_the_inertia_either(direction, unit):
    scene = Scene(direction)
    current = scale_to_unit_norm(scene.centroids) if unit else scene.centroids
    for _ in range(20):
        moved = scene.update(current, unit_norm=unit)
        assert scene.inertia(moved) <= scene.inertia(current) * (1 + 1e-6)
        current = moved


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("warp", ["affine", "tps"])
def test_image_to_centroid_it_is_the_weighted_mean_of_the_warped_images(border, warp):
    # The paper's Proposition 1.
    scene = Scene("image-to-centroid", border, warp=warp)
    updated = scene.update()
    for k in range(3):
        members = np.flatnonzero(scene.labels == k)
        warped = [scene.images[i].reshape(2, -1) @ scene.matrices[i].T for i in members]
        mean = np.average(warped, axis=0, weights=scene.weights[members])
        np.testing.assert_allclose(updated[k].reshape(2, -1), mean, atol=1e-5)
    # nothing near it is better
    for seed in range(5):
        noise = 0.01 * np.random.default_rng(seed).normal(size=updated.shape)
        assert scene.inertia(updated + noise) > scene.inertia(updated)


def test_image_to_centroid_with_unit_norm_it_is_the_mean_brought_to_the_sphere():
    scene = Scene("image-to-centroid")
    np.testing.assert_allclose(
        scene.update(unit_norm=True), scale_to_unit_norm(scene.update().astype(float)), atol=1e-6
    )


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("border", BORDERS)
def test_centroid_to_image_it_converges_to_the_solution_of_the_dense_least_squares_problem(
    border, signed
):
    # Where no image has a negative value, among pictures that have none either.
    scene = Scene("centroid-to-image", border, shape=(5, 6), n_channels=1, reach=0.1)
    scene.images = scene.images - np.float32(0.5) if signed else scene.images * (scene.images > 0.6)
    current = scene.centroids
    for _ in range(300):
        current = scene.update(current)
    for k in range(3):
        members = np.flatnonzero(scene.labels == k)
        roots = np.sqrt(scene.weights[members])
        tall = np.concatenate([r * scene.matrices[i] for r, i in zip(roots, members, strict=True)])
        wanted = np.concatenate(
            [r * scene.images[i].ravel() for r, i in zip(roots, members, strict=True)]
        )
        solution, *_ = np.linalg.lstsq(tall, wanted, rcond=None)
        assert solution.min() < -0.01  # the sign makes a difference
        if not signed:
            solution, _ = nnls(tall, wanted)
        best = ((tall @ solution - wanted) ** 2).sum()
        reached = ((tall @ current[k].ravel().astype(float) - wanted) ** 2).sum()
        assert reached == pytest.approx(best, rel=1e-4)
        assert (
            np.linalg.eigvalsh(tall.T @ tall)[0] > 0.2
        )  # all pixels are seen: the solution is unique
        np.testing.assert_allclose(current[k].ravel(), solution, atol=1e-4)


def test_centroid_to_image_without_motion_one_update_is_the_weighted_mean():
    # W is the identity, D the weights' sum: the first step lands on the mean.
    scene = Scene("centroid-to-image")
    scene.deltas[:] = 0
    updated = scene.update()
    for k in range(3):
        members = scene.labels == k
        mean = np.average(scene.images[members], axis=0, weights=scene.weights[members])
        np.testing.assert_allclose(updated[k], mean, atol=1e-5)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_weight_of_two_is_an_image_twice(direction):
    scene = Scene(direction)
    whole = np.random.default_rng(1).integers(1, 4, 12)
    weighted = scene.update(weights=whole.astype(float))
    scene.images, scene.labels, scene.deltas = (
        np.repeat(a, whole, axis=0) for a in (scene.images, scene.labels, scene.deltas)
    )
    repeated = scene.update(weights=np.ones(whole.sum()))
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_cluster_without_members_or_without_weight_keeps_its_centroid(direction, unit):
    scene = Scene(direction)
    scene.labels[scene.labels == 1] = 0
    weights = np.where(scene.labels == 2, 0.0, scene.weights)
    updated = scene.update(unit_norm=unit, weights=weights)
    np.testing.assert_array_equal(updated[1:], scene.centroids[1:])
    assert not np.array_equal(updated[0], scene.centroids[0])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_threads_and_batches_do_not_show(direction, monkeypatch):
    scene = Scene(direction)
    expected = scene.update(n_jobs=1)
    for pixels in (1, 300):
        monkeypatch.setattr(batches.batches, "__defaults__", (pixels,))
        for n_jobs in (1, 2, 3):
            np.testing.assert_array_equal(scene.update(n_jobs=n_jobs), expected)


def test_the_input_is_left_as_it_is():
    for direction in DIRECTIONS:
        scene = Scene(direction)
        before = [a.copy() for a in (scene.images, scene.centroids, scene.deltas, scene.weights)]
        assert scene.update().dtype == scene.centroids.dtype
        for array, copy in zip(
            (scene.images, scene.centroids, scene.deltas, scene.weights), before, strict=True
        ):
            np.testing.assert_array_equal(array, copy)


@given(seed=seeds)
def test_add_in_order_adds_weighted_pictures_to_their_clusters(seed):
    rng = np.random.default_rng(seed)
    pictures, weights = rng.normal(size=(8, 5)).astype(np.float32), rng.random(8)
    labels, sums = rng.integers(0, 3, 8), rng.normal(size=(3, 5))
    expected = sums.copy()
    np.add.at(expected, labels, weights[:, None] * pictures)
    _add_in_order(sums, pictures, labels, weights)
    np.testing.assert_allclose(sums, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("border", BORDERS)
def test_back_project_is_the_transposed_warp_of_residuals_and_of_ones(border):
    scene = Scene("centroid-to-image", border)
    targets = scene.images.reshape(12, 2, -1)
    push, mass = scene.measure.back_project(
        scene.centroids, scene.images, scene.labels, scene.weights, scene.deltas, 1
    )
    push, mass = push.reshape(3, 2, -1), mass.reshape(3, -1)
    for k in range(3):
        members = np.flatnonzero(scene.labels == k)
        mu = scene.centroids[k].reshape(2, -1).astype(float)
        pulls = [w * (targets[i] - mu @ m.T) @ m for i, w, m in scene_members(scene, members)]
        np.testing.assert_allclose(push[k], np.sum(pulls, axis=0), atol=1e-4)
        ones = [w * m.sum(axis=0) for _, w, m in scene_members(scene, members)]
        np.testing.assert_allclose(mass[k], np.sum(ones, axis=0), atol=1e-4)


def scene_members(scene, members):
    return [(i, scene.weights[i], scene.matrices[i]) for i in members]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_sums_over_parts_of_the_images_add_up_to_those_over_all(direction):
    scene = Scene(direction)
    parts = [slice(0, 12), slice(0, 5), slice(5, 12)]
    whole, first, second = (
        gather_sums(scene.measure, scene.members(part), scene.centroids, 1) for part in parts
    )
    both = first + second
    np.testing.assert_allclose(both.pictures, whole.pictures, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(both.mass, whole.mass, rtol=1e-12)
    assert both.lowest == whole.lowest == min(first.lowest, second.lowest) == scene.images.min()


@given(
    seed=seeds, border=st.sampled_from(BORDERS), rows=st.integers(1, 5), columns=st.integers(1, 5)
)
def test_unpad_is_the_adjoint_of_pad(seed, border, rows, columns):
    # <pad(a), b> = <a, unpad(b)>
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(2, 3, rows, columns)).astype(np.float32)
    b = rng.normal(size=(2, 3, *reference.pad_sides((rows, columns))))
    left = (pad(a, border).reshape(b.shape) * b).sum()
    tol = 1e-5 if border == "rim" else 1e-9  # a mean is rounded to the precision of the picture
    np.testing.assert_allclose((a * unpad(b, border)).sum(), left, rtol=tol, atol=tol)


def test_no_warp_averages_the_images_in_double_precision():
    rng = np.random.default_rng(0)
    measure = build_measure((4, 5), warp="none")
    images, labels, weights = rng.random((9, 1, 4, 5)), np.arange(9) % 2, rng.random(9)
    members = Members(images, weights, labels, np.zeros((9, 2, 0), np.float32))
    updated = update(measure, members, np.zeros((2, 1, 4, 5)))
    for k in range(2):
        mean = np.average(images[labels == k], axis=0, weights=weights[labels == k])
        np.testing.assert_allclose(updated[k], mean, rtol=1e-12)
