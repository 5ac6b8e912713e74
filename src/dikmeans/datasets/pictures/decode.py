"""One encoded picture (PNG, JPEG, ...) to one float32 array in [0, 1].

Order of the steps: decode, rotate as the EXIF orientation says, blend transparent pixels with the
background (or keep alpha as the last channel), convert to gray or color, crop, resize (antialiased
triangle filter; stretched to the size, or scaled to fit and padded), invert. An animation or
multi-page file gives its first picture. Sixteen-bit gray keeps its precision; everything else is
eight bits deep.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dikmeans._typing import Array, FloatArray
from dikmeans.datasets._text import format_shape
from dikmeans.datasets.errors import CorruptFileError, UnsafeFileError
from dikmeans.datasets.pictures.padding import fitted_size, pad_with_ground
from dikmeans.errors import MissingExtraError

if TYPE_CHECKING:
    from PIL import Image

PICTURE_EXTENSIONS = frozenset(
    (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm")
)
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
_SIXTEEN_BIT_MODES = ("I;16", "I;16L", "I;16B", "I;16N", "I")
_EXIF_ORIENTATION = 0x0112
_ORIENTATIONS_THAT_SWAP_AXES = (5, 6, 7, 8)

Box = tuple[int, int, int, int]
"""Top, left, height and width of a part of a picture, in pixels."""


@dataclass(frozen=True)
class DecodeOptions:
    """How a decoded picture becomes an array.

    Attributes
    ----------
    size : (int, int) or None
        Height and width; None keeps those of the picture.
    stretch : bool
        Whether a picture of another shape is stretched to the size, rather than scaled to fit and
        padded with its ground.
    color : bool
        Whether there are three channels rather than one.
    alpha : bool
        Whether alpha, 0 where a picture is transparent, is kept as one more channel, the last.
    background : float
        Gray level in [0, 1] under transparent pixels, if alpha is not kept.
    invert : bool
        Exchange dark and light, for dark subjects on white.
    """

    size: tuple[int, int] | None = None
    stretch: bool = True
    color: bool = False
    alpha: bool = False
    background: float = 0.0
    invert: bool = False

    @property
    def n_channels(self) -> int:
        """Channels of a picture."""
        return (3 if self.color else 1) + (1 if self.alpha else 0)

    def __post_init__(self) -> None:
        if not 0 <= self.background <= 1:
            raise ValueError(f"background must be a gray level in [0, 1]; got {self.background!r}.")
        check_size(self.size)


def check_size(size: tuple[int, int] | None) -> None:
    """Raise a ValueError if a size is neither None nor two positive integers."""
    if size is not None and (
        len(size) != 2 or not all(isinstance(n, int | np.integer) and n > 0 for n in size)
    ):
        raise ValueError(f"size must be (height, width), two positive integers; got {size!r}.")


def picture_size(content: bytes, name: str) -> tuple[int, int]:
    """Height and width of an encoded picture, upright, from its header alone.

    `name` is the file's name in an error.
    """
    with _opened(content, name) as image:
        width, height = image.size
        swapped = image.getexif().get(_EXIF_ORIENTATION) in _ORIENTATIONS_THAT_SWAP_AXES
    return (width, height) if swapped else (height, width)


def decode_picture(
    content: bytes, name: str, options: DecodeOptions, box: Box | None = None
) -> FloatArray:
    """Decode one picture.

    Parameters
    ----------
    content : bytes
        The file.
    name : str
        Name of the file in an error.
    options : DecodeOptions
        Size, color, background, inversion.
    box : (top, left, height, width), optional
        Part of the upright picture to cut out; where it lies outside, the edge is repeated.

    Returns
    -------
    ndarray of float32, shape (H, W) or (H, W, channels)

    Raises
    ------
    CorruptFileError
        Not a picture, or a damaged one.
    UnsafeFileError
        More pixels than Pillow's limit ``PIL.Image.MAX_IMAGE_PIXELS``.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> file = io.BytesIO()
    >>> Image.new("L", (3, 2), 255).save(file, "png")
    >>> decode_picture(file.getvalue(), "white.png", DecodeOptions()).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    with _opened(content, name) as image:
        from PIL import Image, ImageOps

        upright = ImageOps.exif_transpose(image)
        sixteen_bit = upright.mode in _SIXTEEN_BIT_MODES
        if sixteen_bit:
            converted = Image.fromarray(_sixteen_bit_pixels(upright))
        elif upright.mode == "F":
            raise ValueError("floating-point pixels have no fixed range; save it as 8 or 16 bit")
        else:
            converted = _converted(upright, options)
        if box is not None:
            converted = _cropped(converted, box)
        size = _scaled_size(converted.size[::-1], options)
        if converted.size[::-1] != size:
            converted = converted.resize(size[::-1], Image.Resampling.BILINEAR)
        pixels = np.array(converted, np.float32)
    pixels = _with_channels(pixels, options) if sixteen_bit else pixels / np.float32(255)
    if options.size is not None:
        pixels = pad_with_ground(pixels, options.size, alpha=options.alpha)
    if options.invert:
        n_inverted = options.n_channels - options.alpha
        colors = pixels[..., :n_inverted] if pixels.ndim == 3 else pixels
        np.subtract(np.float32(1), colors, out=colors)
    return pixels


