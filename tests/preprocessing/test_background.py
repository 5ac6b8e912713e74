"""Background and centering: what becomes of polarity, color, light and place."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline

from dikmeans import DIKMeans, pairwise_cost
from dikmeans.preprocessing import (
    Background,
    Centering,
    Chain,
    LocalContrast,
    choose_preprocessing,
)
from dikmeans.preprocessing.background import find_ground
from dikmeans.preprocessing.centering import center_offsets, stays_inside
from dikmeans.preprocessing.chain import steps_of
from tests.helpers import quick


@pytest.fixture
def ink(real_digits):
    """Forty digits, white on black, (40, 28, 28) in [0, 1]."""
    return real_digits[0][:40]


def scaled(pictures):
    """Pictures at unit norm."""
    norms = np.linalg.norm(pictures.reshape(len(pictures), -1), axis=1)
    return pictures / norms[:, None, None]


def paper(n, seed=0):
    """Bright paper under light from one side, with a bulge: (n, 28, 28)."""
    rng = np.random.default_rng(seed)
    row, column = np.mgrid[-1:1:28j, -1:1:28j]
    tilt, bulge = rng.uniform(-0.2, 0.2, (n, 2, 1, 1)), rng.uniform(-0.1, 0.1, (n, 1, 1))
    return 0.7 + tilt[:, 0] * row + tilt[:, 1] * column + bulge * row**2


def test_dark_on_light_becomes_light_on_dark(ink):
    np.testing.assert_allclose(Background().fit_transform(1 - ink), scaled(ink), atol=0.01)


def test_color_becomes_distance_from_the_ground(ink):
    rng = np.random.default_rng(1)
    ground, pen = rng.uniform(0, 0.5, (40, 1, 1, 3)), rng.uniform(0.6, 1, (40, 1, 1, 3))
    colored = ink[..., None] * pen + (1 - ink[..., None]) * ground
    found = Background().fit_transform(colored)
    assert found.shape == ink.shape
    np.testing.assert_allclose(found, scaled(ink), atol=0.01)


def test_uneven_light_on_paper_is_taken_away(ink):
    found = Background().fit_transform(paper(40) - 0.4 * ink)
    correlation = (found * scaled(ink)).sum(axis=(1, 2))
    assert correlation.min() > 0.98
    # where there is no ink there is nothing
    assert found[ink == 0].mean() < 0.02 * found[ink > 0.5].mean()


def test_noise_of_the_ground_does_not_become_a_picture(ink):
    rng = np.random.default_rng(2)
    noisy = paper(40) - 0.4 * ink + rng.normal(0, 0.02, ink.shape)
    found = Background().fit_transform(noisy)
    assert np.median(found[ink == 0]) == 0
    assert (found * scaled(ink)).sum(axis=(1, 2)).min() > 0.93


def test_a_plain_ground_is_told_from_a_photograph(ink):
    rng = np.random.default_rng(3)
    photographs = rng.random((20, 7, 7)).repeat(4, 1).repeat(4, 2)
    assert find_ground(ink[:, None]).is_plain
    assert find_ground(ink[:, None]).is_black
    assert find_ground(paper(40)[:, None] - 0.4 * ink[:, None]).is_plain
    assert not find_ground(1 - ink[:, None]).is_black
    assert not find_ground(photographs[:, None]).is_plain


def test_every_picture_is_treated_on_its_own(ink):
    step = Background().fit(1 - ink)
    np.testing.assert_array_equal(step.transform(1 - ink)[7:8], step.transform(1 - ink[7:8]))


def test_pictures_of_one_value_have_no_distance():
    np.testing.assert_array_equal(Background().fit_transform(np.full((3, 16, 16), 0.7)), 0)


def test_centering_moves_whole_pixels_and_loses_nothing(ink):
    frame = np.zeros((40, 40, 40), np.float32)
    rng = np.random.default_rng(4)
    for picture, target in zip(ink, frame, strict=True):
        row, column = rng.integers(0, 13, 2)
        target[row : row + 28, column : column + 28] = picture
    centered = Centering().fit_transform(frame)
    assert np.abs(center_offsets(centered[:, None])).max() == 0
    np.testing.assert_allclose(
        np.sort(centered, axis=None),
        np.sort(frame / np.linalg.norm(frame.reshape(40, -1), axis=1)[:, None, None], axis=None),
        atol=1e-6,
    )
    again = Centering().fit_transform(centered)
    np.testing.assert_allclose(again, centered, atol=1e-6)


def test_things_that_reach_the_edge_are_told_from_things_that_end_before_it(ink):
    assert stays_inside(ink[:, None])
    assert not stays_inside(ink[:, None, 10:, :])


def test_auto_brings_scattered_things_to_the_middle(ink):
    frame = np.zeros((40, 40, 40), np.float32)
    for i, picture in enumerate(ink):
        row, column = 3 * (i % 5), 3 * (i % 4)
        frame[i, row : row + 28, column : column + 28] = picture
    assert quick().fit(frame).choices_["preprocessing"].value == "centering + local-contrast"
    assert quick().fit(ink).choices_["preprocessing"].value == "local-contrast"


def test_polarity_and_color_hardly_change_a_clustering(ink):
    white = quick(n_prototypes=1).fit(ink)
    dark = quick(n_prototypes=1).fit(255 - 255 * ink)
    red = quick(n_prototypes=1).fit(np.stack([ink, 0.1 * ink, np.zeros_like(ink)], axis=-1))
    assert dark.choices_["preprocessing"].value == "background + local-contrast"
    assert dark.cluster_centers_.shape == red.cluster_centers_.shape[:3] == (4, 28, 28)
    np.testing.assert_allclose(dark.inertia_, white.inertia_, rtol=0.05)


def test_a_chain_is_a_transformer_and_is_kept_with_the_model(ink, tmp_path):
    chain = Chain((Background(), LocalContrast()))
    assert clone(chain).steps[0] is not chain.steps[0]
    model = quick(preprocessing=chain).fit(1 - ink)
    assert "distance from the ground" in str(model.preprocessing_)
    assert "Local contrast" in str(model.preprocessing_)
    model.save(tmp_path / "model.safetensors")
    copy = DIKMeans.load(tmp_path / "model.safetensors")
    assert str(copy.preprocessing_) == str(model.preprocessing_)
    np.testing.assert_array_equal(copy.predict(1 - ink), model.labels_)


def test_steps_work_alone_in_a_pipeline_and_before_the_measure(ink):
    seen = make_pipeline(Background(), LocalContrast()).fit_transform(1 - ink)
    np.testing.assert_allclose(
        seen, LocalContrast().fit_transform(Background().fit_transform(1 - ink))
    )
    costs = pairwise_cost(Background().fit_transform(1 - ink[:3]), scaled(ink[:3]))
    assert costs.argmin(axis=1).tolist() == [0, 1, 2]


class TestAlpha:
    """Where pictures have an alpha channel, it is the ground truth of the ground."""

    @staticmethod
    def cutouts(n=20, seed=0):
        """Digits of a random color each, transparent around, over a ground that varies wildly."""
        rng = np.random.default_rng(seed)
        alpha = np.kron(load_digits().images[:n] / 16, np.ones((2, 2)))
        pictures = rng.random((n, 16, 16, 4))
        ink = rng.random((n, 1, 1, 3))
        pictures[..., :3] = np.where(alpha[..., None] > 0, ink, pictures[..., :3])
        pictures[..., 3] = alpha
        return pictures

    def test_transparent_pixels_are_exactly_ground_and_opaque_ones_are_not(self):
        pictures = self.cutouts()
        distance = Background().fit_transform(pictures)
        assert distance.shape == pictures.shape[:3]
        assert (distance[pictures[..., 3] == 0] == 0).all()
        assert (distance[pictures[..., 3] > 0] > 0).all()

    def test_neither_ink_nor_what_lies_under_transparent_pixels_counts(self):
        first, second = (Background().fit_transform(self.cutouts(seed=seed)) for seed in (1, 2))
        np.testing.assert_allclose(first, second, atol=1e-12)

    def test_bytes_and_gray_with_alpha_work_too(self):
        pictures = self.cutouts()
        gray = pictures[..., 2:]
        expected = Background().fit_transform(gray)
        np.testing.assert_allclose(Background().fit_transform(255 * gray), expected, atol=1e-6)
        assert (expected[gray[..., 1] == 0] == 0).all()

    def test_an_opaque_picture_among_them_is_treated_like_one_without_alpha(self):
        pictures = self.cutouts()
        pictures[0, ..., 3] = 1
        pictures[0, ..., :3] = 0.8
        pictures[0, 4:9, 5:10, :3] = 0.2
        fitted = Background().fit(pictures)
        alone = Background().fit_transform(pictures[:1, ..., :3])
        np.testing.assert_allclose(fitted.transform(pictures)[0], alone[0], atol=1e-12)

    def test_four_channels_of_another_kind_have_no_alpha(self):
        bands = np.random.default_rng(0).random((10, 16, 16, 4))
        assert Background().fit(bands).alpha_ == 0
        assert Background().fit(self.cutouts()).alpha_ == 1

    def test_auto_trusts_alpha(self):
        chosen, why = choose_preprocessing(np.moveaxis(self.cutouts(), 3, 1))
        assert steps_of(chosen)[0].name == "background"
        assert "alpha" in why

    def test_what_was_learned_is_restored_or_refused(self):
        pictures = self.cutouts()
        fitted = Background().fit(pictures)
        restored = Background().restore(fitted.learned, fitted.image_shape_)
        np.testing.assert_array_equal(restored.transform(pictures), fitted.transform(pictures))
        for wrong in (-1.0, float("nan"), np.zeros(2)):
            with pytest.raises(ValueError, match="alpha"):
                Background().restore({"alpha": wrong}, fitted.image_shape_)
