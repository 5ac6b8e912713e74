"""Damaged model files, label files, run folders, results files: a result or a clear refusal."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dikmeans import DIKMeans
from dikmeans.datasets import ImageSource
from dikmeans.model_file import ModelFileError
from dikmeans.paper.errors import ReproductionFileError
from dikmeans.paper.protocol.results_file import ResultsFile, read_results
from dikmeans.paper.protocol.run_record import RunRecord, current_versions
from dikmeans.paper.protocol.table_cells import summarize
from dikmeans.runs import RunFolderError, open_run, write_run
from dikmeans.runs.labels_file import rows_from_csv
from dikmeans.runs.run_folder import PICTURES
from tests.helpers import quick
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

X = np.random.default_rng(0).uniform(size=(9, 5, 6))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run folder, to be copied."""
    folder = tmp_path_factory.mktemp("runs")
    np.save(folder / "images.npy", X)
    source = ImageSource.resolve(str(folder / "images.npy"))
    images = source.load()
    model = quick(n_clusters=2, landmarks=2, max_iter=1).fit(images.images)
    write_run(folder / "run", model, images, source, seconds=1.0)
    return folder / "run"


@pytest.fixture(scope="module")
def model_bytes(run):
    return (run / "model.safetensors").read_bytes()


def check_model(path):
    model = result_or_refusal(lambda: DIKMeans.load(path), ModelFileError, path)
    if model is not None:
        labels = result_or_error(lambda: model.predict(X))
        assert labels is None or ((labels >= 0) & (labels < model.n_clusters)).all()
        repr(model)


@fuzz
@given(data=st.data())
def test_model_files_with_damaged_bytes(data, model_bytes, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(data.draw(damaged(model_bytes)))
    check_model(path)


@fuzz
@given(data=st.data())
def test_model_files_with_another_header_of_ours(data, model_bytes, tmp_path):
    outer, body = parts_of(model_bytes)
    inner = json.loads(outer["__metadata__"]["dikmeans"])
    outer["__metadata__"]["dikmeans"] = json_bytes(data.draw(damaged_json(inner))).decode()
    path = tmp_path / "model"
    path.write_bytes(joined(json.dumps(outer).encode(), body))
    check_model(path)


@fuzz
@given(data=st.data())
def test_model_files_with_other_claims_about_tensors(data, model_bytes, tmp_path):
    outer, body = parts_of(model_bytes)
    path = tmp_path / "model"
    claims = data.draw(damaged_json(outer))
    if isinstance(claims, dict) and data.draw(st.booleans()):
        for entry in claims.values():
            if isinstance(entry, dict) and "dtype" in entry:
                entry["dtype"] = data.draw(
                    st.sampled_from(["F64", "BF16", "F8_E4M3", "BOOL", "I64", "U8", "F4", "C64"])
                )
    path.write_bytes(joined(json_bytes(claims), body))
    check_model(path)


# -- runs ------------------------------------------------------------------------------------------


def check_run(place, touched):
    found = result_or_refusal(lambda: open_run(place), RunFolderError, touched)
    if found is not None:
        images = result_or_refusal(found.load_images, RunFolderError)
        if images is not None:
            originals = found.find_originals(images)  # never an error
            assert len(originals) == len(images)


@pytest.fixture
def copy_of_run(run, tmp_path):
    return shutil.copytree(run, tmp_path / "run")


@fuzz
@given(data=st.data())
@pytest.mark.parametrize("name", ["run.json", "labels.csv", "model.safetensors", PICTURES])
def test_runs_with_damaged_bytes(name, data, run, copy_of_run):
    (copy_of_run / name).write_bytes(data.draw(damaged((run / name).read_bytes())))
    check_run(copy_of_run, copy_of_run)


@fuzz
@given(data=st.data())
def test_runs_that_say_other_things_of_themselves(data, run, copy_of_run):
    info = json.loads((run / "run.json").read_text())
    (copy_of_run / "run.json").write_bytes(json_bytes(data.draw(damaged_json(info))))
    check_run(copy_of_run, "run.json")


@fuzz
@given(data=st.data())
def test_label_files(data, run):
    content = data.draw(damaged((run / "labels.csv").read_bytes()) | st.binary(max_size=200))
    rows = result_or_refusal(lambda: rows_from_csv(content), ValueError)
    assert rows is None or all(isinstance(row.cluster, int) for row in rows)


# -- results ---------------------------------------------------------------------------------------


def record(seed):
    scores = {"accuracy": 0.5, "nmi": 0.4, "ari": 0.3}
    return RunRecord(
        "DI K-means", {"landmarks": 4}, "mnist", "MNIST", seed, 10, 500, 60000, 100, scores,
        scores, 12.5, 1.5, 0.5, -1, 2, current_versions(),
    )  # fmt: skip


def check_results(path):
    before = path.read_bytes()
    records = result_or_refusal(lambda: read_results(path), ReproductionFileError, path)
    assert path.read_bytes() == before
    for one in records or ():
        summarize([one])
    try:
        results = ResultsFile(path)
        assert records is not None
        assert results.append(record(99))
        assert results.read()[-1].seed == 99
    except ReproductionFileError as error:
        assert_names(error, path)
        assert records is None
        assert path.read_bytes() == before


@fuzz
@given(data=st.data())
def test_results_files_with_damaged_bytes(data, tmp_path):
    path = tmp_path / "runs.jsonl"
    valid = "".join(record(seed).to_line() + "\n" for seed in range(3)).encode()
    path.write_bytes(data.draw(damaged(valid)))
    check_results(path)


@fuzz
@given(data=st.data())
def test_results_files_with_other_entries(data, tmp_path):
    path = tmp_path / "runs.jsonl"
    odd = json_bytes(data.draw(damaged_json(json.loads(record(1).to_line()))))
    path.write_bytes(record(0).to_line().encode() + b"\n" + odd + b"\n")
    check_results(path)
