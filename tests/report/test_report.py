"""The report as a file: what it says about the clustering, and what it must not contain."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score

from dikmeans import DIKMeans, Search
from dikmeans.kmeans.schedule import PhaseKind
from dikmeans.report import write_report
from dikmeans.report.baseline import match_clusters
from dikmeans.report.explanations import explain_phase, explain_settings
from dikmeans.report.sample import choose_shown
from dikmeans.report.sprites import Tone, make_sheets, tone_of
from tests.report.report_pages import embedded_data, png_pixels, unlabeled, unpacked


def test_sizes_and_mean_costs_are_those_of_the_model(report):
    clusters = report.payload["clusters"]
    labels = report.model.labels_
    assert [c["size"] for c in clusters] == np.bincount(labels, minlength=5).tolist()
    costs = report.model.transform(report.image_set.images)[np.arange(len(labels)), labels]
    expected = [costs[labels == k].mean() for k in range(5)]
    np.testing.assert_allclose([c["cost"] for c in clusters], expected, rtol=1e-4)
    assert report.payload["inertia"] == pytest.approx(report.model.inertia_, rel=1e-4)


def test_each_picture_comes_with_its_own_cluster_then_with_the_next_best(report):
    first, second, third = (unpacked(c["cluster"], "<u2") for c in report.payload["candidates"])
    np.testing.assert_array_equal(first, report.model.labels_)
    order = report.model.transform(report.image_set.images).argsort(axis=1)
    np.testing.assert_array_equal(second, order[:, 1])
    np.testing.assert_array_equal(third, order[:, 2])


def test_costs_are_divided_into_misfit_and_bending(report):
    best = report.payload["candidates"][0]
    cost, bending = (unpacked(best[part], "<f4") for part in ("cost", "bending"))
    alignments = report.model.align(report.image_set.images)
    squares = (alignments.residual.astype(float) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(cost - bending, squares, atol=1e-4)
    labels = report.model.labels_
    means = [cluster["bending"] for cluster in report.payload["clusters"]]
    np.testing.assert_allclose(means, [bending[labels == k].mean() for k in range(5)], rtol=1e-5)


def test_pictures_whose_assignment_is_given_are_not_assigned_again(report, tmp_path, monkeypatch):
    def refuse(*_):
        raise AssertionError("aligns all pictures again")

    model, image_set = report.model, report.image_set
    expected = embedded_data(write_report(tmp_path / "new.html", model, image_set))
    transformed = []
    transform = DIKMeans.transform
    monkeypatch.setattr(DIKMeans, "assign", refuse)
    monkeypatch.setattr(DIKMeans, "align", refuse)
    monkeypatch.setattr(
        DIKMeans, "transform", lambda self, X: transformed.append(len(X)) or transform(self, X)
    )
    path = tmp_path / "known.html"
    write_report(path, model, image_set, assignment=model.assignment_, max_pictures=40)
    payload = embedded_data(path)
    assert transformed == [40]
    for k in range(5):
        assert payload["clusters"][k] == pytest.approx(expected["clusters"][k], rel=1e-5)


def test_without_known_warps_only_the_shown_pictures_are_aligned(report, tmp_path, monkeypatch):
    aligned = []
    align = DIKMeans.align
    monkeypatch.setattr(
        DIKMeans, "align", lambda self, X, y: aligned.append(len(X)) or align(self, X, y)
    )
    assignment = report.model.assignment_._replace(warps=None)
    path = tmp_path / "report.html"
    write_report(path, report.model, report.image_set, assignment=assignment, max_pictures=40)
    payload = embedded_data(path)
    assert aligned == [40]
    assert payload["inertia"] == pytest.approx(report.model.inertia_, rel=1e-4)
    labels = unpacked(payload["candidates"][0]["cluster"], "<u2")
    np.testing.assert_array_equal(labels, report.model.labels_[payload["pictures"]["index"]])


def test_an_assignment_of_other_pictures_is_refused(report, tmp_path):
    few = report.image_set.subset(range(20))
    with pytest.raises(ValueError, match="assignment is of 150 pictures, but the image set has 20"):
        write_report(tmp_path / "r.html", report.model, few, assignment=report.model.assignment_)


@pytest.mark.parametrize(
    ("preprocessing", "value", "origin"),
    [
        ("auto", "unit-norm", "automatic"),
        ("local-contrast", "local-contrast", "given"),
        (None, "none", "given"),
    ],
)
def test_the_preprocessing_is_named_and_explained(preprocessing, value, origin):
    images = load_digits().images[:30]
    model = DIKMeans(
        2, preprocessing=preprocessing, landmarks=3, search=Search(n_swaps=0), random_state=0
    ).fit(images)
    settings = {line.name: line for line in explain_settings(model, model.align(images[:1]).warp)}
    line = settings["Preprocessing"]
    assert (line.value, line.origin) == (value, origin)
    assert line.reason.startswith(str(model.preprocessing_))
    assert ("tiny pictures are only scaled." in line.reason) == (preprocessing == "auto")
    assert settings["Landmarks"][1:3] == ("3 by 3", "given")
    assert settings["Smoothness"][1:3] == ("0.3", "default")
    assert "Swap trials" not in settings


def test_settings_of_the_search_say_who_chose_them(report):
    settings = {setting["name"]: setting for setting in report.payload["settings"]}
    assert settings["Swap trials"]["value"] == "up to 2"
    assert settings["Swap trials"]["origin"] == "given"
    assert settings["Prototypes"]["origin"] == "automatic"
    assert f"after {report.model.n_iter_} iterations" in settings["Stopped"]["value"]


def test_the_history_has_the_mean_cost_of_every_iteration_and_its_phase_in_words(report):
    history, records = report.payload["history"], report.model.history_.iterations
    expected = [record.inertia / record.n_images for record in records]
    np.testing.assert_allclose(history["cost"], expected)
    assert history["phases"][0] == "warm-up: K-means"
    assert history["phases"][-1] == "all pictures"
    assert history["stopped"] == report.model.history_.stopped


def test_every_phase_with_iterations_has_words_of_its_own(report):
    schedule = report.model.schedule_for(150, (28, 28))
    lasting = [phase for phase in schedule.phases if phase.max_iter > 0]
    assert {phase.kind for phase in lasting} >= {PhaseKind.SEARCH, PhaseKind.SWAPS}
    words = [explain_phase(phase) for phase in lasting]
    assert len(set(words)) == len(words)
    assert not any("tps" in text for text in words)


def test_the_sprites_are_the_pictures(report):
    (sheet,) = report.payload["sheets"]
    pixels = png_pixels(sheet["data"])
    row, column = divmod(97, sheet["across"])
    cell = pixels[28 * row : 28 * (row + 1), 28 * column : 28 * (column + 1)]
    preprocessed = report.model.align(report.image_set.images[97:98]).image[0]
    np.testing.assert_allclose(cell / 255, preprocessed / preprocessed.max(), atol=0.003)


def test_pictures_that_are_only_scaled_are_shown_as_they_were_given(tmp_path):
    images = load_digits().images[:30]
    model = DIKMeans(2, landmarks=3, search=Search(n_swaps=0), random_state=0).fit(images)
    assert model.preprocessing_.name == "unit-norm"
    payload = embedded_data(write_report(tmp_path / "report.html", model, unlabeled(images)))
    (sheet,) = payload["sheets"]
    pixels = png_pixels(sheet["data"])
    np.testing.assert_allclose(pixels[:8, :8] / 255 * payload["tone"]["high"], images[0], atol=0.04)


def test_the_confusion_matrix_counts_every_picture(report):
    agreement = report.payload["agreement"]
    assert np.sum(agreement["counts"]) == 150
    class_of = dict(zip(agreement["clusters"], agreement["classes"], strict=True))
    predicted = [class_of[k] for k in report.model.labels_]
    expected = accuracy_score(report.image_set.labels, predicted)
    assert agreement["scores"]["accuracy"] == pytest.approx(expected)


def test_names_and_title_stay_text_in_the_file(report):
    page = report.path.read_text("utf-8")
    assert "<img src=x" not in page
    assert page.count("</script>") == 2
    assert "<title>Digits &amp; &lt;b&gt;friends&lt;/b&gt;</title>" in page
    assert report.payload["pictures"]["names"] == list(report.image_set.names)


def test_the_page_may_load_nothing_and_names_no_address(report):
    page = report.path.read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'; img-src data:; media-src data:;")
    assert "unsafe" not in policy
    addresses = set(re.findall(r"https?://[^\s\"']+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}  # a name, not an address


def test_more_pictures_than_the_limit_are_sampled_and_all_are_counted(report, tmp_path):
    path = write_report(tmp_path / "small.html", report.model, report.image_set, max_pictures=40)
    payload = embedded_data(path)
    assert payload["total"] == 150
    assert len(payload["pictures"]["index"]) == 40
    assert sum(c["size"] for c in payload["clusters"]) == 150
    assert np.sum(payload["agreement"]["counts"]) == 150
    shown = np.array(payload["pictures"]["index"])
    n_shown, sizes = (
        np.bincount(labels) for labels in (report.model.labels_[shown], report.model.labels_)
    )
    assert np.ptp(n_shown / sizes) < 0.1
    assert payload["pictures"]["names"] == [report.image_set.names[i] for i in shown]


def test_progress_goes_from_zero_to_one(report, tmp_path):
    fractions = []
    few = report.image_set.subset(range(20))
    write_report(
        tmp_path / "few.html",
        report.model,
        few,
        progress=lambda fraction, step: fractions.append(fraction),
    )
    assert fractions == sorted(fractions)
    assert fractions[0] == 0
    assert fractions[-1] == 1


@pytest.mark.parametrize("warp", ["none", "affine", "tps"])
def test_every_model_has_a_map_and_all_but_kmeans_a_comparison(digits_by_class, tmp_path, warp):
    X = digits_by_class[:2, :8].reshape(-1, 28, 28)
    model = DIKMeans(2, warp=warp, random_state=0, search=Search(n_swaps=0)).fit(X)
    payload = embedded_data(write_report(tmp_path / "r.html", model, unlabeled(X)))
    positions = unpacked(payload["map"], "<f4").reshape(16, 2)
    np.testing.assert_allclose([positions.min(axis=0), positions.max(axis=0)], [[0, 0], [1, 1]])
    assert payload["agreement"] is None
    if warp == "none":
        assert payload["baseline"] is None
    else:
        kmeans = DIKMeans(2, warp="none", random_state=0).fit(X)
        assert payload["baseline"]["inertia"] == pytest.approx(kmeans.inertia_)
        assert sorted(payload["baseline"]["sizes"]) == sorted(np.bincount(kmeans.labels_))


def test_a_page_without_pictures_is_refused(report, tmp_path):
    with pytest.raises(ValueError, match="max_pictures=0"):
        write_report(tmp_path / "r.html", report.model, report.image_set, max_pictures=0)
    with pytest.raises(ValueError, match="empty"):
        write_report(tmp_path / "r.html", report.model, report.image_set.subset(slice(0)))
    assert not (tmp_path / "r.html").exists()


def test_a_sample_has_pictures_of_every_cluster():
    labels = np.repeat([0, 1, 2], [9000, 990, 10])
    shown = choose_shown(labels, 100, 784)
    assert len(shown) == 100
    counts = np.bincount(labels[shown])
    assert counts[2] >= 1
    assert abs(counts[0] - 90) <= 2
    np.testing.assert_array_equal(shown, choose_shown(labels, 100, 784))
    assert len(choose_shown(labels, 2000, 1_000_000)) == 40  # huge pictures lower the limit


def test_clusters_are_matched_even_if_some_are_empty():
    partner = match_clusters(np.array([0, 0, 3, 3]), np.array([1, 1, 2, 2]), 5)
    assert sorted(partner) == list(range(5))
    assert partner[1] == 0
    assert partner[2] == 3


def test_sprites_come_in_several_sheets_if_one_would_be_too_large(monkeypatch):
    monkeypatch.setattr("dikmeans.report.sprites.SHEET_SIDE", 40)
    pictures = np.random.default_rng(0).integers(0, 256, size=(11, 20, 15, 3)).astype(np.uint8)
    sheets = make_sheets(pictures)
    assert [sheet["count"] for sheet in sheets] == [4, 4, 3]
    second = png_pixels(sheets[1]["data"])
    np.testing.assert_array_equal(second[:20, 15:30], pictures[5])


def test_strokes_are_ink_and_photographs_are_not(digits_by_class):
    assert tone_of(digits_by_class[0]).ink
    assert not tone_of(1 - digits_by_class[0]).ink
    assert not tone_of(digits_by_class[0] - 0.5).ink
    assert tone_of(digits_by_class[0] - 0.5).low == -0.5
    values = Tone(-1, 1, ink=False).to_bytes(np.array([-1.0, 0, 1, 2]))
    np.testing.assert_array_equal(values, [0, 128, 255, 255])


def test_no_centroid_is_made_from_outliers(report):
    model, X = report.model, report.image_set.images
    labels, odd = model.labels_.copy(), int(np.argmax(model.labels_ == 2))
    labels[odd] = -1
    given = model.assignment_._replace(labels=labels)
    spoiled = X.copy()
    spoiled[odd] = 1000  # would show
    averages = model.average_originals(X, spoiled, assignment=given, max_members=None)
    assert np.nanmax(averages.mean) <= X.max() + 1e-6
    assert averages.counts.sum() == len(X) - 1
