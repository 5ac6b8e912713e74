"""Real data sets and folders of pictures -> arrays: `load` is the door, an `ImageSet` comes out."""

from dikmeans.data.errors import (
    CorruptFileError,
    DataError,
    DownloadError,
    MissingDataError,
    UnknownNameError,
    UnknownOptionError,
    UnsafeFileError,
)
from dikmeans.data.imageset import Card, ImageSet
from dikmeans.data.pictures.arrays import load_arrays
from dikmeans.data.pictures.folder import load_folder
from dikmeans.data.registry import load, set_names
from dikmeans.data.sounds.spectrogram import spectrogram_picture
from dikmeans.data.source import Source

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
