"""One encoded picture (PNG, JPEG, ...) -> one float32 array in [0, 1].

Order of the steps: decode, turn as the EXIF orientation says, crop, lay transparent pixels on the
background, grey or colour, resize (antialiased triangle filter, stretched to the size asked for),
invert. An animation or multi-page file gives its first picture. Sixteen-bit grey keeps its
precision; everything else is eight bits deep.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dikmeans.datasets.errors import CorruptFileError, UnsafeFileError, check_choice, missing_extra

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

EXTENSIONS = frozenset(
    (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm", ".pbm")
)
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")
_SIXTEEN_BIT_MODES = ("I;16", "I;16L", "I;16B", "I;16N", "I")
_ORIENTATION_TAG = 0x0112
_ORIENTATIONS_ON_THE_SIDE = (5, 6, 7, 8)


@dataclass(frozen=True)
class Rendering:
    """How a decoded picture becomes an array.

    Attributes
    ----------
    size : (int, int) or None
        Height and width to stretch to; None keeps the picture's own.
    mode : {"grey", "rgb"}
        Shape (H, W) or (H, W, 3).
    background : float
        Grey level in [0, 1] under transparent pixels.
    invert : bool
        Turn dark-on-white into the library's light-on-0.
    """

    size: tuple[int, int] | None = None
    mode: Literal["grey", "rgb"] = "grey"
    background: float = 0.0
    invert: bool = False

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, ("grey", "rgb"))
        if not 0 <= self.background <= 1:
            raise ValueError(f"background must be a grey level in [0, 1]; got {self.background!r}.")
        if self.size is not None and (
            len(self.size) != 2
            or not all(isinstance(n, int | np.integer) and n > 0 for n in self.size)
        ):
            raise ValueError(
                f"size must be (height, width), two positive integers; got {self.size!r}."
            )


def reduced_size(size: tuple[int, ...], largest_side: int | None) -> tuple[int, int]:
    """(height, width) in the same proportion, with no side longer than `largest_side`.

    Examples
    --------
    >>> reduced_size((300, 400), 64), reduced_size((28, 28), 64)
    ((48, 64), (28, 28))
    """
    height, width = int(size[0]), int(size[1])
    if largest_side is None or max(height, width) <= largest_side:
        return height, width
    if largest_side < 1:
        raise ValueError(f"largest_side must be a positive number of pixels; got {largest_side!r}.")
    scale = largest_side / max(height, width)
    return max(1, round(height * scale)), max(1, round(width * scale))


def warn_reduced(label: str, own: tuple[int, ...], size: tuple[int, int] | None) -> None:
    """Say that pictures were made smaller than they are, if they were."""
    if size is not None and tuple(own) != size:
        warnings.warn(
            f"The pictures in {label} are {own[0]}x{own[1]}; all are reduced to {size[0]}x{size[1]}. Pass "
            "size=(height, width) to choose.",
            UserWarning,
            stacklevel=3,
        )


def picture_size(content: bytes, name: str) -> tuple[int, int]:
    """Height and width of an encoded picture as it will be decoded, from its header alone.

    Parameters
    ----------
    content : bytes
        The file.
    name : str
        What to call it in an error.

    Returns
    -------
    (int, int)
    """
    with _opened(content, name) as image:
        width, height = image.size
        on_its_side = image.getexif().get(_ORIENTATION_TAG) in _ORIENTATIONS_ON_THE_SIDE
    return (width, height) if on_its_side else (height, width)


def decode_picture(
    content: bytes,
    name: str,
    rendering: Rendering,
    box: tuple[int, int, int, int] | None = None,
) -> NDArray[np.float32]:
    """Decode one picture.

    Parameters
    ----------
    content : bytes
        The file.
    name : str
        What to call it in an error.
    rendering : Rendering
        Size, colour, background, inversion.
    box : (top, left, height, width), optional
        Part to cut out, in pixels of the upright picture; parts outside of it repeat its edge.

    Returns
    -------
    ndarray of float32, shape (H, W) or (H, W, 3)

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
    >>> decode_picture(file.getvalue(), "white.png", Rendering()).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    with _opened(content, name) as image:
        from PIL import Image, ImageOps

        upright = ImageOps.exif_transpose(image)
        sixteen_bit = upright.mode in _SIXTEEN_BIT_MODES
        if sixteen_bit:
            flat = Image.fromarray(_sixteen_bit(upright))
        elif upright.mode == "F":
            raise ValueError(
                "its floating-point pixels have no fixed range; save it as 8 or 16 bit"
            )
        else:
            flat = _opaque(upright, rendering).convert("L" if rendering.mode == "grey" else "RGB")
        if box is not None:
            flat = _crop(flat, box)
        if rendering.size is not None and flat.size[::-1] != tuple(rendering.size):
            height, width = rendering.size
            flat = flat.resize((int(width), int(height)), Image.Resampling.BILINEAR)
        pixels = np.asarray(flat, np.float32)
    if not sixteen_bit:
        pixels = pixels / np.float32(255)
    elif rendering.mode == "rgb":
        pixels = np.repeat(pixels[..., None], 3, axis=2)
    return np.float32(1) - pixels if rendering.invert else pixels


@contextlib.contextmanager
def _opened(content: bytes, name: str) -> Iterator[Any]:
    """An open Pillow image; whatever goes wrong with it is told with its name."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError as error:
        raise missing_extra("pillow", "images", "Reading pictures") from error

    try:
        with warnings.catch_warnings():
            # Pillow only warns between one and two times its limit; other remarks on odd files help
            # nobody.
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            # only these: of all others, some are handed to programs (EPS to Ghostscript)
            with Image.open(io.BytesIO(content), formats=_FORMATS) as image:
                yield image
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise UnsafeFileError(
            f"{name} has more pixels than the safety limit allows ({error}) "
            "If you trust it, raise PIL.Image.MAX_IMAGE_PIXELS or make the picture smaller."
        ) from error
    except MemoryError:
        raise
    except UnidentifiedImageError as error:  # its own message names an object in memory
        raise CorruptFileError(
            f"{name} cannot be read as a picture: its format is not known."
        ) from error
    except Exception as error:  # decoders meet hostile bytes with every kind of exception
        raise CorruptFileError(f"{name} cannot be read as a picture: {error}") from error


def _sixteen_bit(image: Any) -> NDArray[np.float32]:
    values = np.asarray(image)
    if values.size and not (values.min() >= 0 and values.max() <= 65535):
        raise ValueError(
            f"its pixels range over {values.min()}..{values.max()}; expected 0..65535 (16 bit)"
        )
    return (values / np.float32(65535)).astype(np.float32)


def _opaque(image: Any, rendering: Rendering) -> Any:
    from PIL import Image

    if not image.has_transparency_data:
        return image
    level = round(255 * rendering.background)
    below = Image.new("RGBA", image.size, (level, level, level, 255))
    return Image.alpha_composite(below, image.convert("RGBA"))


def _crop(image: Any, box: tuple[int, int, int, int]) -> Any:
    from PIL import Image

    top, left, height, width = box
    pixels = np.asarray(image)
    if (
        height > 2 * pixels.shape[0] or width > 2 * pixels.shape[1]
    ):  # some may lie beyond its edge, not most
        raise ValueError(
            f"a part of {height}x{width} should be cut out of its {pixels.shape[0]}x{pixels.shape[1]} pixels"
        )
    rows = np.clip(np.arange(top, top + height), 0, pixels.shape[0] - 1)
    columns = np.clip(np.arange(left, left + width), 0, pixels.shape[1] - 1)
    return Image.fromarray(pixels[np.ix_(rows, columns)])
