"""UMAP, then K-means or a mixture, and its rows of the table."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from dikmeans.errors import MissingExtraError
from dikmeans.evaluation.metrics import clustering_accuracy
from dikmeans.paper.protocol.data_tasks import get_task
from dikmeans.paper.protocol.results_file import ResultsFile
from dikmeans.paper.protocol.run_protocol import run_protocol
from dikmeans.paper.protocol.table_cells import table_cells
from dikmeans.paper.protocol.table_models import get_model
from dikmeans.paper.protocol.table_text import table_as_markdown
from dikmeans.paper.umap_clustering import UMAPClustering
from dikmeans.parameters import InvalidParameterError
from tests.paper.toy_data import bars, write_bars

ROWS = ("umap-k-means", "umap-gmm")


@pytest.mark.parametrize("clusterer", ["k-means", "gaussian-mixture"])
def test_bars_are_told_apart_and_new_ones_are_placed_among_them(clusterer):
    pytest.importorskip("umap")
    (images, classes), (new, new_classes) = bars(20, seed=0), bars(5, seed=1)
    model, again = (UMAPClustering(3, clusterer, n_components=2).fit(images) for _ in range(2))
    assert clustering_accuracy(classes, model.labels_) == 1.0
    assert clustering_accuracy(new_classes, model.predict(new)) == 1.0
    np.testing.assert_array_equal(model.labels_, again.labels_)
    assert model.processor_seconds_ > 0
    assert not hasattr(model, "inertia_")


def test_the_mixture_has_full_covariances_in_the_embedding():
    pytest.importorskip("umap")
    model = UMAPClustering(3, "gaussian-mixture", n_components=4).fit(bars(20, seed=0)[0])
    assert model.model_.covariances_.shape == (3, 4, 4)


def test_a_clusterer_that_is_not_known_is_refused():
    with pytest.raises(InvalidParameterError, match=r"clusterer='dbscan': expected 'k-means'"):
        UMAPClustering(3, "dbscan").fit(bars(5, seed=0)[0])


def test_without_umap_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dikmeans\[umap\]'"):
        UMAPClustering(3).fit(bars(5, seed=0)[0])


@pytest.mark.parametrize("name", ROWS)
def test_a_row_runs_by_the_protocol_without_a_label_free_choice(name, tmp_path):
    pytest.importorskip("umap")
    task = get_task(str(write_bars(tmp_path / "bars", n_train_each=20)))
    model = get_model(name)
    outcome = run_protocol([task], [model], ResultsFile(tmp_path / "runs.jsonl"), seeds=[0])
    assert outcome.failed == []
    (record,) = outcome.finished
    assert record.distortion is None
    assert record.parameters["n_components"] == 10
    assert record.versions["umap-learn"]
    assert record.test["accuracy"] == 1.0
    text = table_as_markdown(table_cells([record], [task], [model], [0]))
    assert f"| bars | {model.title} | — | 100.0 | — | — | 100.0 | 1 | all 60 |" in text
    assert "no label-free choice" in text


def test_the_rows_are_known_without_importing_umap():
    assert [get_model(name).title for name in ROWS] == ["UMAP + K-means", "UMAP + Gaussian mixture"]
    assert all(get_model(name).library == "umap" for name in ROWS)
