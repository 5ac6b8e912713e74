"""Any orientation: a turned or mirrored picture is the same picture."""

import numpy as np
import pytest
from scipy import ndimage

from dikmeans import DIKMeans, Search, align, pairwise_cost
from dikmeans.parameters import InvalidParameterError
from dikmeans.registration.measure import WarmStart
from dikmeans.registration.orientation import orientation_matrices
from dikmeans.registration.solvers import QuasiNewton
from tests.helpers import build_measure, quick


@pytest.fixture(scope="module")
def glyphs():
    """An L, an F and a bent arrow: unlike each other however they are turned or mirrored."""
    pictures = np.zeros((3, 32, 32))
    pictures[0, 8:24, 10:13] = pictures[0, 21:24, 10:22] = 1
    pictures[1, 7:25, 11:14] = pictures[1, 7:10, 11:23] = pictures[1, 14:17, 11:19] = 1
    pictures[2, 15:18, 7:25] = pictures[2, 9:18, 22:25] = pictures[2, 15:24, 7:10] = 1
    pictures[2, 9:12, 16:25] = 1
    return ndimage.gaussian_filter(pictures, (0, 0.7, 0.7))


def turned(picture, angle):
    return np.clip(ndimage.rotate(picture, angle, reshape=False, order=1), 0, None)


def test_orientations_are_orthogonal_and_distinct():
    matrices = orientation_matrices("any-mirrored")
    np.testing.assert_allclose(matrices @ np.swapaxes(matrices, 1, 2), [np.eye(2)] * 32, atol=1e-12)
    np.testing.assert_array_equal(np.sign(np.linalg.det(matrices)), [1] * 16 + [-1] * 16)
    assert len(np.unique(matrices.reshape(32, -1).round(6), axis=0)) == 32
    np.testing.assert_array_equal(orientation_matrices("upright"), [np.eye(2)])


@pytest.mark.parametrize("direction", ["centroid-to-image", "image-to-centroid"])
@pytest.mark.parametrize("angle", [0, 50, 90, 163, 180, 250, 301])
def test_a_turned_picture_costs_next_to_nothing(glyphs, angle, direction):
    images = np.stack([turned(picture, angle) for picture in glyphs])
    costs = pairwise_cost(images, glyphs, orientation="any", direction=direction)
    relative = costs / (images**2).sum(axis=(1, 2))[:, None]
    assert (relative.diagonal() < 0.1).all()
    assert (relative.argmin(axis=1) == [0, 1, 2]).all()


def test_a_mirrored_picture_is_found_only_where_asked_for(glyphs):
    images = np.stack([turned(picture, 120)[:, ::-1] for picture in glyphs])
    energies = (images**2).sum(axis=(1, 2))
    mirrored = pairwise_cost(images, glyphs, orientation="any-mirrored").diagonal() / energies
    unmirrored = pairwise_cost(images, glyphs, orientation="any").diagonal() / energies
    assert (mirrored < 0.1).all()
    assert (unmirrored[:2] > 2 * mirrored[:2]).all()


def test_a_quarter_turn_is_exact_and_free(glyphs):
    image = np.rot90(glyphs[1])
    alignment = align(image, glyphs[1], orientation="any")
    assert alignment.cost == pytest.approx(0, abs=1e-4 * (image**2).sum())
    assert alignment.bending_cost == pytest.approx(0, abs=1e-4 * (image**2).sum())
    assert abs(np.linalg.det(alignment.orientation)) == pytest.approx(1)
    assert abs(alignment.orientation[0, 1]) == pytest.approx(1)


