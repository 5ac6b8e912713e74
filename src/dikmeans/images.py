"""Pictures in and out: what users pass as X, checked, and brought into one layout.

Users have (N, rows, columns), (N, rows, columns, channels) or flat (N, features) arrays. Inside the
package pictures are always (N, channels, rows, columns).
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from dikmeans._typing import Array, ArrayLike, FloatArray, ImageShape, IntArray

LARGEST_VALUE = 1e15
# Pictures of one, three or four rows with more channels than this have their axes mixed up.
MOST_CHANNELS = 7
# Rows of fewer values than a square of this side are no pictures.
SMALLEST_PICTURE = 8
# Integers that float32 holds without loss need no more than that.
_SMALL_INTEGERS = (np.bool_, np.uint8, np.int8, np.uint16, np.int16)


def flatten(X: Any, image_shape: Any = None, name: str = "X") -> tuple[Any, ImageShape]:
    """X as a table with one picture per row, and the shape of the pictures.

    Parameters
    ----------
    X : array-like
        Of shape (N, rows, columns), (N, rows, columns, channels) or (N, features).
    image_shape : tuple of int, optional
        Of flat rows: (rows, columns) or (rows, columns, channels); by default (1, features). Of
        pictures: what they must have.
    name : str, default="X"
        What the user calls X, for messages.

    Examples
    --------
    >>> table, shape = flatten(np.zeros((5, 28, 28)))
    >>> table.shape, shape
    ((5, 784), (28, 28))
    """
    expected = None if image_shape is None else check_image_shape(image_shape)
    X = stack(X)
    if X.ndim == 1 and len(X) == 0:
        raise ValueError(f"{name} is empty: 0 sample(s), at least one image is needed.")
    if X.ndim in (3, 4):
        shape = X.shape[1:]
        if 0 in shape:
            raise ValueError(f"The images are empty: {name} has shape {X.shape}.")
        if len(shape) == 3 and shape[0] in (1, 3, 4) and shape[2] > MOST_CHANNELS:
            raise ValueError(
                f"{name} has shape {X.shape}, which looks like (N, channels, rows, columns). "
                "Expected (N, rows, columns, channels): pass np.moveaxis(X, 1, -1)."
            )
        if expected is not None and shape != expected:
            raise ValueError(
                f"{name} has images of shape {shape}, but image_shape={image_shape!r} was "
                "expected. Pass the images in that shape, or leave image_shape out."
            )
        return X.reshape(len(X), int(np.prod(shape))), shape
    if X.ndim > 4:
        raise ValueError(
            f"{name} has {X.ndim} dimensions, shape {X.shape}; expected (N, rows, columns), "
            "(N, rows, columns, channels) or (N, features)."
        )
    if X.ndim == 2 and expected is not None and X.shape[1] != np.prod(expected):
        raise ValueError(
            f"{name} has {X.shape[1]} features per row, but image_shape={image_shape!r} needs "
            f"{np.prod(expected)}."
        )
    return X, expected or (1, X.shape[1] if X.ndim == 2 else 1)


class FlatPicturesWarning(UserWarning):
    """Rows that are taken as signals look like flattened pictures.

    Attributes
    ----------
    n_features : int
        Numbers per row.
    image_shape : tuple of int
        The shape that such pictures would have.
    """

    def __init__(self, n_features: int, image_shape: ImageShape):
        self.n_features, self.image_shape = n_features, image_shape
        super().__init__(
            f"X has {n_features} features per row, as flattened pictures of shape {image_shape} "
            f"would have, but is taken as signals of one row. If they are pictures, pass "
            f"image_shape={image_shape}; if not, image_shape=(1, {n_features})."
        )


class SinglePictureWarning(UserWarning):
    """X, which is taken as many images, looks like one picture.

    Attributes
    ----------
    shape : tuple of int
        Of X.
    """

    def __init__(self, shape: tuple[int, ...]):
        self.shape = shape
        read_as = (
            f"{shape[0]} signals of {shape[1]} values"
            if len(shape) == 2
            else f"{shape[0]} pictures of {shape[1]} x {shape[2]} pixels"
        )
        super().__init__(
            f"X has shape {shape} and is taken as {read_as}, but looks like one picture. Pass an "
            "array of pictures (N, rows, columns[, channels]); X[None] is an array of one."
        )


def warn_if_misread(shape: tuple[int, ...], stacklevel: int) -> None:
    """Warn if an X of this shape, given without an image shape, probably means something else."""
    looks_like = picture_shape_of(shape[1]) if len(shape) == 2 else None
    is_square = len(shape) == 2 and shape[0] == shape[1] >= SMALLEST_PICTURE
    is_color = len(shape) == 3 and shape[2] in (3, 4) and min(shape[:2]) >= SMALLEST_PICTURE
    if is_square or is_color:
        warnings.warn(SinglePictureWarning(shape), stacklevel=stacklevel + 1)
    elif looks_like is not None:
        warnings.warn(FlatPicturesWarning(shape[1], looks_like), stacklevel=stacklevel + 1)


def picture_shape_of(n_features: int) -> ImageShape | None:
    """The shape of square pictures, gray or in color, that have so many values, if any.

    Examples
    --------
    >>> picture_shape_of(784), picture_shape_of(3072), picture_shape_of(100), picture_shape_of(10)
    ((28, 28), (32, 32, 3), (10, 10), None)
    """
    for channels in (1, 3):
        side = math.isqrt(n_features // channels)
        if side >= SMALLEST_PICTURE and channels * side**2 == n_features:
            return (side, side) if channels == 1 else (side, side, channels)
    return None


def check_image_shape(image_shape: Any) -> ImageShape:
    """`image_shape` as a tuple, if it is one of two or three positive whole numbers."""
    try:
        shape = tuple(int(side) for side in image_shape)
        fits = len(shape) in (2, 3) and min(shape) > 0 and list(shape) == list(image_shape)
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(
            f"image_shape={image_shape!r}: expected (rows, columns) or (rows, columns, channels), "
            "positive whole numbers."
        )
    return shape


def stack(X: Any) -> Any:
    """X as an array; pictures of different sizes are refused by name.

    Data frames and sparse matrices stay what they are: scikit-learn's validation knows them.
    """
    first = X[0] if isinstance(X, list | tuple) and len(X) else X
    if isinstance(first, str | os.PathLike):
        raise TypeError(
            f"X is a path, {os.fspath(first)!r}; expected images. Load them first: "
            "X = dikmeans.datasets.load(path).images."
        )
    is_table = sparse.issparse(X) or hasattr(X, "columns")
    if is_table or (isinstance(X, np.ndarray) and X.dtype != object):
        return X
    if isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.ndim == 1):
        shapes = [np.shape(picture) for picture in X]
        for i, shape in enumerate(shapes):
            if shape != shapes[0]:
                raise ValueError(
                    f"Images of different sizes: image 0 is {shapes[0]}, image {i} is {shape}. "
                    "Bring them to one size first."
                )
        X = list(X)  # an array of pictures as objects becomes one of numbers
    return np.asarray(X)


def table_rules(table: Any) -> dict[str, Any]:
    """How scikit-learn's validation shall treat a table of pictures: numbers, as floats.

    Small integers become float32, which holds them without loss; float32 and float64 stay.
    """
    small = getattr(table, "dtype", None) in _SMALL_INTEGERS
    return {
        "dtype": np.float32 if small else [np.float64, np.float32],
        "ensure_all_finite": False,  # `refuse_non_finite` says which picture it is
        "order": "C",
    }


def refuse_non_finite(
    table: Array, name: str = "X", numbers: Sequence[int] | IntArray | None = None
) -> None:
    """Raise if a picture of the input called `name` has values we cannot compute with; say which.

    `numbers` are those of the table's pictures, where it is a part of the input.
    """
    places = range(len(table)) if numbers is None else numbers
    finite = np.isfinite(table).all(axis=1)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        problem = "NaN" if np.isnan(table[bad[0]]).any() else "infinity"
        seen = f"{len(table)}" if numbers is None else f"the {len(table)} looked at together"
        raise ValueError(
            f"Input {name} contains {problem}: image {places[bad[0]]} is the first of {len(bad)} "
            f"such images among {seen}. Remove or repair them first."
        )
    largest = np.abs(table).max(axis=1, initial=0)
    if (largest > LARGEST_VALUE).any():
        i = int(largest.argmax())
        raise ValueError(
            f"Input {name} has a value of {largest[i]:.3g} in image {places[i]}, beyond what "
            f"single precision can square and add up. Scale the images to below {LARGEST_VALUE:g}."
        )


def check_weights(sample_weight: ArrayLike | None, n_images: int) -> FloatArray:
    """Weights as float64 array of shape (n_images,); ones if None.

    Raises
    ------
    ValueError
        They have another shape, or one is negative, NaN or infinite.
    """
    if sample_weight is None:
        return np.ones(n_images)
    weights = np.array(sample_weight, dtype=np.float64)  # a copy: callers keep theirs
    if weights.ndim == 0:
        weights = np.full(n_images, float(weights))
    if weights.shape != (n_images,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}; expected one weight for each of the "
            f"{n_images} images."
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        raise ValueError(
            f"sample_weight[{bad[0]}] is {weights[bad[0]]}: weights must be finite and not "
            "negative."
        )
    if not np.isfinite(weights.sum()):
        raise ValueError("The sum of sample_weight overflows: scale the weights down.")
    return weights


def as_pictures(X: Any, image_shape: Any = None, name: str = "X") -> tuple[Array, ImageShape]:
    """Checked pictures (N, channels, rows, columns), and their shape as the user has it.

    `name` is what the user calls X, for messages.
    """
    table, shape = flatten(X, image_shape, name)
    table = check_array(table, input_name=name, **table_rules(table))
    refuse_non_finite(table, name)
    return to_channels_first(table, shape), shape


def to_channels_first(table: Array, shape: ImageShape) -> Array:
    """Rows of a table as pictures (N, channels, rows, columns)."""
    if len(shape) == 2:
        return table.reshape(len(table), 1, *shape)
    return np.ascontiguousarray(np.moveaxis(table.reshape(len(table), *shape), 3, 1))


def from_channels_first(pictures: Array, shape: ImageShape) -> Array:
    """Pictures (N, channels, rows, columns) in the user's layout (N, rows, columns[, channels])."""
    if len(shape) == 2:
        return pictures.reshape(len(pictures), *shape)
    return np.moveaxis(pictures, 1, 3)


def scale_to_unit_norm(pictures: Array) -> Array:
    """Every picture divided by its norm; one that is all zero stays so."""
    norms = np.sqrt(np.einsum("ncij,ncij->n", pictures, pictures, dtype=np.float64))
    norms[norms == 0] = 1.0
    return pictures / norms.astype(pictures.dtype)[:, None, None, None]


def displayable(picture: Array) -> Array:
    """A picture stretched to [0, 1] from its darkest value, or zero if lower, to its lightest."""
    low, high = min(float(picture.min()), 0.0), float(picture.max())
    return (picture - low) / (high - low) if high > low else np.zeros_like(picture)
