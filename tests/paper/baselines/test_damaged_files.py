"""Damaged files of the baselines and of their checkpoints: a valid result, or a clear refusal."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.robustness.fuzzing import (
    assert_names,
    damaged,
    damaged_json,
    fuzz,
    joined,
    json_bytes,
    parts_of,
    result_or_error,
    result_or_refusal,
)

pytest.importorskip("torch")

from dikmeans.io.tensor_file import TensorFileError
from dikmeans.paper.baselines import DEC
from tests.paper.baselines.baseline_fits import small

X = np.random.default_rng(0).uniform(size=(9, 4, 4)).astype(np.float32)


def tiny(**parameters):
    return small(DEC, architecture="conv", embedding_dim=2, pretrain_epochs=1, **parameters)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The bytes of a model and of a checkpoint."""
    folder = tmp_path_factory.mktemp("baselines")
    tiny().fit(X, checkpoint=folder / "checkpoint").save(folder / "model")
    return {name: (folder / name).read_bytes() for name in ("model", "checkpoint")}


def check_model(path):
    model = result_or_refusal(lambda: DEC.load(path), TensorFileError, path)
    if model is not None:
        labels = result_or_error(lambda: model.predict(X))
        assert labels is None or ((labels >= 0) & (labels < model.n_clusters)).all()


def check_checkpoint(path):
    before = path.read_bytes()
    try:
        model = tiny().fit(X, checkpoint=path)
    except TensorFileError as error:
        assert_names(error, path)
        assert path.read_bytes() == before
    else:
        assert len(model.labels_) == len(X)


CHECKS = {"model": check_model, "checkpoint": check_checkpoint}


@fuzz
@given(data=st.data())
@pytest.mark.parametrize("kind", CHECKS)
def test_damaged_bytes(kind, data, files, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(data.draw(damaged(files[kind])))
    CHECKS[kind](path)


@fuzz
@given(data=st.data())
@pytest.mark.parametrize("kind", CHECKS)
def test_other_headers(kind, data, files, tmp_path):
    outer, body = parts_of(files[kind])
    inner = json.loads(outer["__metadata__"]["dikmeans"])
    outer["__metadata__"]["dikmeans"] = json_bytes(data.draw(damaged_json(inner))).decode()
    path = tmp_path / "file"
    path.write_bytes(joined(json.dumps(outer).encode(), body))
    CHECKS[kind](path)


@fuzz
@given(data=st.data())
@pytest.mark.parametrize("kind", CHECKS)
def test_other_claims_about_tensors(kind, data, files, tmp_path):
    outer, body = parts_of(files[kind])
    path = tmp_path / "file"
    path.write_bytes(joined(json_bytes(data.draw(damaged_json(outer))), body))
    CHECKS[kind](path)
