"""The deep rows of the table: known to everyone, run by those who have PyTorch."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from dikmeans.paper.protocol import table_models as registry
from dikmeans.paper.protocol.data_tasks import get_task
from dikmeans.paper.protocol.published import TABLE_1
from dikmeans.paper.protocol.results_file import ResultsFile
from dikmeans.paper.protocol.run_protocol import run_protocol
from dikmeans.paper.protocol.run_record import run_identity
from dikmeans.paper.protocol.table_cells import table_cells
from dikmeans.paper.protocol.table_models import get_model, get_models, missing_models, model_names
from dikmeans.paper.protocol.table_text import table_as_csv, table_as_markdown
from tests.paper.toy_data import BAR_FINDER, invented_run, write_bars

DEEP = ("ae-k-means-mlp", "ae-k-means-conv", "dec-mlp", "dec-conv", "vade-mlp", "vade-conv")


@pytest.fixture(autouse=True)
def _one_torch_thread():
    """On a busy machine, threads that wait for each other make a second take minutes."""
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)


@pytest.fixture
def no_torch(monkeypatch):
    find_spec = registry.find_spec
    monkeypatch.setattr(
        registry, "find_spec", lambda name: None if name == "torch" else find_spec(name)
    )


def test_every_row_of_the_paper_has_a_model():
    assert set(TABLE_1) <= {get_model(name).paper_row for name in model_names()}
    assert {get_model(name).paper_row for name in DEEP} == {row for row in TABLE_1 if "E" in row}


def test_names_and_titles_are_known_without_importing_torch():
    code = """
import sys
from dikmeans.paper.protocol.table_models import get_model, get_models, model_names
get_models()
print(get_model("dec-conv").title, "vade-mlp" in model_names(), "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["DEC", "(Conv)", "True", "False"]


def test_without_torch_the_deep_models_are_left_out_and_listed_as_missing(no_torch):
    missing = [model.name for model in missing_models() if model.library == "torch"]
    assert missing == list(DEEP)
    assert not {model.name for model in get_models()} & set(DEEP)


def test_without_torch_asking_for_a_deep_model_says_what_to_install(no_torch):
    with pytest.raises(
        ImportError, match=r"'vade-mlp' needs the library 'torch'.*pip install 'dikmeans\[deep\]'"
    ):
        get_models(["k-means", "vade-mlp"])


def test_a_length_of_training_changes_no_other_model():
    model = get_model("di-k-means")
    assert model.limited_to(10) is model


def test_the_length_of_training_is_part_of_a_run_but_threads_and_device_are_not():
    pytest.importorskip("torch")
    whole, short, shorter = (
        get_model("dec-mlp"),
        get_model("dec-mlp").limited_to(500),
        get_model("dec-mlp").limited_to(20),
    )
    result = [model.parameters(10) for model in (whole, short, shorter)]
    assert [parameters["max_steps"] for parameters in result] == [None, 500, 20]
    assert {"architecture", "pretrain_epochs", "max_updates", "learning_rate"} <= set(result[0])
    assert not {"n_threads", "device", "random_state", "n_clusters"} & set(result[0])
    assert (
        len(
            {run_identity("dec-mlp", parameters, "mnist", "MNIST", 0, 100) for parameters in result}
        )
        == 3
    )


@pytest.mark.parametrize("name", DEEP)
def test_a_deep_model_runs_by_the_protocol_and_the_table_tells_its_training(name, tmp_path):
    pytest.importorskip("torch")
    task, model = get_task(str(write_bars(tmp_path / "bars"))), get_model(name).limited_to(60)
    results = ResultsFile(tmp_path / "runs.jsonl")
    outcome = run_protocol([task], [model], results, seeds=[0])
    again = run_protocol([task], [model], results, seeds=[0])
    (record,) = outcome.finished
    assert again.finished == []  # it is known by its parameters
    assert record.test["accuracy"] == 1.0
    assert record.distortion is not None
    assert record.versions["torch"]
    cells = table_cells([record], [task], [model], [0])
    assert f"| bars | {model.title} | — | 100.0 |" in table_as_markdown(cells)
    assert record.processor_seconds > 0
    for text in (table_as_markdown(cells), table_as_csv(cells)):
        assert "at most 60 batches, in each phase" in text


def test_rows_share_a_pretraining_and_a_run_leaves_nothing_else(tmp_path):
    pytest.importorskip("torch")
    task = get_task(str(write_bars(tmp_path / "bars")))
    models = [get_model(name).limited_to(20) for name in ("ae-k-means-mlp", "dec-mlp", "vade-mlp")]
    results = ResultsFile(tmp_path / "runs.jsonl")
    run_protocol([task], models, results, seeds=[0, 1])
    # one for AE + K-means and DEC, one for VaDE, of either seed
    assert len(list(results.trainings.iterdir())) == 4


def test_an_interrupted_run_is_continued_by_the_next_attempt(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    from dikmeans.paper.baselines.refinement import Refinement

    task, model = get_task(str(write_bars(tmp_path / "bars"))), get_model("dec-mlp").limited_to(20)
    results = ResultsFile(tmp_path / "runs.jsonl")
    with monkeypatch.context() as patch:
        patch.setattr(Refinement, "start", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            run_protocol([task], [model], results, seeds=[0])
    (kept,) = results.trainings.iterdir()
    before = kept.stat().st_mtime_ns
    (record,) = run_protocol([task], [model], results, seeds=[0]).finished
    assert kept.stat().st_mtime_ns == before  # the pre-training was read, not made again
    assert list(results.trainings.iterdir()) == [kept]
    assert record.test["accuracy"] == 1.0


def _interrupt(*args):
    raise KeyboardInterrupt


def test_runs_of_another_length_are_not_of_this_table():
    pytest.importorskip("torch")
    model = get_model("dec-mlp").limited_to(20)
    run = invented_run(model="dec-mlp", parameters=model.parameters(10))
    columns = [get_task("mnist")]
    (same,), (other,) = (
        table_cells([run], columns, [model], [0], 2000) for model in (model, get_model("dec-mlp"))
    )
    assert (same.records, other.records) == ((run,), ())
    assert (same.paper, other.paper) == (84.3, 84.3)


def test_versions_are_told_once_though_only_some_runs_used_torch():
    pytest.importorskip("torch")
    with_torch = {"python": "3.11.0", "dikmeans": "0.1.0", "torch": "2.13.0"}
    deep = get_model("dec-mlp")
    plain = BAR_FINDER
    runs = [
        invented_run(model="dec-mlp", parameters=deep.parameters(10), versions=with_torch),
        invented_run(),
    ]
    text = table_as_markdown(table_cells(runs, [get_task("mnist")], [plain, deep], [0], 2000))
    assert text.endswith("Made with python 3.11.0, dikmeans 0.1.0, torch 2.13.0.\n")
