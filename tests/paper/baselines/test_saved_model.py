"""Models in files: what comes back is what was saved, and nothing else comes in."""

from __future__ import annotations

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from dikmeans.io.tensor_file import TensorFileError
from dikmeans.paper.baselines import DEC, AutoencoderKMeans, VaDE
from tests.paper.baselines.baseline_fits import ARCHITECTURES, BASELINES, small
from tests.paper.baselines.tensor_headers import header_of, rewrite


@pytest.fixture(scope="module")
def saved(tmp_path_factory, three_shapes):
    """The bytes of a saved DEC."""
    path = tmp_path_factory.mktemp("saved") / "dec.safetensors"
    small(DEC).fit(three_shapes[0]).save(path)
    return path.read_bytes()


@pytest.fixture
def path(saved, tmp_path):
    path = tmp_path / "dec.safetensors"
    path.write_bytes(saved)
    return path


@pytest.mark.parametrize("baseline", BASELINES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_model_comes_back_to_the_last_bit(baseline, architecture, three_shapes, tmp_path):
    images = three_shapes[0]
    shape = np.array(images.shape[1:])
    model = small(
        baseline, architecture=architecture, image_shape=shape, random_state=np.int64(3)
    ).fit(images)
    model.save(tmp_path / "model")
    loaded = baseline.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(images), model.transform(images))
    np.testing.assert_array_equal(loaded.predict(images), model.labels_)
    for name in (
        "labels_",
        "inertia_",
        "history_",
        "n_iter_",
        "image_shape_",
        "pixel_range_",
        "learning_rate_",
    ):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(model, name))
    assert loaded.architecture == architecture
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()


def test_a_model_of_another_class_is_refused(path, tmp_path, three_shapes):
    with pytest.raises(TensorFileError, match="'DEC', not a VaDE"):
        VaDE.load(path)
    small(DEC).fit(three_shapes[0], checkpoint=tmp_path / "other")
    with pytest.raises(TensorFileError, match="not a saved deep baseline"):
        AutoencoderKMeans.load(tmp_path / "other")


def test_a_later_version_is_refused(path):
    rewrite(path, version=2)
    with pytest.raises(TensorFileError, match="format version 2"):
        DEC.load(path)


def test_a_missing_file_is_said_to_be_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        DEC.load(tmp_path / "nowhere")


@pytest.mark.parametrize("keep", [0, 4, 100, 5000, -1])
def test_a_truncated_file_is_refused(path, saved, keep):
    path.write_bytes(saved[:keep])
    with pytest.raises(TensorFileError, match="damaged"):
        DEC.load(path)


def test_a_file_that_is_something_else_is_refused(path):
    path.write_bytes(b"\x80\x04." * 100)
    with pytest.raises(TensorFileError, match="damaged"):
        DEC.load(path)
    save_file({"x": np.zeros(3)}, path)
    with pytest.raises(TensorFileError, match="not a saved deep baseline"):
        DEC.load(path)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"parameters": {"n_clusters": 3}}, "missing parameters"),
        ({"fitted": {}}, "damaged"),
        ({"feature_names_in": 5}, "damaged"),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(path, entry, message):
    rewrite(path, **entry)
    with pytest.raises(TensorFileError, match=message):
        DEC.load(path)


def test_a_flipped_bit_is_noticed_by_the_checksum(path, saved):
    content = bytearray(saved)
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(TensorFileError, match="checksum"):
        DEC.load(path)


def test_a_folder_that_does_not_exist_is_not_made(tmp_path, path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        DEC.load(path).save(tmp_path / "missing" / "model")


def test_parameters_that_make_no_sense_are_refused(path):
    rewrite(path, parameters={**header_of(path)["parameters"], "architecture": "resnet"})
    with pytest.raises(TensorFileError, match="architecture"):
        DEC.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("network.centers", None),
        ("network.centers", np.zeros((4, 10), np.float32)),
        ("network.embed.bias", np.full(10, np.nan, np.float32)),
        ("network.intruder", np.zeros(3, np.float32)),
        ("labels", np.array([7], np.int32)),
    ],
)
def test_tensors_that_do_not_fit_are_refused(path, name, value):
    tensors = load_file(path)
    if value is None:
        del tensors[name]
    else:
        tensors[name] = value
    rewrite(path, tensors)
    with pytest.raises(TensorFileError, match=name.removeprefix("network.")):
        DEC.load(path)


@pytest.mark.parametrize("change", [{"embedding_dim": 10**9}, {"n_clusters": 10**12}])
def test_a_size_that_a_header_claims_is_not_believed(path, change):
    parameters = {**header_of(path)["parameters"], **change}
    rewrite(path, parameters=parameters)
    with pytest.raises(TensorFileError, match=r"finite numbers of shape|labels|damaged"):
        DEC.load(path)


def test_feature_names_that_are_no_strings_are_refused(path):
    rewrite(path, feature_names_in=[4, 4])
    with pytest.raises(TensorFileError, match="feature names should be strings"):
        DEC.load(path)
