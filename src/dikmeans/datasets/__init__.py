"""Data sets, folders of pictures, array files and sounds as arrays: `load` gives an `ImageSet`."""

from dikmeans.datasets.errors import (
    AmbiguousLabelsError,
    CorruptFileError,
    DataError,
    DownloadError,
    FileError,
    MissingDataError,
    MixedSizesError,
    MixedSizesWarning,
    ReducedSizeWarning,
    TooLargeError,
    UnknownNameError,
    UnknownOptionError,
    UnreadableFilesWarning,
    UnsafeFileError,
)
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.pictures.arrays import load_arrays
from dikmeans.datasets.pictures.folder import load_folder
from dikmeans.datasets.registry import dataset_names, load
from dikmeans.datasets.sounds.spectrogram import spectrogram_picture
from dikmeans.datasets.source import ImageSource

__all__ = [
    "AmbiguousLabelsError",
    "Card",
    "CorruptFileError",
    "DataError",
    "DownloadError",
    "FileError",
    "ImageSet",
    "ImageSource",
    "MissingDataError",
    "MixedSizesError",
    "MixedSizesWarning",
    "ReducedSizeWarning",
    "TooLargeError",
    "UnknownNameError",
    "UnknownOptionError",
    "UnreadableFilesWarning",
    "UnsafeFileError",
    "dataset_names",
    "load",
    "load_arrays",
    "load_folder",
    "spectrogram_picture",
]
