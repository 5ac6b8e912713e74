"""How alike clusters are, and how originals get into the page, without a browser."""

from __future__ import annotations

import copy
import io
from base64 import b64decode

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import pairwise_distances

from dikmeans import DIKMeans, Search, pairwise_cost
from dikmeans.datasets import ImageSet
from dikmeans.frames import Crops
from dikmeans.report import write_report
from dikmeans.report.likeness import compare_clusters
from dikmeans.report.payload import COMPARED_BUDGET
from dikmeans.report.sprites import make_sheets, signed_colors, tone_of
from dikmeans.report.thumbnails import (
    BUDGET,
    PORTRAIT_BUDGET,
    thumbnail_side,
    unaligned_means,
)
from dikmeans.runs import ArrayOriginals
from tests.report.report_pages import CARD, embedded_data, unlabeled, unpacked


@pytest.fixture(scope="module")
def fitted(digits_by_class):
    """Zeros, ones, and sevens in four clusters: two of them must be of one digit."""
    X = digits_by_class[[0, 1, 7], :20].reshape(-1, 28, 28)
    model = DIKMeans(4, n_prototypes=1, random_state=0, search=Search(n_swaps=0)).fit(X)
    return model, X, np.repeat([0, 1, 7], 20)


def test_costs_between_clusters_are_those_of_the_measure(fitted):
    model, X, _ = fitted
    likeness = compare_clusters(model, model.align(X[:1]).warp)
    spec = model.measure_
    costs = pairwise_cost(
        model.prototypes_,
        model.prototypes_,
        warp=spec.warp,
        smoothness=spec.smoothness,
        direction=spec.direction,
        border=spec.border,
    )
    costs /= (model.prototypes_.reshape(4, -1) ** 2).sum(axis=1)[:, None]
    cheaper = np.minimum(costs, costs.T)
    np.testing.assert_allclose(
        likeness.costs[np.triu_indices(4, 1)], cheaper[np.triu_indices(4, 1)], rtol=1e-3
    )
    assert [pair.cost for pair in likeness.pairs] == sorted(pair.cost for pair in likeness.pairs)
    assert len(likeness.pairs) == 6
    assert likeness.merges.shape == (3, 4)


def test_a_centroid_and_the_same_one_moved_are_the_most_alike(fitted):
    model, X, _ = fitted
    moved = copy.copy(model)
    moved.prototypes_ = model.prototypes_.copy()
    moved.prototypes_[2] = np.roll(model.prototypes_[0], 2, axis=1)
    likeness = compare_clusters(moved, model.align(X[:1]).warp)
    assert {likeness.pairs[0].target, likeness.pairs[0].warped} == {0, 2}
    assert likeness.pairs[0].cost < 0.5 * likeness.pairs[1].cost
    assert set(likeness.merges[0][:2].astype(int)) == {0, 2}


def test_one_cluster_is_like_no_other(digits_by_class):
    model = DIKMeans(1, random_state=0, search=Search(n_swaps=0)).fit(digits_by_class[0, :8])
    assert compare_clusters(model, model.align(digits_by_class[0, :1]).warp) is None


def test_thumbnails_of_two_thousand_photographs_stay_within_the_budget():
    rng = np.random.default_rng(0)
    side = thumbnail_side(2000)
    # as detailed as a photograph of foliage: noise on two scales
    coarse = rng.integers(0, 256, (50, side // 4, side // 4, 3)).repeat(4, 1).repeat(4, 2)
    pictures = np.clip(0.7 * coarse + rng.normal(40, 12, coarse.shape), 0, 255).astype(np.uint8)
    sheets = make_sheets(np.concatenate([pictures] * 10), BUDGET / 4)  # a quarter of them
    assert sheets[0]["type"] == "image/jpeg"
    n_bytes = 4 * sum(len(sheet["data"]) for sheet in sheets)
    assert n_bytes < BUDGET * 4 / 3 + 1000
    total = (BUDGET + COMPARED_BUDGET + 2 * PORTRAIT_BUDGET) * 4 / 3
    assert total < 39e6


def test_originals_are_in_the_page_as_they_are(fitted, tmp_path):
    model, X, _ = fitted
    colors = np.stack([X, 0.5 * X, 1 - X], axis=-1)
    path = write_report(tmp_path / "r.html", model, unlabeled(X), originals=ArrayOriginals(colors))
    packed = embedded_data(path)["originals"]
    (sheet,) = packed["sheets"]
    pixels = np.asarray(Image.open(io.BytesIO(b64decode(sheet["data"]))))
    rows, columns = packed["cell"]
    down, across = divmod(33, sheet["across"])
    cell = pixels[rows * down : rows * (down + 1), columns * across : columns * (across + 1)]
    np.testing.assert_allclose(cell / 255, colors[33], atol=0.003)
    np.testing.assert_array_equal(unpacked(packed["crop"], "<f4"), [1, 0, 0] * 60)


def test_originals_of_other_pictures_are_refused(fitted, tmp_path):
    model, X, _ = fitted
    with pytest.raises(ValueError, match="There are 59 originals of 60 pictures"):
        write_report(tmp_path / "r.html", model, unlabeled(X), originals=ArrayOriginals(X[:59]))


def test_means_beside_those_of_the_model_are_plain_means(fitted):
    _, X, digits = fitted
    cells = np.rint(255 * X).astype(np.uint8)
    labels = np.searchsorted([0, 1, 7], digits)
    means = unaligned_means(cells, labels, 4, Crops.unchanged(60), (28, 28))
    np.testing.assert_allclose(means[1], cells[20:40].mean(axis=0), atol=1)
    assert not means[3].any()  # a cluster without members


def test_one_label_for_all_pictures_is_not_shown(fitted, tmp_path):
    model, X, _ = fitted
    images = unlabeled(X)
    images = ImageSet(X, np.zeros(60, np.int64), ("all",), images.names, CARD)
    payload = embedded_data(write_report(tmp_path / "r.html", model, images))
    assert payload["agreement"] is None
    assert payload["classes"] is None


def test_values_of_both_signs_have_two_colors_and_zero_none():
    pictures = np.linspace(-1, 1, 9).reshape(1, 3, 3)
    tone = tone_of(pictures)
    assert tone.is_signed
    colors = signed_colors(pictures, tone)[0].reshape(9, 3).astype(int)
    assert (colors[4] == 250).all()
    assert (np.diff(pairwise_distances(colors, colors[4:5])[:, 0])[:4] < 0).all()
    assert colors[0, 2] > colors[0, 0]  # blue below
    assert colors[8, 0] > colors[8, 2]  # orange above


def test_k_is_always_given(fitted):
    from dikmeans.report.explanations import explain_settings

    model, X, _ = fitted
    eight = DIKMeans(8, random_state=0, search=Search(n_swaps=0), max_iter=2).fit(X)
    (line,) = [
        setting
        for setting in explain_settings(eight, model.align(X[:1]).warp)
        if setting.name == "Clusters"
    ]
    assert (line.value, line.origin) == ("8", "given")
