"""Originals carried into the frames of prototypes, against SciPy's resampling and known maps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from dikmeans import DIKMeans, Search
from dikmeans.frames import Crops, place
from dikmeans.registration.appearance import carried_maps, mean_and_spread
from dikmeans.registration.grid import Grid
from dikmeans.registration.warps import make_warp

SHAPE = (24, 32)
STILL = Crops.unchanged(1)


@pytest.fixture
def spline():
    """A spline that moves points by a few pixels, and a smooth picture."""
    rng = np.random.default_rng(0)
    warp = make_warp("tps", SHAPE)
    parameters = warp.identity + rng.normal(0, 0.05, warp.identity.shape)
    picture = ndimage.gaussian_filter(rng.normal(size=(96, 128)), 4)
    return warp, parameters, picture / np.abs(picture).max()


def carried(warp, parameters, picture, size, direction="image-to-centroid", crops=STILL):
    maps = carried_maps(warp, parameters[None], direction, crops)
    return maps.carry(0, picture[..., None], size, "stretch")[..., 0]


def test_a_picture_of_four_times_the_resolution_is_read_where_the_warp_says(spline):
    warp, parameters, picture = spline
    fine = Grid.of(picture.shape)
    places = fine.to_pixels(warp.coordinates(parameters, fine))
    expected = ndimage.map_coordinates(picture, np.moveaxis(places, -1, 0), order=1, mode="nearest")
    found = carried(warp, parameters, picture, picture.shape)
    np.testing.assert_allclose(found, expected, atol=0.02)
    assert np.abs(found - picture).max() > 0.2  # it does move something


def test_carrying_undoes_the_warp_of_the_centroid(spline):
    warp, parameters, picture = spline
    fine = Grid.of(picture.shape)
    places = fine.to_pixels(warp.coordinates(parameters, fine))
    # the image that the centroid `picture` is warped onto
    image = ndimage.map_coordinates(picture, np.moveaxis(places, -1, 0), order=1, mode="nearest")
    back = carried(warp, parameters, image, picture.shape, "centroid-to-image")
    inner = slice(20, -20), slice(20, -20)
    np.testing.assert_allclose(back[inner], picture[inner], atol=0.04)
    assert np.abs(image[inner] - picture[inner]).max() > 0.2


def test_a_half_turn_is_carried_as_a_half_turn():
    warp = make_warp("affine", (20, 20))
    turned = np.array([[0.0, 0.0], [-1.0, 0.0], [0.0, -1.0]])
    picture = np.random.default_rng(1).normal(size=(40, 40))
    for direction in ("image-to-centroid", "centroid-to-image"):
        found = carried(warp, turned, picture, (40, 40), direction)
        np.testing.assert_allclose(found, picture[::-1, ::-1], atol=1e-4)


def test_what_preprocessing_has_scaled_is_read_through_its_view():
    warp = make_warp("none", (10, 10))
    picture = np.random.default_rng(2).normal(size=(40, 40))
    # the middle half of the image, enlarged: pixel centers -0.5 and 9.5 lead to 2 and 7
    crops = Crops(np.array([0.5]), np.array([[2.25, 2.25]]))
    found = carried(warp, np.zeros((0, 2)), picture, (20, 20), crops=crops)
    np.testing.assert_allclose(found, picture[10:30, 10:30], atol=1e-4)


def test_a_shift_by_preprocessing_counts_in_pixels_of_the_image():
    warp = make_warp("none", (10, 10))
    picture = np.random.default_rng(2).normal(size=(30, 30))
    crops = Crops(np.ones(1), np.array([[2.0, -1.0]]))  # what is at p now was at p + (2, -1)
    found = carried(warp, np.zeros((0, 2)), picture, (30, 30), crops=crops)
    np.testing.assert_allclose(found[:24, 3:], picture[6:, :27], atol=1e-4)


def test_a_picture_that_was_fitted_into_the_frame_is_read_from_between_its_margins():
    warp = make_warp("none", (16, 16))
    maps = carried_maps(warp, np.zeros((1, 0, 2)), "image-to-centroid", STILL)
    tall = np.random.default_rng(3).normal(size=(32, 16, 1))
    found = maps.carry(0, tall, (32, 32), "fit")
    np.testing.assert_allclose(found[:, 8:24], tall, atol=1e-4)


@pytest.mark.parametrize("frame", ["stretch", "fit"])
def test_the_middle_of_the_frame_is_the_middle_of_every_picture(frame):
    for original in ((7, 12), (50, 50), (300, 20)):
        placement = place(original, (28, 40), frame)
        middle = placement.to_original(np.array([13.5, 19.5]))
        np.testing.assert_allclose(middle, (np.array(original) - 1) / 2)


def test_signals_have_one_row_and_are_carried_along_it():
    warp = make_warp("affine", (1, 40))
    shifted = warp.identity + np.array(
        [[0, 0.25], [0, 0]]
    )  # a quarter of half the length: five samples
    signal = np.arange(40.0)[None]
    found = carried(warp, shifted, signal, (1, 40))
    np.testing.assert_allclose(found[0, :35], signal[0, 5:], atol=1e-4)


def test_a_robust_mean_forgets_what_one_member_in_ten_has():
    stack = np.ones((20, 3, 3))
    stack[:2] = 50.0
    mean, spread = mean_and_spread(stack)
    assert np.abs(mean - 1).max() < 0.5 < np.abs(stack.mean(axis=0) - 1).max()
    np.testing.assert_allclose(spread, stack.std(axis=0), rtol=1e-5)


@pytest.fixture(scope="module")
def scattered(digits_by_class):
    """Zeros and ones in full resolution, each somewhere in a larger dark frame, and their half."""
    rng = np.random.default_rng(0)
    large = np.zeros((60, 96, 96), np.float32)
    for picture, digit in zip(large, digits_by_class[:2, :30].reshape(-1, 28, 28), strict=True):
        top, left = 2 * rng.integers(0, 20, 2)
        picture[top : top + 56, left : left + 56] = np.kron(digit, np.ones((2, 2)))
    small = large.reshape(60, 48, 2, 48, 2).mean(axis=(2, 4))
    model = DIKMeans(2, random_state=0, n_prototypes=1, search=Search(n_swaps=0)).fit(small)
    return model, small, large


def test_means_of_scattered_originals_are_sharp_and_in_the_middle(scattered):
    model, small, large = scattered
    assert model.preprocessing_.moves  # they are centered before they are compared
    averages = model.average_originals(small, large, assignment=model.assignment_)
    assert averages.mean.shape == (2, 96, 96)
    for k in range(2):
        blurred = large[model.labels_ == k].mean(axis=0)
        assert averages.mean[k].max() > 2 * blurred.max()
        center = ndimage.center_of_mass(averages.mean[k])
        np.testing.assert_allclose(center, 47.5, atol=4)
        # what varies is not in the dark corners
        assert averages.spread[k][:10, :10].max() < 0.05 < averages.spread[k].max()


def test_originals_may_come_from_a_function_in_color_and_differ_in_size(scattered):
    model, small, large = scattered
    asked = []

    def read(number):
        asked.append(number)
        picture = large[number][..., None] * np.array([1.0, 0.5, 0.0])
        return picture[::2, ::2] if number % 2 else picture

    options = {"assignment": model.assignment_, "size": (48, 48), "max_members": 10}
    averages = model.average_originals(small, read, **options)
    assert averages.mean.shape == (2, 48, 48, 3)
    assert averages.counts.tolist() == [10, 10]
    assert len(set(asked)) <= 20  # the best fits of each alone are read
    np.testing.assert_allclose(averages.mean[..., 1], averages.mean[..., 0] / 2, atol=0.05)
    assert not averages.mean[..., 2].any()
    best = [
        np.flatnonzero(model.labels_ == k)[model.assignment_.costs[model.labels_ == k].argmin()]
        for k in range(2)
    ]
    assert set(best) <= set(asked)


def test_images_may_be_flat_or_a_list(scattered):
    model, small, _ = scattered
    expected = model.average_originals(small, assignment=model.assignment_).mean
    for images in (small.reshape(60, -1), list(small)):
        found = model.average_originals(images, assignment=model.assignment_).mean
        np.testing.assert_array_equal(found, expected)


def test_warps_that_were_not_kept_are_found_again(scattered):
    model, small, large = scattered
    known = model.average_originals(small, large, assignment=model.assignment_)
    without = model.assignment_._replace(warps=None)
    again = model.average_originals(small, large, assignment=without)
    np.testing.assert_allclose(again.mean, known.mean, atol=1e-3)
    with pytest.raises(ValueError, match="assignment is of 60 images, but X has 59"):
        model.average_originals(small[:59], large, assignment=model.assignment_)


def test_originals_that_do_not_belong_to_the_images_are_refused(scattered):
    model, small, large = scattered
    with pytest.raises(ValueError, match="There are 59 originals of 60 images"):
        model.average_originals(small, large[:59], assignment=model.assignment_)
    with pytest.raises(ValueError, match=r"Original \d+ has shape \(9216,\); expected"):
        model.average_originals(small, large.reshape(60, -1), assignment=model.assignment_)
    for options, words in (({"frame": "pad"}, "frame='pad'"), ({"size": (0, 4)}, "size=")):
        with pytest.raises(ValueError, match=words):
            model.average_originals(small, large, assignment=model.assignment_, **options)
    mixed = [np.zeros((4, 4)) if i % 2 else np.zeros((4, 4, 3)) for i in range(60)]
    with pytest.raises(ValueError, match=r"Original \d+ has \d channels, others have \d"):
        model.average_originals(small, mixed, assignment=model.assignment_)


def test_members_without_a_common_appearance_have_a_mean_without_contrast(scattered):
    model, small, large = scattered
    signs = np.where(np.arange(60) % 2, 1, -1)[:, None, None]
    averages = model.average_originals(small, large * signs, assignment=model.assignment_)
    alike = model.average_originals(small, large, assignment=model.assignment_)
    assert (averages.contrast < 0.6 * alike.contrast).all()
