"""Warp families: against scipy's thin-plate splines, calculus, and maps known in closed form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import RBFInterpolator

from dikmeans.registration import Affine, NoWarp, ThinPlate, make_warp
from dikmeans.registration.grid import Grid
from dikmeans.registration.warps import resolve_landmarks

SHAPES_AND_LANDMARKS = [
    ((28, 28), (2, 2)),
    ((28, 28), (4, 4)),
    ((28, 28), (12, 12)),
    ((24, 64), (2, 5)),
    ((24, 64), (12, 12)),
    ((64, 24), (6, 3)),
    ((300, 400), (4, 4)),
    ((300, 400), (12, 7)),
    ((1, 50), (1, 6)),
    ((50, 1), (12, 1)),
    ((3, 40), (1, 5)),
]
TOO_FEW_OR_MANY = [0, 1, 13, -4, (4, 20), (2,), (2, 3, 4), [[2, 3]], np.ones((2, 2), int)]
NO_WHOLE_NUMBERS = [3.5, 4.0, (4.0, 4), True, "big", "", None, {"rows": 4}]
FAMILIES = {
    "none": NoWarp((20, 28)),
    "affine": Affine((20, 28)),
    "tps": ThinPlate((20, 28), (4, 5)),
    "signal": ThinPlate((1, 40), (1, 6)),
}

shifts = st.floats(-0.5, 0.5)


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES)
def warp(request):
    return request.param


def landmark_positions(shape, landmarks):
    """Equal distances from edge to edge of the frame."""
    sides = [
        np.linspace(-n / max(shape), n / max(shape), g) if g > 1 else np.zeros(1)
        for n, g in zip(shape, landmarks, strict=True)
    ]
    return np.array([(row, column) for row in sides[0] for column in sides[1]])


def affine_map(shape, shift=(0.1, -0.2), matrix=((0.9, 0.2), (-0.1, 1.1))):
    """Coefficients of p -> shift + p matrix, on the live axes."""
    live = list(Grid.of(shape).live_axes)
    return np.vstack([shift, np.asarray(matrix)[live]])


@pytest.mark.parametrize(("shape", "landmarks"), SHAPES_AND_LANDMARKS)
def test_coordinates_equal_those_of_scipys_thin_plate_splines(shape, landmarks):
    warp = ThinPlate(shape, landmarks)
    places = landmark_positions(shape, landmarks)
    live = list(warp.grid.live_axes)
    moved = places + np.random.default_rng(0).normal(scale=0.1, size=places.shape)
    oracle = RBFInterpolator(places[:, live], moved - places, kernel="thin_plate_spline", degree=1)
    points = warp.grid.points()
    expected = (points + oracle(points[:, live])).reshape(*shape, 2)
    np.testing.assert_allclose(warp.coordinates(moved), expected, atol=1e-6)


@pytest.mark.parametrize(("shape", "landmarks"), SHAPES_AND_LANDMARKS)
def test_landmarks_lie_at_equal_distances_from_edge_to_edge_and_go_where_they_are_sent(
    shape, landmarks
):
    warp = ThinPlate(shape, landmarks)
    np.testing.assert_allclose(warp.identity, landmark_positions(shape, landmarks), atol=1e-12)
    np.testing.assert_allclose(warp.basis(warp.identity), np.eye(warp.n_basis), atol=1e-7)


def test_the_identity_takes_each_pixel_from_itself(warp):
    np.testing.assert_allclose(
        warp.coordinates(warp.identity).reshape(-1, 2), warp.grid.points(), atol=1e-12
    )
    np.testing.assert_allclose(warp.jacobian_determinant(warp.identity), 1, atol=1e-9)
    assert warp.bending_energy(warp.identity) == pytest.approx(0, abs=1e-9)


def test_many_warps_at_once_equal_one_at_a_time(warp):
    noise = np.random.default_rng(1).normal(scale=0.1, size=(2, 3, warp.n_basis, 2))
    parameters = warp.identity + noise
    coordinates = warp.coordinates(parameters)
    assert coordinates.shape == (2, 3, *warp.grid.shape, 2)
    for index in np.ndindex(2, 3):
        np.testing.assert_allclose(coordinates[index], warp.coordinates(parameters[index]))
        energy = warp.bending_energy(parameters)[index]
        assert energy == pytest.approx(warp.bending_energy(parameters[index]))
        determinant = warp.jacobian_determinant(parameters)[index]
        np.testing.assert_allclose(determinant, warp.jacobian_determinant(parameters[index]))


@given(st.tuples(shifts, shifts), st.lists(shifts, min_size=4, max_size=4))
def test_an_affine_map_moves_points_as_its_coefficients_say(shift, entries):
    matrix = np.eye(2) + np.reshape(entries, (2, 2))
    warp = Affine((20, 28))
    expected = warp.grid.points() @ matrix + shift
    found = warp.coordinates(affine_map((20, 28), shift, matrix)).reshape(-1, 2)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize(("shape", "landmarks"), SHAPES_AND_LANDMARKS)
def test_an_affine_map_embedded_in_the_splines_is_the_same_map_and_bends_nothing(shape, landmarks):
    affine, spline = Affine(shape), ThinPlate(shape, landmarks)
    coefficients = affine_map(shape)
    embedded = spline.embed_affine(coefficients)
    np.testing.assert_allclose(
        spline.coordinates(embedded), affine.coordinates(coefficients), atol=1e-6
    )
    bent = embedded + np.random.default_rng(2).normal(scale=0.1, size=embedded.shape)
    assert spline.bending_energy(embedded) <= 1e-6 * max(1.0, spline.bending_energy(bent))


def test_affine_maps_and_no_warp_have_no_bending_energy():
    assert not Affine((20, 28)).bending.any()
    assert Affine((20, 28)).embed_affine(affine_map((20, 28))).shape == (3, 2)
    assert NoWarp((20, 28)).bending.shape == (0, 0)
    assert NoWarp((20, 28)).embed_affine(affine_map((20, 28))).shape == (0, 2)


@pytest.mark.parametrize(("shape", "landmarks"), SHAPES_AND_LANDMARKS)
def test_the_bending_matrix_is_positive_semi_definite_with_the_affine_maps_as_null_space(
    shape, landmarks
):
    warp = ThinPlate(shape, landmarks)
    values = np.linalg.eigvalsh(warp.bending)
    np.testing.assert_allclose(warp.bending, warp.bending.T, atol=1e-9 * values[-1] + 1e-12)
    assert values[0] >= -1e-9 * max(values[-1], 1e-3)
    degree = 1 + len(warp.grid.live_axes)
    assert np.sum(values > 1e-7 * values[-1]) == max(warp.n_basis - degree, 0)


def test_bending_energy_is_the_integral_of_the_squared_second_derivatives_over_sixteen_pi():
    # The integral runs over the whole plane. Second derivatives fall off as 1 / r^2 or faster, so
    # that what lies outside a box of side 2 R is O(1 / R^2) of the whole; at the landmarks they
    # have a pole that grows as log r only, so that a fine lattice of second differences is enough.
    warp = ThinPlate((28, 28), (3, 3))
    nu = warp.identity + np.random.default_rng(3).normal(scale=0.2, size=(9, 2))
    reach, step = 10.0, 0.05
    axis = np.arange(-reach, reach + step / 2, step) + 0.0137  # no lattice point on a landmark
    lattice = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    values = (warp.basis(lattice.reshape(-1, 2)) @ nu).reshape(*lattice.shape)
    inner = values[1:-1, 1:-1]
    d_rows = (values[2:, 1:-1] - 2 * inner + values[:-2, 1:-1]) / step**2
    d_columns = (values[1:-1, 2:] - 2 * inner + values[1:-1, :-2]) / step**2
    mixed = (values[2:, 2:] - values[2:, :-2] - values[:-2, 2:] + values[:-2, :-2]) / (4 * step**2)
    integral = (d_rows**2 + 2 * mixed**2 + d_columns**2).sum() * step**2
    assert integral == pytest.approx(16 * np.pi * warp.bending_energy(nu), rel=0.03)


def test_bending_energy_is_the_energy_of_the_spline_weights():
    # w^T K w = tr(nu^T B nu), with the weights w that scipy's kernel r^2 log r finds; ours is twice
    # that.
    shape, landmarks = (24, 64), (3, 6)
    warp = ThinPlate(shape, landmarks)
    places = landmark_positions(shape, landmarks)
    nu = places + np.random.default_rng(4).normal(scale=0.1, size=places.shape)
    r = np.linalg.norm(places[:, None] - places, axis=-1)
    kernel = 2 * r**2 * np.log(np.where(r > 0, r, 1))
    polynomial = np.column_stack([np.ones(len(places)), places])
    system = np.block([[kernel, polynomial], [polynomial.T, np.zeros((3, 3))]])
    w = np.linalg.solve(system, np.vstack([nu, np.zeros((3, 2))]))[: len(places)]
    assert warp.bending_energy(nu) == pytest.approx(np.einsum("ia,ij,ja->", w, kernel, w), rel=1e-6)


def test_refining_the_landmarks_of_a_spline_that_contains_it_keeps_its_energy():
    # Every second landmark of the 9 x 9 grid is one of the 5 x 5 grid. The finer spline
    # interpolates the coarser at more points, so its energy is no higher; and no lower, as the
    # coarser has the least energy of all maps through its own landmarks.
    coarse, fine = ThinPlate((28, 28), (5, 5)), ThinPlate((28, 28), (9, 9))
    nu = coarse.identity + np.random.default_rng(5).normal(scale=0.1, size=(25, 2))
    refined = coarse.basis(fine.identity) @ nu
    assert fine.bending_energy(refined) == pytest.approx(coarse.bending_energy(nu), rel=1e-6)


def test_the_energy_of_a_smooth_map_settles_as_the_landmarks_get_denser():
    # Each grid contains the one before: more points to pass through, hence never less energy. If
    # the unit depended on the number of landmarks, the energy would grow with it, 3.2-fold at the
    # end.
    grids = [ThinPlate((28, 28), (g, g)) for g in (3, 5, 9)]
    energies = [
        warp.bending_energy(warp.identity + 0.1 * np.cos(2 * warp.identity[:, ::-1]))
        for warp in grids
    ]
    assert energies[0] < energies[1] < energies[2]
    assert energies[2] < 1.5 * energies[1]


def test_displacement_is_the_mean_squared_distance_that_pixels_move(warp):
    delta = np.random.default_rng(6).normal(scale=0.1, size=(warp.n_basis, 2))
    moved = warp.coordinates(warp.identity + delta).reshape(-1, 2) - warp.grid.points()
    form = np.einsum("ia,ij,ja->", delta, warp.displacement, delta)
    assert form == pytest.approx((moved**2).sum(axis=1).mean(), abs=1e-12)


@pytest.mark.parametrize("family", ["affine", "tps"])
@pytest.mark.parametrize(
    ("matrix", "determinant"),
    [
        (((2.0, 0.0), (0.0, 0.5)), 1.0),
        (((1.2, 0.3), (-0.1, 0.9)), 1.11),
        (((np.cos(1), -np.sin(1)), (np.sin(1), np.cos(1))), 1.0),
        (((1.0, 0.0), (0.0, -1.0)), -1.0),
    ],
)
def test_the_jacobian_determinant_of_an_affine_map_is_that_of_its_matrix(
    family, matrix, determinant
):
    warp = make_warp(family, (20, 28))
    parameters = warp.embed_affine(affine_map((20, 28), (0.3, 0.1), matrix))
    np.testing.assert_allclose(warp.jacobian_determinant(parameters), determinant, atol=1e-6)


def test_the_jacobian_determinant_of_a_spline_agrees_with_its_derivatives():
    warp = ThinPlate((60, 80), (4, 4))
    nu = warp.identity + np.random.default_rng(7).normal(scale=0.05, size=(16, 2))
    points, step = warp.grid.points(), 1e-5
    rows, columns = (
        (warp.basis(points + step * e) @ nu - warp.basis(points - step * e) @ nu) / (2 * step)
        for e in np.eye(2)
    )
    expected = (rows[:, 0] * columns[:, 1] - rows[:, 1] * columns[:, 0]).reshape(60, 80)
    inner = np.s_[1:-1, 1:-1]  # one-sided differences at the rim are a pixel's width off
    found = warp.jacobian_determinant(nu)
    np.testing.assert_allclose(found[inner], expected[inner], atol=0.02)


def test_a_spline_that_swaps_two_landmarks_folds():
    warp = ThinPlate((28, 28), (4, 4))
    nu = warp.identity.copy()
    nu[[5, 6]] = nu[[6, 5]]
    determinant = warp.jacobian_determinant(nu)
    assert (determinant < 0).any()
    assert (determinant > 0).any()


@pytest.mark.parametrize("shape", [(1, 50), (3, 50)])
@pytest.mark.parametrize("family", ["affine", "tps"])
def test_nothing_moves_along_a_flat_axis(shape, family):
    warp = make_warp(family, shape)
    noise = np.random.default_rng(8).normal(scale=0.1, size=(warp.n_basis, 2))
    pixels = warp.grid.to_pixels(warp.coordinates(warp.identity + noise))
    rows, columns = np.indices(shape)
    np.testing.assert_array_equal(pixels[..., 0], rows)
    assert np.abs(pixels[..., 1] - columns).max() > 0.1
    np.testing.assert_array_equal(pixels[0, :, 1], pixels[-1, :, 1])  # all rows alike


def test_a_signal_folds_where_it_runs_backwards():
    warp = make_warp("affine", (1, 50))
    mirror = np.array([[0.0, 0.0], [0.0, -1.0]])
    np.testing.assert_allclose(warp.jacobian_determinant(mirror), -1)


@pytest.mark.parametrize(
    ("landmarks", "shape", "expected"),
    [
        ("auto", (28, 28), (4, 4)),
        ("auto", (1, 50), (1, 4)),
        ("auto", (4, 5), (4, 4)),
        (6, (28, 28), (6, 6)),
        (6, (1, 50), (1, 6)),
        ((3, 6), (24, 64), (3, 6)),
        ([3, 6], (24, 64), (3, 6)),
        (np.array([3, 6]), (24, 64), (3, 6)),
        (np.int64(5), (24, 64), (5, 5)),
        (np.array(5), (24, 64), (5, 5)),
    ],
)
def test_landmarks_are_understood_in_all_their_forms(landmarks, shape, expected):
    assert resolve_landmarks(landmarks, shape) == expected
    assert make_warp("tps", shape, landmarks).n_basis == expected[0] * expected[1]


@pytest.mark.parametrize("landmarks", [*TOO_FEW_OR_MANY, *NO_WHOLE_NUMBERS])
def test_landmarks_that_make_no_grid_are_refused_by_name(landmarks):
    make_warp("tps", (28, 28), 4)  # whatever was asked for before
    make_warp("tps", (28, 28), (4, 4))
    with pytest.raises(ValueError, match="landmarks="):
        make_warp("tps", (28, 28), landmarks)


def test_more_landmarks_than_pixels_are_refused_with_the_axis_and_the_limit():
    with pytest.raises(
        ValueError, match=r"landmarks=6: expected rows from 2 to 5 on .* 5 x 40 pixels"
    ):
        resolve_landmarks(6, (5, 40))
    with pytest.raises(ValueError, match="columns from 2 to 12"):
        resolve_landmarks((4, 13), (28, 28))


@pytest.mark.parametrize("name", ["TPS", "", None, 3, ["tps"]])
def test_an_unknown_warp_is_refused_with_what_there_is(name):
    with pytest.raises(ValueError, match=r"warp=.*'none', 'affine', 'tps'"):
        make_warp(name, (28, 28))


def test_a_warp_is_built_once_per_shape_and_grid():
    assert make_warp("tps", (28, 28)) is make_warp("tps", (28, 28), (4, 4))
    assert make_warp("tps", (28, 28)) is not make_warp("tps", (28, 29))
