"""The report as a file: what it says about the clustering, and what it must not contain."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image
from report_pages import embedded_data, unpacked
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score

from dikmeans import DIKMeans
from dikmeans.datasets import Card, ImageSet
from dikmeans.report import write_report
from dikmeans.report.baseline import match_clusters
from dikmeans.report.choices import explain_choices
from dikmeans.report.maps import embed
from dikmeans.report.sample import choose_shown
from dikmeans.report.sprites import Tone, make_sheets, tone_of

CARD = Card("a set", "made for a test", "-", "small", "none")


def unlabelled(images):
    return ImageSet(images, None, (), tuple(f"{i}" for i in range(len(images))), CARD)


def test_sizes_and_mean_costs_are_those_of_the_model(report):
    clusters = report.payload["clusters"]
    labels = report.model.labels_
    assert [c["size"] for c in clusters] == np.bincount(labels, minlength=5).tolist()
    costs = report.model.transform(report.image_set.images)[np.arange(len(labels)), labels]
    expected = [costs[labels == k].mean() for k in range(5)]
    np.testing.assert_allclose([c["cost"] for c in clusters], expected, rtol=1e-4)
    assert report.payload["distortion"] == pytest.approx(report.model.inertia_, rel=1e-4)


def test_each_picture_comes_with_its_own_cluster_then_with_the_next_best(report):
    first, second, third = (unpacked(c["cluster"], "<u2") for c in report.payload["candidates"])
    np.testing.assert_array_equal(first, report.model.labels_)
    order = report.model.transform(report.image_set.images).argsort(axis=1)
    np.testing.assert_array_equal(second, order[:, 1])
    np.testing.assert_array_equal(third, order[:, 2])


def test_cost_is_split_into_misfit_and_bending(report):
    own = report.payload["candidates"][0]
    alignments = report.model.align(report.image_set.images)
    squares = (alignments.residual.astype(float) ** 2).sum(axis=(1, 2))
    np.testing.assert_allclose(
        unpacked(own["cost"], "<f4") - unpacked(own["bending"], "<f4"), squares, atol=1e-4
    )


@pytest.mark.parametrize(
    ("normalize", "said"),
    [("auto", "at equal energy"), ("strokes", "stroke by stroke"), (None, "as they are")],
)
def test_the_report_says_what_was_compared_whoever_chose_it(normalize, said):
    images = load_digits().images[:30]
    model = DIKMeans(
        2, normalize=normalize, landmarks=3, max_iter=1, n_swaps=0, random_state=0
    ).fit(images)
    (choice,) = (line for line in explain_choices(model, 30) if line.name == "Compared")
    assert said in choice.value
    assert choice.origin == ("automatic" if normalize == "auto" else "given")


def test_the_sprites_are_the_pictures(report):
    (sheet,) = report.payload["sheets"]
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(sheet["png"]))))
    row, column = divmod(97, sheet["across"])
    cell = pixels[28 * row : 28 * (row + 1), 28 * column : 28 * (column + 1)]
    seen = report.model.align(report.image_set.images[97:98]).image[
        0
    ]  # as the model sees it: strokes
    np.testing.assert_allclose(cell / 255, seen / seen.max(), atol=0.003)


def test_pictures_that_are_only_scaled_are_shown_as_they_were_given(tmp_path):
    images = load_digits().images[:30]
    model = DIKMeans(2, landmarks=3, max_iter=1, n_swaps=0, random_state=0).fit(images)
    assert model.normalize_ == "unit"
    payload = embedded_data(write_report(tmp_path / "report.html", model, unlabelled(images)))
    (sheet,) = payload["sheets"]
    pixels = np.asarray(Image.open(io.BytesIO(base64.b64decode(sheet["png"]))))
    np.testing.assert_allclose(pixels[:8, :8] / 255 * payload["tone"]["high"], images[0], atol=0.04)


def test_the_confusion_matrix_counts_every_picture(report):
    found = report.payload["agreement"]
    counts = np.array(found["counts"])
    assert counts.sum() == 150
    matching = {
        cluster: label for label, cluster in zip(found["classes"], found["clusters"], strict=True)
    }
    predicted = [matching[k] for k in report.model.labels_]
    assert found["scores"]["accuracy"] == pytest.approx(
        accuracy_score(report.image_set.labels, predicted)
    )


def test_names_and_title_stay_text_in_the_file(report):
    page = report.path.read_text("utf-8")
    assert "<img src=x" not in page
    assert page.count("</script>") == 2
    assert "<title>Digits &amp; &lt;b&gt;friends&lt;/b&gt;</title>" in page
    assert report.payload["pictures"]["names"] == list(report.image_set.names)


def test_the_page_may_load_nothing_and_names_no_address(report):
    page = report.path.read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'; img-src data:;")
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
    share = np.bincount(report.model.labels_[shown], minlength=5) / np.bincount(
        report.model.labels_, minlength=5
    )
    assert np.ptp(share) < 0.1
    assert payload["pictures"]["names"] == [report.image_set.names[i] for i in shown]


def test_progress_is_told_from_begin_to_end(report, tmp_path):
    told = []
    few = report.image_set.subset(range(20))
    write_report(tmp_path / "few.html", report.model, few, progress=lambda *what: told.append(what))
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[0] == 0
    assert fractions[-1] == 1


@pytest.mark.parametrize("warp", ["none", "affine", "tps"])
def test_maps_that_make_no_sense_are_left_out_with_a_word(digits_by_class, tmp_path, warp):
    X = digits_by_class[:2, :8].reshape(-1, 28, 28)
    model = DIKMeans(2, warp=warp, random_state=0, n_swaps=0).fit(X)
    payload = embedded_data(write_report(tmp_path / "r.html", model, unlabelled(X)))
    assert len(payload["maps"]) == {"none": 1, "affine": 2, "tps": 3}[warp]
    assert bool(payload["mapNote"]) == (warp != "tps")
    assert (payload["baseline"] is None) == (warp == "none")
    assert payload["agreement"] is None


def test_a_missing_size_or_an_empty_set_is_refused(report, tmp_path):
    with pytest.raises(ValueError, match="max_pictures=0"):
        write_report(tmp_path / "r.html", report.model, report.image_set, max_pictures=0)
    with pytest.raises(ValueError, match="empty"):
        write_report(tmp_path / "r.html", report.model, report.image_set.subset(slice(0)))
    assert not (tmp_path / "r.html").exists()


def test_a_sample_takes_someone_from_every_cluster():
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
    second = np.asarray(Image.open(io.BytesIO(base64.b64decode(sheets[1]["png"]))))
    np.testing.assert_array_equal(second[:20, 15:30], pictures[5])


def test_strokes_are_ink_and_photographs_are_not(digits_by_class):
    assert tone_of(digits_by_class[0]).ink
    assert not tone_of(1 - digits_by_class[0]).ink
    assert not tone_of(digits_by_class[0] - 0.5).ink
    assert tone_of(digits_by_class[0] - 0.5).low == -0.5
    np.testing.assert_array_equal(
        Tone(-1, 1, ink=False).to_bytes(np.array([-1.0, 0, 1])), [0, 128, 255]
    )


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_few_or_equal_pictures_have_a_map_too(n):
    for pictures in (np.ones((n, 4, 4)), np.random.default_rng(0).uniform(size=(n, 1, 4))):
        places = embed(pictures)
        assert places.shape == (n, 2)
        assert np.isfinite(places).all()
