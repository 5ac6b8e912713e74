"""Model files: what is written comes back, and nothing else gets in."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from dikmeans import DIKMeans
from dikmeans.registration import Adam
from dikmeans.runs import ModelFileError


@pytest.fixture(scope="module")
def model(real_digits):
    X, _ = real_digits
    solver = Adam(learning_rate=0.02, steps=8)
    return DIKMeans(3, landmarks=(3, 4), solver=solver, random_state=0, max_iter=2, n_swaps=0).fit(
        X[:40]
    )


@pytest.fixture
def path(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def test_a_loaded_model_is_the_saved_one(model, path, real_digits):
    X, _ = real_digits
    copy = DIKMeans.load(path)
    np.testing.assert_array_equal(copy.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(copy.labels_, model.labels_)
    np.testing.assert_array_equal(copy.transform(X[:20]), model.transform(X[:20]))
    assert copy.inertia_ == model.inertia_
    assert copy.history_ == model.history_
    assert repr(copy) == repr(model)


def test_given_first_centroids_and_colour_survive(tmp_path):
    X = np.random.default_rng(0).uniform(size=(12, 8, 9, 3))
    model = DIKMeans(2, init=X[:2], max_iter=2).fit(X)
    model.save(tmp_path / "m")
    copy = DIKMeans.load(tmp_path / "m")
    np.testing.assert_array_equal(copy.init, X[:2])
    np.testing.assert_array_equal(copy.predict(X), model.labels_)


def test_numpy_numbers_among_the_parameters_are_saved(tmp_path):
    X = np.random.default_rng(0).uniform(size=(12, 8, 9))
    sides = (np.int64(3), np.int64(4))
    model = DIKMeans(2, landmarks=sides, solver=Adam(steps=np.int64(3)), max_iter=2, n_swaps=0).fit(
        X
    )
    model.save(tmp_path / "m")
    assert DIKMeans.load(tmp_path / "m").landmarks == (3, 4)


def test_a_folder_that_is_not_there_is_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        model.save(tmp_path / "nowhere" / "m")


def test_saving_leaves_no_other_file_and_replaces_an_old_one(model, path):
    model.save(path)
    assert os.listdir(path.parent) == [path.name]


def test_a_failed_save_keeps_the_old_file(model, path, monkeypatch):
    before = path.read_bytes()

    def disk_full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", disk_full)
    with pytest.raises(OSError, match="No space"):
        model.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted"):
        DIKMeans().save(tmp_path / "m")


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        DIKMeans.load(tmp_path / "nothing")


def rewritten(path, change):
    """The file with its JSON header changed by `change`."""
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["dikmeans"])
    change(header)
    path.write_bytes(save(load(content), metadata={"dikmeans": json.dumps(header)}))
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(version=6), "format version 6"),
        (lambda h: h.update(format="something"), "not a model"),
        (lambda h: h["parameters"].update(extra=1), "extra"),
        (lambda h: h["parameters"].pop("warp"), "warp"),
        (lambda h: h["parameters"].update(warp="os.system"), "make no sense"),
        (lambda h: h["parameters"].update(n_clusters=5), "shape"),
        (lambda h: h["parameters"].update(n_clusters="three"), "make no sense"),
        (lambda h: h["parameters"].update(solver={"solver": "evil"}), "damaged"),
        (lambda h: h["parameters"].update(solver={"solver": "adam", "hook": 1}), "damaged"),
        (lambda h: h["fitted"].update(image_shape=[28, 27]), "shape"),
        (lambda h: h["fitted"].update(image_shape="28"), "make no sense"),
        (lambda h: h["fitted"].pop("history"), "history"),
        (lambda h: h["fitted"].update(history={"iterations": [{}], "stopped": ""}), "damaged"),
        (lambda h: h.pop("parameters"), "damaged"),
        (lambda h: h.update(surprise=1), "surprise"),
        (lambda h: h["fitted"].update(n_iter="abc"), "damaged"),
        (lambda h: h["fitted"].update(inertia=float("nan")), "inertia"),
        (lambda h: h["parameters"].update(landmarks=99), "make no sense"),
        (lambda h: h["parameters"].update(solver={"solver": "adam", "steps": -5}), "make no sense"),
        (lambda h: h.update(feature_names_in=["a"]), "feature names"),
    ],
)
def test_a_header_we_do_not_know_is_refused(path, change, message):
    with pytest.raises(ModelFileError, match=message):
        DIKMeans.load(rewritten(path, change))


def test_foreign_and_damaged_files_are_refused(path, tmp_path):
    whole = path.read_bytes()
    foreign = {
        "empty": b"",
        "text": b"hello, this is no model at all",
        "pickle": b"\x80\x04\x95" + bytes(100),
        "half": whole[: len(whole) // 2],
        "other": save({"weights": np.zeros(3)}),
        "other metadata": save({"weights": np.zeros(3)}, metadata={"format": "pt"}),
    }
    for name, content in foreign.items():
        file = tmp_path / name
        file.write_bytes(content)
        with pytest.raises(ModelFileError, match=name):
            DIKMeans.load(file)


def test_arrays_that_do_not_belong_are_refused(path):
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + size])["__metadata__"]
    tensors = load(content)
    centres = tensors["forms"].copy()
    centres[0, 0, 0] = np.nan
    for change in (
        {"forms": centres},
        {"forms": tensors["forms"].astype(np.int32)},
        {"labels": tensors["labels"] + 100},
        {"form_clusters": tensors["form_clusters"][::-1].copy()},
        {"form_clusters": np.zeros_like(tensors["form_clusters"])},
        {"form_clusters": tensors["form_clusters"].astype(float)},
        {"form_weights": -1 - tensors["form_weights"]},
        {"form_weights": tensors["form_weights"][1:].copy()},
        {"extra": np.zeros(2)},
    ):
        path.write_bytes(save({**tensors, **change}, metadata=metadata))
        with pytest.raises(ModelFileError):
            DIKMeans.load(path)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(position=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_a_changed_byte_never_causes_anything_but_a_clear_error(model, tmp_path, position, byte):
    path = tmp_path / "fuzzed"
    model.save(path)
    content = bytearray(path.read_bytes())
    content[position % min(len(content), 6000)] = byte  # mostly the header, where the harm could be
    path.write_bytes(bytes(content))
    try:
        copy = DIKMeans.load(path)
    except ModelFileError:
        return
    assert copy.cluster_centers_.shape == (3, 28, 28)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        # a basis for a picture of that size would not fit into any memory
        (lambda h: h["fitted"].update(image_shape=[100_000, 100_000]), "init_centers should be"),
        (lambda h: h["fitted"].update(image_shape=[10**9, 10**9, 10**9]), "init_centers should be"),
        (lambda h: h["parameters"].update(n_clusters=10**12), "init_centers should be"),
        (
            lambda h: h["parameters"].update(init=[[1, 2], [3, 4]]),
            "first centroids .* should be a tensor",
        ),
        (lambda h: h.update(feature_names_in="x" * 784), "feature names should be texts"),
        (lambda h: h["fitted"]["history"]["iterations"][0].update(distortion="low"), "damaged"),
    ],
)
def test_claims_of_a_header_are_checked_before_anything_is_made_of_them(path, change, message):
    rewritten(path, change)
    with pytest.raises(ModelFileError, match=message):
        DIKMeans.load(path)
