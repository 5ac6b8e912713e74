"""Outliers in the report: shown apart, and counted in no cluster."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from dikmeans.report import write_report
from tests.report.report_pages import Page, Report, unpacked, wait_for

THRESHOLD = 1.2


@pytest.fixture(scope="module")
def marked(report, tmp_path_factory) -> Report:
    """The report of the same model once its worst pictures are outliers."""
    model = copy.deepcopy(report.model).set_outlier_threshold(THRESHOLD)
    model.set_params(outliers="auto")  # K-means beside it finds none of its own
    path = tmp_path_factory.mktemp("outliers") / "report.html"
    write_report(path, model, report.image_set, assignment=model.assignment_)
    assert 5 < (model.labels_ == -1).sum() < 50
    return Report(path, model, report.image_set)


def test_outliers_count_in_no_cluster(marked, report):
    payload, labels = marked.payload, marked.model.labels_
    outside = np.flatnonzero(labels == -1)
    assert payload["outliers"] == len(outside)
    assert payload["pictures"]["outlier"] == outside.tolist()
    assert [c["size"] for c in payload["clusters"]] == np.bincount(labels[labels >= 0]).tolist()
    assert sum(payload["prototypes"]["size"]) == (labels >= 0).sum()
    assert sum(map(sum, payload["agreement"]["counts"])) == (labels >= 0).sum()
    costs = marked.model.assignment_.costs
    means = [costs[labels == k].mean() for k in range(5)]
    np.testing.assert_allclose([c["cost"] for c in payload["clusters"]], means)
    np.testing.assert_allclose(payload["inertia"], costs[labels >= 0].sum())
    # nearest clusters, and K-means, are as without outliers
    first = unpacked(payload["candidates"][0]["cluster"], "<u2")
    np.testing.assert_array_equal(first, report.model.labels_)
    assert payload["baseline"]["sizes"] == report.payload["baseline"]["sizes"]


def test_means_of_originals_are_made_without_outliers(marked):
    model, X = marked.model, marked.image_set.images
    averages = model.average_originals(X, assignment=model.assignment_, max_members=None)
    inside = model.labels_ >= 0
    expected = np.bincount(model.assignment_.prototypes[inside], minlength=len(model.prototypes_))
    np.testing.assert_array_equal(averages.counts, expected)


def test_the_page_shows_outliers_apart(marked, chromium):
    page = Page(chromium, marked.path)
    labels = marked.model.labels_
    outside = np.flatnonzero(labels == -1).tolist()
    assert f"{len(outside)} outliers" in page.one(".lead").text
    assert page.all("#outlier-section .tile")
    for k in range(5):
        page.go(f"cluster-{k}")
        assert sorted(page.member_slots()) == np.flatnonzero(labels == k).tolist()
    page.press("o")
    page.one("nav a[data-view='outliers']").click()
    wait_for(lambda: page.all("#listed .tile"))
    tiles = "document.querySelectorAll('#listed .tile')"
    slots = page.js(f"return [...{tiles}].map((tile) => tile.dataset.slot)")
    assert sorted(map(int, slots)) == outside
    page.go(f"picture-{outside[0]}")
    assert page.one(".lead").text.startswith("It belongs to no cluster.")
    assert page.one("#up").text == "Outliers"
    rows = page.js("return everyRow().map((row) => row.cluster)")
    np.testing.assert_array_equal(rows, labels)
    page.go("map")
    page.js(
        "document.getElementById('color-by').value = 'cluster';"
        "document.getElementById('color-by').dispatchEvent(new Event('change'))"
    )
    page.js("[...document.querySelectorAll('#map-legend button')].at(-1).click()")
    assert page.js("return [...selection]") == outside
    assert page.complaints() == []


def test_a_page_without_outliers_does_not_speak_of_them(report, chromium):
    page = Page(chromium, report.path)
    assert not page.one("nav a[data-view='outliers']").is_displayed()
    assert not page.all("#outlier-section")
    page.go("outliers")
    assert page.js("return current.view") == "overview"
