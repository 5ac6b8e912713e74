"""Originals as the page shows them: thumbnails in the frame, portraits, sounds.

A thumbnail is the original placed in the frame that pictures are compared in, so that a warp found
there moves it too. Its size is the largest that keeps the page within its budget.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dikmeans._typing import JSON, Array, FloatArray, IntArray
from dikmeans.datasets import ImageSet
from dikmeans.frames import Crops, Frame, place
from dikmeans.parallel.threads import run_threads
from dikmeans.registration.appearance import carried_maps, default_size
from dikmeans.registration.warps import make_warp
from dikmeans.report.sprites import Tone, signed_colors, tone_of, viewable
from dikmeans.runs.originals import Originals
from dikmeans.runs.portraits import Portraits, make_portraits

if TYPE_CHECKING:
    from dikmeans.estimator import DIKMeans
    from dikmeans.kmeans.shard import Assignment

# Bytes of all thumbnails together, before base64 makes four of three; and of a pixel of a detailed
# photograph, as JPEG of the quality that sheets have at best.
BUDGET, BYTES_PER_PIXEL = 16_000_000, 0.35
LARGEST_THUMBNAIL, SMALLEST_THUMBNAIL = 256, 48
LARGEST_PORTRAIT, PORTRAIT_BUDGET = 320, 3_000_000
SOUND_BUDGET, LARGEST_SOUND = 12_000_000, 1_500_000
# JPEG works on blocks of so many pixels: no block belongs to two thumbnails.
BLOCK = 8


class Thumbnails(NamedTuple):
    """The originals of the pictures shown, of one size.

    Attributes
    ----------
    cells : uint8 array of shape (n, rows, columns[, 3])
        In the frame.
    aspects : array of shape (n,)
        Height by width of each as it should be seen.
    is_signed : bool
        Whether values have both signs; they are drawn in two colors then.
    portraits : uint8 array of shape (M, rows, columns[, 3])
        What the prototypes look like.
    spreads : uint8 array of shape (M, rows, columns[, 3])
        What varies among the members of each: bright where they differ.
    portrait_kinds : list of str
        "mean", "typical" (member), or "none" if a prototype has no members.
    """

    cells: Array
    aspects: FloatArray
    is_signed: bool
    portraits: Array
    spreads: Array
    portrait_kinds: list[str]


def thumbnail_side(n: int) -> int:
    """Longer side, in pixels, of each of `n` thumbnails that together stay within the budget.

    Examples
    --------
    >>> thumbnail_side(100), thumbnail_side(2000), thumbnail_side(100_000)
    (256, 144, 48)
    """
    side = int(np.sqrt(BUDGET / BYTES_PER_PIXEL / max(n, 1))) // BLOCK * BLOCK
    return min(LARGEST_THUMBNAIL, max(SMALLEST_THUMBNAIL, side))


def make_thumbnails(
    model: DIKMeans,
    image_set: ImageSet,
    originals: Originals,
    assignment: Assignment,
    shown: IntArray,
    portraits: Portraits | None = None,
) -> Thumbnails:
    """Thumbnails of the pictures `shown`, and the portraits of the prototypes, made if need be."""
    tone = original_tone(originals, image_set)
    side = thumbnail_side(len(shown))
    rows, columns = image_set.shape[:2]
    first = originals.read(int(shown[0]), side)
    size = default_size(first.shape[:2], (rows, columns), originals.frame, side)
    if first.dtype == np.uint8 and max(size) >= 2 * BLOCK:
        size = _to_blocks(size[0]), _to_blocks(size[1])

    def thumbnail(number: int) -> tuple[Array, float]:
        original = tone.colors(originals.read(number, side))
        height, width = original.shape[:2]
        is_stretched = originals.frame == "stretch" and first.dtype == np.uint8
        aspect = height / width if is_stretched else rows / columns
        return _framed(original, size, originals.frame), aspect

    made = run_threads(thumbnail, [int(number) for number in shown], model.n_jobs)
    largest = portrait_side(len(model.prototypes_))
    if portraits is None:
        portraits = make_portraits(model, image_set, originals, assignment, largest_side=largest)
    portraits = portraits.reduced(largest)
    pictures = tone.colors(_filled(portraits.pictures), is_stack=True)
    spreads = _spread_colors(portraits.spread)
    is_there = [bool(np.isfinite(portrait).all()) for portrait in portraits.pictures]
    return Thumbnails(
        cells=without_colors(np.stack([cell for cell, _ in made])),
        aspects=np.array([aspect for _, aspect in made]),
        is_signed=tone.is_signed,
        portraits=without_colors(pictures),
        spreads=spreads,
        portrait_kinds=[
            ("mean" if is_mean else "typical") if there else "none"
            for is_mean, there in zip(portraits.is_mean, is_there, strict=True)
        ],
    )


def portrait_side(n: int) -> int:
    """Longer side, in pixels, of each of `n` portraits that together stay within the budget."""
    side = int(np.sqrt(PORTRAIT_BUDGET / BYTES_PER_PIXEL / n))
    return min(LARGEST_PORTRAIT, max(SMALLEST_THUMBNAIL, side))


class OriginalTone(NamedTuple):
    """How originals become colors: files as they are, arrays over the range of all of them."""

    tone: Tone

    @property
    def is_signed(self) -> bool:
        """Whether values have both signs."""
        return self.tone.is_signed

    def colors(self, picture: Array, *, is_stack: bool = False) -> Array:
        """A picture, or a stack of them, as bytes (..., rows, columns[, 3])."""
        if not is_stack:
            return self.colors(picture[None], is_stack=True)[0]
        if picture.dtype == np.uint8:
            return picture
        values = viewable(picture)
        return signed_colors(values, self.tone) if self.is_signed else self.tone.to_bytes(values)


def original_tone(originals: Originals, image_set: ImageSet) -> OriginalTone:
    """The tone of originals: bytes stay, arrays are scaled to their common range."""
    if originals.read(0, SMALLEST_THUMBNAIL).dtype == np.uint8:
        return OriginalTone(Tone(0.0, 255.0, ink=False))
    return OriginalTone(tone_of(viewable(image_set.images)))


def _filled(pictures: FloatArray) -> FloatArray:
    return np.where(np.isnan(pictures), 0, pictures)


def _to_blocks(length: int) -> int:
    return max(BLOCK, -(-length // BLOCK) * BLOCK)


def _framed(original: Array, size: tuple[int, int], frame: Frame) -> Array:
    """A byte picture in a frame of `size`; margins have the color of its edge."""
    from PIL import Image

    rows, columns = size
    placement = place((original.shape[0], original.shape[1]), size, frame)
    (top, left), (down, across) = placement.offset, placement.scale
    height, width = round(original.shape[0] / down), round(original.shape[1] / across)
    if (height, width) == original.shape[:2] == size:
        return original
    image = Image.fromarray(original).resize(
        (max(1, width), max(1, height)), Image.Resampling.BILINEAR
    )
    if image.size == (columns, rows):
        return np.asarray(image)
    edge = np.concatenate([original[0], original[-1], original[:, 0], original[:, -1]])
    framed = np.empty((rows, columns, *original.shape[2:]), np.uint8)
    framed[:] = np.median(edge, axis=0)
    first_row, first_column = max(0, round(top)), max(0, round(left))
    inner = np.asarray(image)[: rows - first_row, : columns - first_column]
    framed[first_row : first_row + inner.shape[0], first_column : first_column + inner.shape[1]] = (
        inner
    )
    return framed


def without_colors(pictures: Array) -> Array:
    """Byte pictures with one channel, if their three are equal."""
    if pictures.ndim == 4 and (pictures == pictures[..., :1]).all():
        return pictures[..., 0]
    return pictures


def _spread_colors(spread: FloatArray) -> Array:
    """Spreads (M, rows, columns[, C]) as gray bytes, all over one range."""
    values = _filled(spread)
    gray = values if values.ndim == 3 else values.mean(axis=3)
    return np.rint(gray * (255 / max(float(gray.max()), 1e-9))).astype(np.uint8)


def unaligned_means(
    cells: Array, labels: IntArray, n_clusters: int, crops: Crops, shape: tuple[int, int]
) -> Array:
    """Means (K, rows, columns[, 3]) of thumbnails by label, moved only as preprocessing does."""
    size, warp = (cells.shape[1], cells.shape[2]), make_warp("none", shape)
    means = np.zeros((n_clusters, *cells.shape[1:]), np.uint8)
    for k in range(n_clusters):
        members = np.flatnonzero(labels == k)
        if len(members) == 0:
            continue
        nothing = np.zeros((len(members), 0, 2))
        maps = carried_maps(warp, nothing, "image-to-centroid", crops.of(members))
        total = np.zeros((*size, int(np.prod(cells.shape[3:]))))
        for place_, member in enumerate(members):
            cell = cells[member].reshape(*size, -1).astype(np.float32)
            total += maps.carry(place_, cell, size, "stretch")
        means[k] = np.rint(total / len(members)).reshape(cells.shape[1:])
    return means


def pack_sounds(originals: Originals, shown: IntArray) -> dict[int, JSON]:
    """The sounds of pictures by their slot, as many as the budget allows, in base64."""
    sounds: dict[int, JSON] = {}
    total = 0
    for slot, number in enumerate(shown):
        sound = originals.sound(int(number))
        if sound is None or len(sound.content) > LARGEST_SOUND:
            continue
        total += len(sound.content)
        if total > SOUND_BUDGET:
            break
        data = base64.b64encode(sound.content).decode()
        sounds[slot] = {"type": sound.media_type, "data": data}
    return sounds
