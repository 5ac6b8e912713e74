"""Small pictures for the page: originals, the same in the pose of their prototype, portraits."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dikmeans._typing import Array
from dikmeans.frames import Crops
from dikmeans.registration.appearance import carried_maps, default_size
from dikmeans.report.likeness import Pair
from dikmeans.report.sprites import tone_of, viewable
from dikmeans.report.thumbnails import OriginalTone, original_tone
from dikmeans.studio.session import Session

# Sides in pixels that pages may ask for; any number would let the cache fill up with sizes.
SIDES = (96, 192, 512)
CACHE_BYTES = 64_000_000
SIDE_OF_LOSSLESS = 64


class Encoded(NamedTuple):
    """An image file."""

    content: bytes
    media_type: str


class PictureMaker:
    """Makes small pictures of a session, and keeps the latest within a fixed amount of memory."""

    def __init__(self, session: Session):
        self._session = session
        self._cache: OrderedDict[tuple[str, int, int], Encoded] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        self._tone: OriginalTone = original_tone(session.originals, session.images)

    def original(self, number: int, side: int) -> Encoded:
        """A picture as people know it."""
        return self._kept(("original", number, side), self._original)

    def aligned(self, number: int, side: int) -> Encoded:
        """A picture in the pose of its prototype."""
        return self._kept(("aligned", number, side), self._aligned)

    def portrait(self, number: int, side: int) -> Encoded:
        """What a prototype looks like."""
        return self._kept(("portrait", number, side), self._portrait)

    def between(self, pair: Pair, side: int) -> Encoded:
        """The portrait of one cluster, deformed into the pose of another."""
        model = self._session.model
        warp = model.measure_.build(model.compared_shape_).warp
        maps = carried_maps(
            warp,
            pair.parameters[None],
            model.measure_.direction,
            Crops.unchanged(1),
            pair.orientation[None],
        )
        picture = self._portrait_colors(pair.target)
        flat = picture if picture.ndim == 3 else picture[..., None]
        size = (flat.shape[0], flat.shape[1])
        carried = maps.carry(0, flat.astype(np.float32), size, "stretch")
        return encode(np.clip(np.rint(carried), 0, 255).astype(np.uint8), side)

    def _kept(self, key: tuple[str, int, int], make: Callable[[int, int], Encoded]) -> Encoded:
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return self._cache[key]
        made = make(key[1], key[2])
        with self._lock:
            if key not in self._cache:
                self._cache[key] = made
                self._size += len(made.content)
            while self._size > CACHE_BYTES:
                _, oldest = self._cache.popitem(last=False)
                self._size -= len(oldest.content)
        return made

    def _original(self, number: int, side: int) -> Encoded:
        picture = self._session.originals.read(number, side)
        return encode(self._tone.colors(picture), side)

    def _aligned(self, number: int, side: int) -> Encoded:
        session = self._session
        picture = self._tone.colors(session.originals.read(number, side))
        flat = picture if picture.ndim == 3 else picture[..., None]
        frame, shape = session.originals.frame, session.model.image_shape_
        size = default_size(picture.shape[:2], (shape[0], shape[1]), frame, side)
        maps = session.model.maps_to_prototypes(
            session.images.images, session.model.assignment_, np.array([number])
        )
        carried = maps.carry(0, flat.astype(np.float32), size, frame)
        colors = np.clip(np.rint(carried), 0, 255).astype(np.uint8)
        return encode(colors if colors.shape[2] == 3 else colors[..., 0], side)

    def _portrait(self, prototype: int, side: int) -> Encoded:
        return encode(self._portrait_colors(prototype), side)

    def _portrait_colors(self, prototype: int) -> Array:
        """The portrait of a prototype as bytes (H, W[, 3])."""
        portraits = self._session.portraits
        picture = portraits.pictures[prototype]
        if np.isnan(picture).any():  # it has no members
            compared = viewable(self._session.model.prototypes_[prototype][None])
            return tone_of(compared).to_bytes(compared)[0]
        if portraits.from_bytes:
            return np.clip(np.rint(picture), 0, 255).astype(np.uint8)
        return self._tone.colors(picture)


def encode(picture: Array, side: int) -> Encoded:
    """A byte picture (H, W[, 1 or 3]) as a file, its longer side at most `side` pixels."""
    from PIL import Image

    if picture.ndim == 3 and picture.shape[2] == 1:
        picture = picture[..., 0]
    if picture.ndim == 3 and picture.shape[2] != 3:
        picture = np.rint(picture.mean(axis=2)).astype(np.uint8)
    image = Image.fromarray(np.ascontiguousarray(picture))
    if max(image.size) > side:
        image.thumbnail((side, side), Image.Resampling.BILINEAR)
    stream = io.BytesIO()
    if max(image.size) <= SIDE_OF_LOSSLESS:
        image.save(stream, "png")
        return Encoded(stream.getvalue(), "image/png")
    image.save(stream, "jpeg", quality=85)
    return Encoded(stream.getvalue(), "image/jpeg")