def resized(picture: FloatArray, size: tuple[int, int]) -> FloatArray:
    """An array (H, W) of floats, brought to another size by the filter that pictures get."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingExtraError("pillow", "images", "Resizing images") from error
    plane = Image.fromarray(np.ascontiguousarray(picture, np.float32))
    height, width = (int(side) for side in size)
    return np.asarray(plane.resize((width, height), Image.Resampling.BILINEAR))


def _scaled_size(size: tuple[int, int], options: DecodeOptions) -> tuple[int, int]:
    """(height, width) to resize to, before padding."""
    if options.size is None:
        return size
    height, width = options.size if options.stretch else fitted_size(size, options.size)
    return int(height), int(width)


def decode_original(content: bytes, name: str, largest_side: int) -> Array:
    """One picture as people know it: bytes (H, W, 3) in its colors, on white where transparent.

    Parameters
    ----------
    content : bytes
        The file.
    name : str
        Name of the file in an error.
    largest_side : int
        Larger pictures are reduced to at most this many rows and columns.

    Raises
    ------
    CorruptFileError, UnsafeFileError
        As `decode_picture`.
    """
    with _opened(content, name) as image:
        from PIL import Image, ImageOps

        # a JPEG is decoded at an eighth, a quarter or half of its size where that is enough
        image.draft(None, (largest_side, largest_side))
        upright = ImageOps.exif_transpose(image)
        if upright.mode in _SIXTEEN_BIT_MODES:
            levels = np.rint(255 * _sixteen_bit_pixels(upright))
            upright = Image.fromarray(levels.astype(np.uint8))
        size = upright.height, upright.width
        if max(size) > largest_side:
            size = fitted_size(size, (largest_side, largest_side))
        height, width = size
        colored = _on_white(upright).convert("RGB")
        if colored.size != (width, height):
            colored = colored.resize((width, height), Image.Resampling.BILINEAR)
        return np.asarray(colored)


@contextlib.contextmanager
def _opened(content: bytes, name: str) -> Iterator[Image.Image]:
    """Open a picture with Pillow; any error within the block is raised again with its name."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise MissingExtraError("pillow", "images", "Reading pictures") from error

    try:
        with warnings.catch_warnings():
            # Other warnings of Pillow, about odd files, are of no use to the caller.
            warnings.simplefilter("ignore")
            # Between one and two times its limit Pillow only warns.
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            # Other formats may be handed to programs, such as EPS to Ghostscript.
            with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
                yield image
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise UnsafeFileError(
            name,
            f"has more pixels than the safety limit allows ({error})",
            "If you trust it, raise PIL.Image.MAX_IMAGE_PIXELS or make the picture smaller.",
        ) from error
    except MemoryError:
        raise
    except UnidentifiedImageError as error:  # its message is the address of an object
        raise CorruptFileError(
            name, "cannot be read as a picture: its format is not known"
        ) from error
    except Exception as error:  # decoders meet damaged bytes with every kind of exception
        raise CorruptFileError(name, f"cannot be read as a picture: {error}") from error


def _on_white(image: Image.Image) -> Image.Image:
    from PIL import Image

    if not image.has_transparency_data:
        return image
    white = Image.new("RGBA", image.size, "white")
    return Image.alpha_composite(white, image.convert("RGBA"))


def _sixteen_bit_pixels(image: Image.Image) -> FloatArray:
    pixels = np.asarray(image)
    if pixels.size and not (pixels.min() >= 0 and pixels.max() <= 65535):
        raise ValueError(
            f"its pixels range over {pixels.min()}..{pixels.max()}; expected 0..65535 (16 bit)"
        )
    return (pixels / np.float32(65535)).astype(np.float32)


def _with_channels(gray: FloatArray, options: DecodeOptions) -> FloatArray:
    """A picture (H, W) with the channels that are wanted; it is opaque."""
    if options.n_channels == 1:
        return gray
    pixels = np.ones((*gray.shape, options.n_channels), np.float32)
    pixels[..., : 3 if options.color else 1] = gray[..., None]
    return pixels


def _converted(image: Image.Image, options: DecodeOptions) -> Image.Image:
    """The picture in gray or color, with alpha or blended with the background."""
    from PIL import Image

    if options.alpha:
        with_alpha = image.convert("RGBA")
        return with_alpha if options.color else with_alpha.convert("LA")
    if image.has_transparency_data:
        level = round(255 * options.background)
        below = Image.new("RGBA", image.size, (level, level, level, 255))
        image = Image.alpha_composite(below, image.convert("RGBA"))
    return image.convert("RGB" if options.color else "L")


def _cropped(image: Image.Image, box: Box) -> Image.Image:
    from PIL import Image

    top, left, height, width = box
    pixels = np.asarray(image)
    # A box may reach beyond the edge, but not so far that it costs memory.
    if height > 2 * pixels.shape[0] or width > 2 * pixels.shape[1]:
        raise ValueError(
            f"a part of {height}x{width} should be cut out of its "
            f"{format_shape(pixels.shape[:2])} pixels"
        )
    rows = np.clip(np.arange(top, top + height), 0, pixels.shape[0] - 1)
    columns = np.clip(np.arange(left, left + width), 0, pixels.shape[1] - 1)
    return Image.fromarray(pixels[np.ix_(rows, columns)])
