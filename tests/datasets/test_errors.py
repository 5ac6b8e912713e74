"""Errors and warnings carry their facts, and are what a caller would guess."""

from __future__ import annotations

import pytest

from dikmeans import datasets
from dikmeans.datasets import errors
from dikmeans.errors import DikmeansError

ERRORS = {
    datasets.MissingDataError: FileNotFoundError,
    datasets.DownloadError: OSError,
    datasets.CorruptFileError: ValueError,
    datasets.UnsafeFileError: ValueError,
    datasets.AmbiguousLabelsError: ValueError,
    datasets.LabelsFileError: ValueError,
    datasets.MixedKindsError: ValueError,
    datasets.TooLargeError: ValueError,
    datasets.UnknownNameError: ValueError,
    datasets.UnknownOptionError: TypeError,
}


def test_every_error_of_the_module_is_public_and_of_a_built_in_kind():
    defined = {
        value
        for value in vars(errors).values()
        if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert defined == {getattr(datasets, kind.__name__) for kind in defined}
    concrete = {
        kind for kind in defined if issubclass(kind, Exception) and "Error" in kind.__name__
    }
    assert concrete == {*ERRORS, datasets.DataError, datasets.FileError}
    for kind, built_in in ERRORS.items():
        assert issubclass(kind, (datasets.DataError, DikmeansError))
        assert issubclass(kind, built_in)


@pytest.mark.parametrize(
    "kind", [datasets.MissingDataError, datasets.DownloadError, datasets.CorruptFileError]
)
def test_the_message_of_a_file_error_is_path_reason_and_suggestion(kind):
    error = kind("x.png", "is damaged", "Get it again.", url="http://x")
    assert str(error) == "x.png is damaged. Get it again."
    assert (error.path, error.reason, error.suggestion) == ("x.png", "is damaged", "Get it again.")
    assert error.url == "http://x"
    assert str(kind("x.png", "is damaged: end of file.")) == "x.png is damaged: end of file."


def test_a_working_size_is_explained_by_the_range_of_sizes_and_what_happens_to_pictures():
    sizes = {(40, 90): 1, (60, 50): 2}
    padded = datasets.WorkingSizeWarning("folder", sizes, (40, 48), detail=0.985)
    assert "of 40x50 to 60x90; they are scaled to fit, padded" in str(padded)
    assert "to 40x48, where 98.5% of their detail is left" in str(padded)
    stretched = datasets.WorkingSizeWarning("f", sizes, (40, 48), detail=0.985, stretched=True)
    assert "they are stretched to 40x48" in str(stretched)
