"""Real data sets and folders of pictures -> arrays: `load` is the door, an `ImageSet` comes out."""

from dikmeans.data.errors import (
    CorruptFileError,
    DataError,
    DownloadError,
    MissingDataError,
    UnknownNameError,
    UnsafeFileError,
)
from dikmeans.data.imageset import Card, ImageSet
from dikmeans.data.pictures.folder import load_folder
from dikmeans.data.registry import load, set_names
from dikmeans.data.sounds.spectrogram import spectrogram_picture

__all__ = [
    "Card",
    "CorruptFileError",
    "DataError",
    "DownloadError",
    "ImageSet",
    "MissingDataError",
    "UnknownNameError",
    "UnsafeFileError",
    "load",
    "load_folder",
    "set_names",
    "spectrogram_picture",
]
