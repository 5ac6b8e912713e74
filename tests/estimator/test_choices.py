"""What "auto" decided is stored, logged and kept with the model."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from dikmeans import DIKMeans
from dikmeans.parameters import Choice
from tests.helpers import quick

AUTO = {
    "landmarks": "auto",
    "preprocessing": "auto",
    "intensity": "auto",
    "n_prototypes": "auto",
    "search__n_swaps": "auto",
    "search__sample_size": "auto",
}


def auto(**parameters):
    return quick(**{**AUTO, "max_iter": 1, **parameters})


def test_every_automatic_choice_has_a_value_and_a_reason(real_digits):
    model = auto(n_clusters=3).fit(real_digits[0][:60])
    assert set(model.choices_) == set(AUTO)
    values = {name: choice.value for name, choice in model.choices_.items()}
    assert values == {
        "landmarks": (4, 4),
        "preprocessing": "local-contrast",
        "intensity": "fixed",
        "n_prototypes": 4,
        "search__n_swaps": 10,
        "search__sample_size": 4000,
    }
    assert all(
        isinstance(choice.reason, str) and choice.reason for choice in model.choices_.values()
    )


def test_asking_for_what_was_decided_gives_the_same_model(real_digits):
    X = real_digits[0][:60]
    by_itself = auto(n_clusters=3).fit(X)
    values = {name: choice.value for name, choice in by_itself.choices_.items()}
    # "auto" asks for 25 members per prototype, a number for 5
    values["n_prototypes"] = by_itself.n_prototypes
    told = auto(n_clusters=3).set_params(**values).fit(X)
    assert set(told.choices_) == {"n_prototypes"}
    np.testing.assert_array_equal(told.prototypes_, by_itself.prototypes_)
    np.testing.assert_array_equal(told.labels_, by_itself.labels_)


@pytest.mark.parametrize("parameter", AUTO)
def test_what_was_not_left_to_it_is_no_choice(real_digits, parameter):
    given = {
        "landmarks": 3,
        "preprocessing": "unit-norm",
        "intensity": "affine",
        "n_prototypes": 1,
        "search__n_swaps": 0,
        "search__sample_size": 50,
    }
    model = auto(n_clusters=2, **{parameter: given[parameter]}).fit(real_digits[0][:30])
    assert set(model.choices_) == set(AUTO) - {parameter}


def test_without_a_warp_there_are_no_landmarks_no_swaps_and_one_prototype(real_digits):
    choices = auto(warp="none").fit(real_digits[0][:30]).choices_
    assert "landmarks" not in choices
    assert choices["search__n_swaps"].value == 0
    assert choices["n_prototypes"].value == 1


def test_more_clusters_get_more_swaps_and_a_larger_sample(real_digits):
    choices = auto(n_clusters=30).fit(real_digits[0][:60]).choices_
    assert choices["search__n_swaps"].value == 30
    assert choices["search__sample_size"].value == 200 * 30


def test_choices_are_kept_with_the_model(real_digits, tmp_path):
    model = auto(n_clusters=2).fit(real_digits[0][:30])
    model.save(tmp_path / "model")
    copy = DIKMeans.load(tmp_path / "model")
    assert copy.choices_ == model.choices_
    assert all(isinstance(choice, Choice) for choice in copy.choices_.values())


def test_each_choice_is_logged_once(real_digits, caplog):
    with caplog.at_level(logging.INFO, logger="dikmeans.estimator"):
        model = auto(n_clusters=2, n_init=2).fit(real_digits[0][:30])
    for name, choice in model.choices_.items():
        lines = [line for line in caplog.messages if line.startswith(f"{name}='auto' is ")]
        assert lines == [f"{name}='auto' is {choice.value!r}: {choice.reason}"]
