"""Model files: what is written comes back, and nothing else gets in."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from dikmeans import DIKMeans, Search
from dikmeans.io.tensor_file import read_tensor_file, write_tensor_file
from dikmeans.model_file import FORMAT, VERSION, ModelFileError
from dikmeans.preprocessing import Identity, Whitening
from dikmeans.registration import Adam, QuasiNewton
from tests.helpers import quick


@pytest.fixture(scope="module")
def model(real_digits):
    X, _ = real_digits
    solver = Adam(learning_rate=0.02, steps=8)
    settings = {"n_clusters": 3, "landmarks": (3, 4), "max_iter": 2, "search__n_swaps": 0}
    return quick(solver=solver, **settings).fit(X[:40])


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
    assert copy.n_iter_ == model.n_iter_
    assert copy.choices_ == model.choices_
    assert repr(copy) == repr(model)
    for name, column in model.assignment_._asdict().items():
        np.testing.assert_array_equal(getattr(copy.assignment_, name), column)


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": QuasiNewton(evaluations=7, tol=0.01, memory=3)},
        {"solver": Adam(learning_rate=0.03, steps=4)},
        {"solver": "adam"},
        {"search": None},
        {"search": Search(n_swaps=1, sample_size=25, warm_up=False, max_iter=2, tol=0.01)},
        {"preprocessing": Identity(border="edge")},
        {"preprocessing": Whitening(border="edge")},
        {"preprocessing": None},
        {"n_prototypes": 2, "warp": "affine", "n_init": 2, "init": "random"},
        {"random_state": None, "n_jobs": None, "smoothness": np.float32(0.5)},
    ],
    ids=str,
)
def test_every_parameter_comes_back(real_digits, tmp_path, parameters):
    X = real_digits[0][:30]
    model = quick(n_clusters=2, max_iter=1).set_params(**parameters).fit(X)
    model.save(tmp_path / "m")
    copy = DIKMeans.load(tmp_path / "m")
    ours, theirs = (
        {name: value for name, value in m.get_params().items() if name != "preprocessing"}
        for m in (model, copy)
    )
    for nested in ("solver", "search"):
        assert repr(theirs.pop(nested)) == repr(ours.pop(nested))
    assert theirs == ours
    assert type(copy.preprocessing) is type(model.preprocessing)
    assert copy.preprocessing_.border == model.preprocessing_.border
    np.testing.assert_array_equal(copy.predict(X), model.labels_)


def test_a_file_names_its_format_and_version(path):
    assert (FORMAT, VERSION) == ("dikmeans-model", 3)
    header, tensors = read_tensor_file(path, FORMAT, VERSION, "model")
    assert header["version"] == 3
    assert {"prototypes", "prototype_clusters", "assignment.labels", "assignment.warps"} <= set(
        tensors
    )


def test_given_first_centroids_and_color_survive(tmp_path):
    X = np.random.default_rng(0).uniform(size=(12, 8, 9, 3))
    model = DIKMeans(2, init=X[:2], max_iter=2).fit(X)
    model.save(tmp_path / "m")
    copy = DIKMeans.load(tmp_path / "m")
    np.testing.assert_array_equal(copy.init, X[:2])
    np.testing.assert_array_equal(copy.predict(X), model.labels_)


def test_numpy_numbers_among_the_parameters_are_saved(tmp_path):
    X = np.random.default_rng(0).uniform(size=(12, 8, 9))
    sides = (np.int64(3), np.int64(4))
    solver = Adam(steps=np.int64(3))
    model = quick(n_clusters=2, landmarks=sides, solver=solver, max_iter=2).fit(X)
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
    """The file with its header changed, and with a checksum that fits."""
    header, tensors = read_tensor_file(path, FORMAT, VERSION, "model")
    change(header)
    write_tensor_file(path, FORMAT, VERSION, header, tensors)
    return path


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(version=6), "format version 6"),
        (lambda h: h.update(format="something"), "not a model"),
        (lambda h: h["parameters"].update(extra=1), "extra"),
        (lambda h: h["parameters"].pop("warp"), "warp"),
        (lambda h: h["parameters"].update(warp="os.system"), "warp='os.system'"),
        (lambda h: h["parameters"].update(n_clusters=5), "shape"),
        (lambda h: h["parameters"].update(n_clusters="three"), "n_clusters='three'"),
        (lambda h: h["parameters"].update(solver={"class": "evil"}), "evil"),
        (lambda h: h["parameters"].update(solver={"class": "Adam", "hook": 1}), "hook"),
        (lambda h: h["parameters"].update(solver={"class": "Search"}), "solver="),
        (lambda h: h["parameters"].update(search={"class": "Search", "n_swaps": -1}), "n_swaps=-1"),
        (lambda h: h["parameters"].update(preprocessing="whitening"), "cannot have become"),
        (lambda h: h["fitted"].update(preprocessing={"class": "Adam"}), "is no preprocessing"),
        (lambda h: h["fitted"].update(image_shape=[28, 27]), "shape"),
        (lambda h: h["fitted"].update(image_shape="28"), "image_shape='28'"),
        (lambda h: h["fitted"].pop("history"), "history"),
        (lambda h: h["fitted"].update(history={"iterations": [{}], "stopped": ""}), "KeyError"),
        (lambda h: h["fitted"].update(choices={"warp": 3}), "TypeError"),
        (lambda h: h.pop("parameters"), "parameters"),
        (lambda h: h.update(surprise=1), "surprise"),
        (lambda h: h["fitted"].update(n_iter="abc"), "abc"),
        (lambda h: h["fitted"].update(inertia=float("nan")), "inertia"),
        (lambda h: h["parameters"].update(landmarks=99), "landmarks=99"),
        (lambda h: h["parameters"].update(solver={"class": "Adam", "steps": -5}), "steps=-5"),
        (lambda h: h.update(feature_names_in=["a"]), "feature names"),
    ],
)
def test_a_header_we_do_not_know_is_refused(path, change, message):
    with pytest.raises(ModelFileError, match=message) as caught:
        DIKMeans.load(rewritten(path, change))
    assert caught.value.path == path
    assert caught.value.reason in str(caught.value)


def test_content_without_the_checksum_it_states_is_refused(path):
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    metadata = json.loads(content[8 : 8 + size])["__metadata__"]
    tensors = load(content)
    path.write_bytes(save({**tensors, "prototypes": tensors["prototypes"] + 1}, metadata=metadata))
    with pytest.raises(ModelFileError, match="checksum"):
        DIKMeans.load(path)


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
    header, tensors = read_tensor_file(path, FORMAT, VERSION, "model")
    pixels = tensors["prototypes"].copy()
    pixels[0, 0, 0] = np.nan
    clusters, weights = tensors["prototype_clusters"], tensors["prototype_weights"]
    labels, costs = tensors["assignment.labels"], tensors["assignment.costs"]
    warps = tensors["assignment.warps"]
    for change in (
        {"prototypes": pixels},
        {"prototypes": tensors["prototypes"].astype(np.int32)},
        {"prototype_clusters": clusters[::-1].copy()},
        {"prototype_clusters": np.zeros_like(clusters)},
        {"prototype_clusters": clusters.astype(float)},
        {"prototype_weights": -1 - weights},
        {"prototype_weights": weights[1:].copy()},
        {"assignment.labels": labels + 100},
        {"assignment.labels": labels - 2},
        {"assignment.labels": labels.astype(float)},
        {"assignment.prototypes": tensors["assignment.prototypes"] + 100},
        {"assignment.costs": costs[1:].copy()},
        {"assignment.costs": costs + np.inf},
        {"assignment.warps": warps[:, :, 1:].copy()},
        {"assignment.warps": warps + np.float32(np.nan)},
        {"deformation_precision": -tensors["deformation_precision"]},
        {"decided": tensors["decided"] + 100},
        {"decided": tensors["decided"][1:].copy()},
        {"outlier_centers": tensors["outlier_centers"] + np.nan},
        {"outlier_spreads": 0 * tensors["outlier_spreads"]},
        {"cluster_surcharges": np.zeros(1)},
        {"cluster_surcharges": -np.ones_like(tensors["outlier_centers"])},
        {"extra": np.zeros(2)},
    ):
        write_tensor_file(path, FORMAT, VERSION, header, {**tensors, **change})
        with pytest.raises(ModelFileError):
            DIKMeans.load(path)
    for name in tensors:
        few = {other: array for other, array in tensors.items() if other != name}
        write_tensor_file(path, FORMAT, VERSION, header, few)
        if name == "assignment.warps":  # a model of images that were not in memory has none
            assert DIKMeans.load(path).assignment_.warps is None
        else:
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
            "first centroids should be a tensor",
        ),
        (lambda h: h.update(feature_names_in="x" * 784), "feature names should be texts"),
        (lambda h: h["fitted"]["history"]["iterations"][0].update(inertia="low"), "low"),
    ],
)
def test_claims_of_a_header_are_checked_before_anything_is_made_of_them(path, change, message):
    rewritten(path, change)
    with pytest.raises(ModelFileError, match=message):
        DIKMeans.load(path)
