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
    datasets.MixedSizesError: ValueError,
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


def test_sizes_are_listed_from_the_most_frequent_and_not_all():
    sizes = {(n, n): n for n in range(1, 8)}
    warning = datasets.MixedSizesWarning("folder", sizes, (7, 7))
    assert "7x7 (7), 6x6 (6), 5x5 (5), 4x4 (4), 3x3 (3), and 2 more." in str(warning)
