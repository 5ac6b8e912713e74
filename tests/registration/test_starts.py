"""Cold alignments start from the best of a lattice of poses."""

import numpy as np
import pytest
from scipy import ndimage

from dikmeans.registration.grid import Grid
from dikmeans.registration.pyramid import build_pyramid
from dikmeans.registration.sampling import PADDING
from dikmeans.registration.solvers import Adam, Status
from dikmeans.registration.starts import best_poses, inverse_maps, lattice_of_poses
from tests.helpers import build_measure


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    pictures = load_digits().images[:6].astype(np.float32)
    framed = np.pad(pictures.repeat(2, 1).repeat(2, 2), [(0, 0), (8, 8), (8, 8)])
    return ndimage.gaussian_filter(framed, (0, 1, 1))[:, None]


def test_the_lattice_reaches_a_quarter_of_a_side_and_45_degrees():
    poses = lattice_of_poses(Grid.of((32, 32)))
    shifts = poses[:, :, 0]
    assert np.abs(shifts).max(axis=0).tolist() == [0.5, 0.5]  # a unit is half of a side
    angles = np.rad2deg(np.arctan2(poses[:, 1, 1], 1 + poses[:, 0, 1]))
    assert angles.min() == pytest.approx(-45)
    assert angles.max() == pytest.approx(45)
    assert (poses == 0).all(axis=(1, 2)).sum() == 1  # the identity


def test_signals_are_shifted_but_not_turned():
    poses = lattice_of_poses(Grid.of((1, 64)))
    assert not poses[:, 0].any()
    assert not poses[:, :, 1:].any()


def test_nothing_moves_in_tiny_pictures():
    assert not lattice_of_poses(Grid.of((3, 3))).any()


@pytest.mark.parametrize("shape", [(32, 32), (1, 64), (20, 44)])
def test_inverse_maps_undo_the_poses(shape):
    grid = Grid.of(shape)
    live = list(grid.live_axes)
    poses = lattice_of_poses(grid)
    point = np.array([0.3, -0.2])[live]
    for pose, inverse in zip(poses, inverse_maps(poses), strict=True):
        moved = point + pose[live, 0] + pose[live, 1:] @ point
        back = moved + inverse[live, 0] + inverse[live, 1:] @ moved
        np.testing.assert_allclose(back, point, atol=1e-6)


@pytest.mark.parametrize("direction", ["centroid-to-image", "image-to-centroid"])
def test_the_cost_of_a_pose_is_the_cost_of_its_affine_map(digits, direction):
    """Exactly so where the centroid is warped; the lattice is scored by inner products."""
    measure = build_measure((32, 32), direction=direction, smoothness=0.3)
    bank = measure.bank(digits)
    level = measure.cold_level
    coarse = build_pyramid(digits, measure.grids, measure.border)[level]
    gains = 1 / (digits**2).sum(axis=(1, 2, 3))
    poses, costs = best_poses(bank.starts, coarse.reshape(6, -1), gains.astype(np.float32))
    if direction == "image-to-centroid":  # what an image shows best is itself
        assert (poses.diagonal() == poses[0, 0]).all()
        assert not bank.starts.deltas[poses[0, 0]].any()
        return
    for i, k in ((0, 1), (2, 2), (5, 3)):
        delta = bank.starts.deltas[poses[i, k]]
        warped = _sampled(coarse[k, 0], measure.grids[level], delta)
        penalty = delta.ravel() @ bank.problems[level, True].penalties[k] @ delta.ravel()
        expected = gains[i] * ((warped - coarse[i, 0]) ** 2).sum() + penalty
        assert costs[i, k] == pytest.approx(expected, rel=2e-3, abs=1e-5)


def _sampled(picture, grid, delta):
    """SciPy's bilinear interpolation of a picture under an affine map of the frame."""
    points = grid.points()
    moved = points + delta[:, 0] + points @ delta[:, 1:].T
    pixels = (moved * grid.scale + grid.offset + PADDING).T
    padded = np.pad(picture, PADDING)
    sampled = ndimage.map_coordinates(padded, pixels, order=1, mode="constant")
    return sampled.reshape(grid.shape)


@pytest.mark.parametrize(
    ("turn", "shift"), [(0, (7, -7)), (40, (0, 0)), (-35, (5, 4))], ids=["far", "turned", "both"]
)
def test_pictures_that_are_far_apart_find_each_other(digits, turn, shift):
    picture = digits[2, 0]
    moved = ndimage.shift(ndimage.rotate(picture, turn, reshape=False, order=1), shift, order=1)
    images, energy = moved[None, None], (moved**2).sum()
    measure = build_measure((32, 32))
    costs = measure.align(images, measure.bank(digits[2:3])).costs
    assert costs[0, 0] < 0.1 * energy


def test_a_pose_is_a_start_and_no_result_of_the_batch(digits):
    measure = build_measure((32, 32))
    bank = measure.bank(digits)
    whole = measure.align(digits, bank)
    for i in range(len(digits)):
        alone = measure.align(digits[i : i + 1], bank)
        np.testing.assert_array_equal(alone.costs[0], whole.costs[i])
        np.testing.assert_array_equal(alone.deltas[0], whole.deltas[i])


def test_the_solver_of_the_paper_starts_from_the_identity_alone(digits):
    assert build_measure((32, 32), solver=Adam()).bank(digits).starts is None


@pytest.mark.parametrize("orientation", ["upright", "any"])
def test_pictures_find_themselves_and_their_moved_copies_among_others_that_are_given_up(
    digits, orientation
):
    """Also an exact copy, whose cost in the best pose is zero up to rounding."""
    measure = build_measure((32, 32), orientation=orientation)
    bank = measure.bank(digits)
    for images in (digits, np.roll(digits, (5, -4), axis=(2, 3))):
        whole, pruned = measure.align(images, bank), measure.align(images, bank, prune=3.0)
        own = np.arange(len(digits))
        assert (pruned.costs.argmin(axis=1) == own).all()
        assert (pruned.status == Status.PRUNED).mean() > 0.5
        np.testing.assert_array_equal(pruned.costs[own, own], whole.costs[own, own])
        np.testing.assert_array_equal(pruned.deltas[own, own], whole.deltas[own, own])
