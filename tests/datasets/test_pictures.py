import contextlib
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from dikmeans.datasets import CorruptFileError, DataError, UnsafeFileError
from dikmeans.datasets.pictures.decode import DecodeOptions, decode_picture, picture_size
from tests.datasets.published import encoded, png

RAMP = np.arange(0, 240, 10, dtype=np.uint8).reshape(4, 6)


def decoded(content, **options):
    box = options.pop("box", None)
    return decode_picture(content, "picture", DecodeOptions(**options), box)


@pytest.mark.parametrize("kind", ["png", "bmp", "tiff", "gif", "ppm", "webp"])
def test_every_lossless_format_gives_the_same_array(kind):
    options = {"lossless": True} if kind == "webp" else {}
    picture = decoded(encoded(Image.fromarray(RAMP), kind, **options))
    assert picture.dtype == np.float32
    np.testing.assert_allclose(picture, RAMP / 255, atol=1e-6)


def test_gray_and_color_have_two_and_three_axes():
    red = np.zeros((4, 6, 3), np.uint8)
    red[..., 0] = 255
    assert decoded(png(red), color=True).shape == (4, 6, 3)
    assert decoded(png(red), color=True)[0, 0].tolist() == [1, 0, 0]
    assert decoded(png(red)).shape == (4, 6)
    np.testing.assert_allclose(decoded(png(red)), 0.299, atol=0.003)


@pytest.mark.parametrize(
    ("orientation", "undo"),
    [(1, lambda a: a), (3, lambda a: a[::-1, ::-1]), (6, lambda a: np.rot90(a, -1)), (8, np.rot90)],
)
def test_the_exif_orientation_is_applied(orientation, undo):
    exif = Image.Exif()
    exif[0x0112] = orientation
    content = png(RAMP, exif=exif)
    np.testing.assert_allclose(decoded(content), undo(RAMP) / 255, atol=1e-6)
    assert picture_size(content, "picture") == undo(RAMP).shape


@pytest.mark.parametrize("background", [0.0, 1.0])
def test_transparent_pixels_show_the_background(background):
    pixels = np.zeros((2, 2, 4), np.uint8)
    pixels[0] = (255, 255, 255, 255)
    expected = [[1, 1], [background, background]]
    assert decoded(png(pixels), background=background).tolist() == expected
    gray_alpha = encoded(Image.fromarray(pixels).convert("LA"), "png")
    assert decoded(gray_alpha, background=background).tolist() == expected
    palette = encoded(Image.fromarray(RAMP).convert("P"), "png", transparency=0)
    assert decoded(palette, background=background)[0, 0] == background


@pytest.mark.parametrize("kind", ["png", "tiff", "ppm"])
def test_sixteen_bits_keep_their_precision(kind):
    deep = np.array([[0, 1, 65535], [256, 40000, 40001]], np.uint16)
    content = encoded(Image.fromarray(deep), kind)
    np.testing.assert_allclose(decoded(content), deep / 65535, atol=1e-6)
    assert decoded(content, color=True).shape == (2, 3, 3)
    assert decoded(content, size=(4, 6)).shape == (4, 6)


def test_floating_point_pixels_are_refused_because_their_range_is_unknown():
    content = encoded(Image.fromarray(np.ones((2, 2), np.float32)), "tiff")
    with pytest.raises(CorruptFileError, match="floating-point pixels"):
        decoded(content)


def test_wider_integers_than_sixteen_bits_are_refused():
    content = encoded(Image.fromarray(np.full((2, 2), 70000, np.int32)), "tiff")
    with pytest.raises(CorruptFileError, match=r"range over 70000\.\.70000"):
        decoded(content)


def test_inversion_makes_a_white_background_zero():
    assert decoded(png(np.full((2, 2), 255, np.uint8)), invert=True).tolist() == [[0, 0], [0, 0]]


def test_resizing_is_antialiased():
    stripes = np.tile(np.array([0, 255], np.uint8), (32, 16))
    np.testing.assert_allclose(decoded(png(stripes), size=(8, 8)), 0.5, atol=0.05)


def test_a_box_is_cut_out_and_repeats_the_edge_outside_of_the_picture():
    np.testing.assert_allclose(
        decoded(png(RAMP), box=(1, 2, 2, 3)) * 255, RAMP[1:3, 2:5], atol=1e-3
    )
    beyond = decoded(png(RAMP), box=(-1, 0, 2, 6)) * 255
    np.testing.assert_allclose(beyond, RAMP[[0, 0]], atol=1e-3)


def test_an_animation_gives_its_first_picture():
    frames = [Image.fromarray(np.full((2, 2), level, np.uint8)) for level in (255, 0)]
    assert decoded(encoded(frames[0], "gif", save_all=True, append_images=frames[1:])).max() == 1


@pytest.mark.parametrize("content", [b"", b"no picture", png(RAMP)[:40], png(RAMP)[:-20]])
def test_a_file_that_is_not_a_whole_picture_is_named(content):
    with pytest.raises(CorruptFileError, match="picture cannot be read as a picture"):
        decoded(content)


@pytest.mark.parametrize("limit", [20, 10])
def test_a_picture_beyond_pillows_limit_is_refused_and_named(monkeypatch, limit):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    for read in (decoded, lambda content: picture_size(content, "picture")):
        with pytest.raises(UnsafeFileError, match="picture has more pixels than the safety limit"):
            read(png(RAMP))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"background": 255}, r"background must be .* in \[0, 1\]; got 255"),
        ({"size": (0, 4)}, r"size must be \(height, width\)"),
        ({"size": (4,)}, r"size must be \(height, width\)"),
        ({"size": (4.5, 4)}, r"size must be \(height, width\)"),
    ],
)
def test_wrong_options_are_refused_with_what_is_expected(options, message):
    with pytest.raises(ValueError, match=message):
        DecodeOptions(**options)


def test_without_pillow_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install 'dikmeans\[images\]'"):
        picture_size(b"", "picture")
    with pytest.raises(ImportError, match=r"pip install 'dikmeans\[images\]'"):
        decoded(b"")


@given(
    st.sampled_from(["png", "jpeg", "gif", "tiff", "bmp", "ppm", "webp"]),
    st.lists(st.tuples(st.integers(0, 10**4), st.integers(0, 255)), min_size=1, max_size=4),
)
@settings(max_examples=150, deadline=None)
def test_damaged_bytes_are_read_or_refused_and_nothing_else(kind, damages):
    content = bytearray(encoded(Image.fromarray(RAMP), kind))
    for position, byte in damages:
        content[position % len(content)] = byte
    with contextlib.suppress(DataError):
        picture = decoded(bytes(content), size=(4, 6))
        assert picture.shape == (4, 6)
        assert np.isfinite(picture).all()