@pytest.mark.parametrize("direction", ["centroid-to-image", "image-to-centroid"])
@pytest.mark.parametrize("angle", [90, 200])
def test_pictures_and_grids_show_the_whole_map(glyphs, angle, direction):
    image = turned(glyphs[1], angle)[:, ::-1]
    found = align(image, glyphs[1], orientation="any-mirrored", direction=direction)
    source, target = (image, glyphs[1]) if direction == "image-to-centroid" else (glyphs[1], image)
    np.testing.assert_array_equal(found.target, target.astype(np.float32))
    rows, columns = np.moveaxis(found.grid, -1, 0)
    sampled = ndimage.map_coordinates(source, [rows, columns], order=1)
    np.testing.assert_allclose(found.warped, sampled, atol=1e-4)
    assert ((found.warped - target) ** 2).sum() < 0.1 * (target**2).sum()
    # and the image in the frame of the centroid looks like the centroid
    assert ((found.aligned - glyphs[1]) ** 2).sum() < 0.1 * (glyphs[1] ** 2).sum()


def test_a_warm_alignment_keeps_its_orientation_and_never_gets_worse(glyphs):
    images = np.stack([turned(picture, 130) for picture in glyphs])[:, None]
    measure = build_measure((32, 32), orientation="any")
    bank = measure.bank(glyphs[:, None])
    cold = measure.align(images, bank)
    warm = measure.align(images, bank, start=WarmStart(cold.deltas, cold.orientations))
    np.testing.assert_array_equal(warm.orientations, cold.orientations)
    assert (warm.costs <= cold.costs * (1 + 1e-6)).all()


@pytest.fixture(scope="module")
def scattered(glyphs):
    rng = np.random.default_rng(0)
    labels = np.arange(45) % 3
    pictures = [turned(glyphs[k], rng.uniform(0, 360)) for k in labels]
    return np.stack(pictures), labels


def test_a_clustering_of_turned_pictures_finds_what_they_show(scattered, tmp_path):
    images, labels = scattered
    model = DIKMeans(3, orientation="any", n_init=2, random_state=0, search=Search(n_swaps=4))
    model.fit(images)
    confusion = np.zeros((3, 3), int)
    np.add.at(confusion, (labels, model.labels_), 1)
    assert (np.sort(confusion.ravel())[-3:] >= 14).all()
    np.testing.assert_array_equal(model.predict(images), model.labels_)
    assert len(np.unique(model.assignment_.orientations)) > 4
    aligned = model.align_assigned(images, model.assignment_).aligned
    prototypes = model.prototypes_[model.assignment_.prototypes]
    unit = aligned / np.linalg.norm(aligned, axis=(1, 2), keepdims=True)
    likeness = (unit * prototypes).sum(axis=(1, 2)) / np.linalg.norm(prototypes, axis=(1, 2))
    assert np.median(likeness) > 0.8
    # a file keeps everything
    model.save(tmp_path / "model")
    loaded = DIKMeans.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.assignment_.orientations, model.assignment_.orientations)
    np.testing.assert_array_equal(loaded.predict(images), model.labels_)


def test_the_inertia_falls_in_any_orientation(scattered):
    images, _ = scattered
    model = quick(n_clusters=3, orientation="any-mirrored", max_iter=6).fit(images)
    for phase in {record.phase for record in model.history_.iterations}:
        inertias = [r.inertia for r in model.history_.iterations if r.phase == phase]
        assert (np.diff(inertias) <= 1e-6 * inertias[0]).all()
    assert all("none" not in record.phase for record in model.history_.iterations)


def test_a_device_finds_the_same_orientations(scattered, glyphs):
    pytest.importorskip("torch")
    images = scattered[0][:6, None]
    fits = [
        measure.align(images, measure.bank(glyphs[:, None]))
        for measure in (
            build_measure((32, 32), orientation="any"),
            build_measure((32, 32), orientation="any", solver=QuasiNewton(device="cpu")),
        )
    ]
    np.testing.assert_array_equal(fits[0].orientations, fits[1].orientations)
    np.testing.assert_allclose(fits[0].costs, fits[1].costs, rtol=0.02)


def test_signals_cannot_be_turned():
    with pytest.raises(InvalidParameterError, match=r"orientation.*signals"):
        pairwise_cost(np.ones((2, 1, 64)), np.ones((2, 1, 64)), orientation="any")
