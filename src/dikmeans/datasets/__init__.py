"""Data sets, folders of pictures, array files and sounds as arrays: `load` gives an `ImageSet`."""

from dikmeans.datasets.errors import (
    AmbiguousLabelsError,
    CorruptFileError,
    DataError,
    DownloadError,
    FileError,
    IgnoredFilesWarning,
    LabelsFileError,
    MissingDataError,
    MixedKindsError,
    TooLargeError,
    UnknownNameError,
    UnknownOptionError,
    UnreadableFilesWarning,
    UnsafeFileError,
    WorkingSizeWarning,
)
from dikmeans.datasets.imageset import Card, ImageSet
from dikmeans.datasets.pictures.arrays import load_arrays
from dikmeans.datasets.pictures.folder import load_folder
from dikmeans.datasets.registry import dataset_names, load
from dikmeans.datasets.sounds.folder import load_sounds
from dikmeans.datasets.sounds.spectrogram import spectrogram_picture
from dikmeans.datasets.source import ImageSource

__all__ = [
    "AmbiguousLabelsError",
    "Card",
    "CorruptFileError",
    "DataError",
    "DownloadError",
    "FileError",
    "IgnoredFilesWarning",
    "ImageSet",
    "ImageSource",
    "LabelsFileError",
    "MissingDataError",
    "MixedKindsError",
    "TooLargeError",
    "UnknownNameError",
    "UnknownOptionError",
    "UnreadableFilesWarning",
    "UnsafeFileError",
    "WorkingSizeWarning",
    "dataset_names",
    "load",
    "load_arrays",
    "load_folder",
    "load_sounds",
    "spectrogram_picture",
]
