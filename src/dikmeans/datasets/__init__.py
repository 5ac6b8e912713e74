"""Real data sets and folders of pictures -> arrays: `load` is the door, an `ImageSet` comes out."""

from dikmeans.datasets.errors import (
    CorruptFileError,
    DataError,
    DownloadError,
    MissingDataError,
    UnknownNameError,
    UnknownOptionError,
    UnsafeFileError,
)
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.pictures.arrays import load_arrays
from dikmeans.datasets.pictures.folder import load_folder
from dikmeans.datasets.registry import load, set_names
from dikmeans.datasets.sounds.spectrogram import spectrogram_picture
from dikmeans.datasets.source import Source

__all__ = [
    "Card",
    "CorruptFileError",
    "DataError",
    "DownloadError",
    "ImageSet",
    "MissingDataError",
    "Source",
    "UnknownNameError",
    "UnknownOptionError",
    "UnsafeFileError",
    "load",
    "load_arrays",
    "load_folder",
    "set_names",
    "spectrogram_picture",
]
