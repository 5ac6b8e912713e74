"""The report in a real Chromium: it opens, shows the clusters, warps pictures, saves names."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from matplotlib.path import Path as Polygon

from dikmeans import DIKMeans, Search
from dikmeans.preprocessing import UnitNorm
from dikmeans.registration.inverse import inverse_grid
from dikmeans.report import write_report
from tests.report.report_pages import Page, unlabeled, unpacked, wait_for

VIEWS = ("overview", "cluster-1", "picture-3", "doubtful", "odd", "alike", "map")


@pytest.fixture
def page(chromium, report):
    opened = Page(chromium, report.path)
    yield opened
    assert opened.complaints() == []


def test_every_view_opens_without_a_complaint_and_without_the_network(page):
    for look in ("original", "compared"):
        page.js("setLook(arguments[0])", look)
        for view in VIEWS:
            page.go(view)
            assert page.one("h1").text
            # "false" or "null", where a part is left out
            loose = "return [...MAIN.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)"
            assert page.js(f"{loose}.map((node) => node.data)") == []
    assert page.complaints() == []
    requests = page.requests()
    assert requests  # the log works: the page itself is in it
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_a_click_on_a_cluster_shows_exactly_its_members(page, report):
    for k in range(5):
        page.go("overview")
        card = page.one(f".card[data-cluster='{k}']")
        assert f"{(report.model.labels_ == k).sum()} pictures" in card.text
        page.js("arguments[0].scrollIntoView({block: 'center'})", card)
        card.click()
        assert sorted(page.member_slots()) == np.flatnonzero(report.model.labels_ == k).tolist()


def test_a_click_on_a_prototype_shows_only_its_members(chromium, tmp_path, report):
    model = DIKMeans(2, n_prototypes=3, random_state=0, search=Search(n_swaps=0), max_iter=3)
    assignment = model.fit(report.image_set.images).assignment_
    path = tmp_path / "prototypes.html"
    page = Page(chromium, write_report(path, model, report.image_set, assignment=assignment))
    assert "3 prototypes" in page.one(".card[data-cluster='0']").text
    page.go("cluster-1")
    buttons = page.all("#prototypes button")
    assert len(buttons) == 3
    all_members = np.flatnonzero(assignment.labels == 1).tolist()
    assert sorted(page.member_slots()) == all_members
    for prototype, button in enumerate(buttons, start=3):
        button.click()
        assert button.get_attribute("aria-pressed") == "true"
        expected = np.flatnonzero(assignment.prototypes == prototype).tolist()
        assert sorted(page.member_slots()) == expected
    buttons[-1].click()  # a second click shows all again
    assert sorted(page.member_slots()) == all_members
    assert page.complaints() == []


def test_members_are_sorted_as_chosen(page, report):
    costs = np.sort(report.model.transform(report.image_set.images), axis=1)
    page.go("cluster-0")
    orders = {"best": costs[:, 0], "worst": -costs[:, 0], "margin": costs[:, 1] - costs[:, 0]}
    for key, values in orders.items():
        page.js(
            "const sort = document.getElementById('sort'); sort.value = arguments[0];"
            "sort.dispatchEvent(new Event('change'))",
            key,
        )
        shown = page.member_slots()
        assert sorted(shown) == np.flatnonzero(report.model.labels_ == 0).tolist()
        assert np.all(np.diff(values[shown]) > -1e-5)


def test_a_close_decision_names_the_second_choice(page, report):
    second = unpacked(report.payload["candidates"][1]["cluster"], "<u2")
    named = []
    for k in range(5):
        page.go(f"cluster-{k}")
        named += page.js(
            "const chips = [...document.querySelectorAll('#members .close')];"
            "return chips.map((chip) =>"
            " [Number(chip.closest('.tile').dataset.slot), Number(chip.dataset.cluster)])"
        )
    cost, next_cost = (unpacked(c["cost"], "<f4") for c in report.payload["candidates"][:2])
    close = np.flatnonzero(next_cost - cost < 0.25 * cost)
    assert len(close) > 0
    assert dict(named) == {slot: second[slot] for slot in close}


def test_the_slider_warps_the_members_into_the_frame_of_the_centroid(page, report):
    page.js("setTheme('dark'); setLook('compared')")  # ink is light on dark, as in the arrays
    k = int(report.model.labels_[60])
    page.go(f"cluster-{k}")
    page.js("document.querySelector('.tile[data-slot=\"60\"]').scrollIntoView({block: 'center'})")
    tile = ".tile[data-slot='60'] canvas"
    wait_for(lambda: page.pixels(tile).std() > 5)

    def shown(t):
        page.slide(t)
        gray = page.pixels(tile).astype(float).mean(axis=2)
        return (gray - 21) / (246.3 - 21)  # the two ends of the dark tone

    alignments = report.model.align(report.image_set.images[60:61])
    image, aligned = (
        picture / alignments.image.max() for picture in (alignments.image[0], alignments[0].aligned)
    )
    assert np.abs(aligned - image).max() > 0.3  # there is something to see
    np.testing.assert_allclose(shown(0), image, atol=0.03)
    np.testing.assert_allclose(shown(1), aligned, atol=0.03)
    between = shown(0.5)
    assert np.abs(between - image).max() > 0.1
    # pixels move: half way is not the mean of both ends
    assert np.abs(between - (image + aligned) / 2).max() > 0.1


def test_playing_ends_with_aligned_members(page):
    page.go("cluster-0")
    page.press("a")
    wait_for(lambda: page.js("return document.getElementById('align').value === '1'"))


def test_a_picture_shows_its_best_clusters_with_grids_and_costs(page, report):
    page.go("picture-60")
    best = report.payload["candidates"][0]
    cost, bending = (float(unpacked(best[part], "<f4")[60]) for part in ("cost", "bending"))
    rows = page.all(".candidate")
    assert len(rows) == 3
    assert f"{100 * cost:.1f}" in rows[0].text
    assert f"{100 * (cost - bending):.1f}" in rows[0].text
    assert len(page.all(".candidate .mesh polyline")) > 30
    warped = page.pixels(".candidate.assigned .stack canvas").astype(int)
    page.slide(0)
    assert np.abs(page.pixels(".candidate.assigned .stack canvas") - warped).max() > 60
    assert len(page.all(".costs li")) == 5


def test_the_residual_that_the_browser_draws_is_the_computed_one(page, report):
    page.go("picture-60")
    squares = page.js(
        "const slot = 60, image = valuesOf(slot), prototype = CANDIDATES[0].prototype[slot];"
        "const warped = resample(PROTOTYPES[prototype], forwardGrid(warpOf(0, slot)), 1);"
        "return warped.reduce((sum, v, p) => sum + (v - image[p] * GAIN[slot]) ** 2, 0)"
    )
    residual = report.model.align(report.image_set.images[60:61])[0].residual
    assert squares == pytest.approx(float((residual.astype(float) ** 2).sum()), rel=0.02)


def test_the_browser_inverts_warps_that_turn_a_picture_around(page, report):
    warp = report.model.align(report.image_set.images[:1]).warp
    angle, rng = np.radians(160), np.random.default_rng(0)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    parameters = warp.identity @ turn.T + rng.normal(0, 0.02, warp.identity.shape)
    _, radial, affine = warp.expansion(parameters)
    packed = np.concatenate([radial, affine, np.eye(2)]).ravel().tolist()
    found = page.js("return [...inverseGrid(Float32Array.from(arguments[0]))]", packed)
    expected = inverse_grid(warp, parameters[None])[0]
    np.testing.assert_allclose(np.reshape(found, expected.shape), expected, atol=0.02)


def draw_lasso(page, corners):
    """Press, move along the corners, release, with the real pointer."""
    from selenium.webdriver.common.actions.action_builder import ActionBuilder
    from selenium.webdriver.common.actions.mouse_button import MouseButton

    actions = ActionBuilder(page.driver, duration=20)
    (x0, y0), *rest = corners
    actions.pointer_action.move_to_location(x0, y0)
    actions.pointer_action.pointer_down(MouseButton.LEFT)
    for x, y in rest:
        actions.pointer_action.move_to_location(x, y)
    actions.pointer_action.pointer_up(MouseButton.LEFT)
    actions.perform()


def test_a_lasso_saves_exactly_the_names_inside(page, report):
    page.go("map")
    canvas = page.one("#map-canvas")
    page.js("arguments[0].scrollIntoView({block: 'center'})", canvas)
    left, top, width, height = page.js(
        "const b = arguments[0].getBoundingClientRect(); return [b.left, b.top, b.width, b.height]",
        canvas,
    )
    # corners at whole pixels: the pointer has no others
    shares = [(0.02, 0.02), (0.98, 0.1), (0.1, 0.98)]
    corners = [(int(left + fx * width), int(top + fy * height)) for fx, fy in shares]
    draw_lasso(page, corners)

    xy = unpacked(report.payload["map"], "<f4").reshape(-1, 2)
    margin = page.js("return MARGIN")
    places = np.array([left, top]) + margin + xy * (np.array([width, height]) - 2 * margin)
    inside = np.flatnonzero(Polygon(corners).contains_points(places))
    assert 10 < len(inside) < 140
    wait_for(lambda: not page.js("return document.querySelector('.selection').hidden"))
    names = [report.image_set.names[i] for i in inside]
    lines = page.js("return document.getElementById('names').value").split("\n")
    assert lines == [name.replace("\u2028", " ") for name in names]

    for old in page.driver.downloads.iterdir():
        old.unlink()
    page.one("#save-names").click()
    page.one("#save-table").click()
    text, table = (page.driver.downloads / f"selection.{kind}" for kind in ("txt", "csv"))
    wait_for(lambda: text.exists() and table.exists())
    assert text.read_text("utf-8").rstrip("\n").split("\n") == lines
    with table.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["file"] for row in rows] == names
    assert [int(row["cluster"]) for row in rows] == report.model.labels_[inside].tolist()


def test_hovering_shows_the_picture_and_its_name(page, report):
    from selenium.webdriver.common.action_chains import ActionChains

    page.go("map")
    canvas = page.one("#map-canvas")
    page.js("arguments[0].scrollIntoView({block: 'center'})", canvas)
    xy = unpacked(report.payload["map"], "<f4").reshape(-1, 2)
    isolated = int(np.argmax(np.sort(((xy[:, None] - xy) ** 2).sum(axis=-1), axis=1)[:, 1]))
    side, margin = canvas.size["width"], page.js("return MARGIN")
    offset = margin + xy[isolated] * (side - 2 * margin) - side / 2
    ActionChains(page.driver).move_to_element_with_offset(
        canvas, int(offset[0]), int(offset[1])
    ).perform()
    assert page.one("#tip b").text == report.image_set.names[isolated]
    assert len(page.all("#tip canvas")) == 1


def test_names_of_files_stay_text(page, report):
    for index in range(3):
        page.go(f"picture-{index}")
        assert (
            page.js("return document.querySelector('h1').textContent")
            == report.image_set.names[index]
        )
    page.go("map")
    page.js("document.querySelectorAll('#map-legend button').forEach((b) => b.click())")
    assert page.all("main img, main b b, main script") == []
    assert page.js("return document.title").startswith("Map")


def test_every_view_can_be_reached_with_the_keyboard(page, report):
    from selenium.webdriver.common.keys import Keys

    page.press("o")
    wait_for(lambda: page.all("#cards"))
    page.js("document.querySelector('.card').focus()")
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER)
    wait_for(lambda: page.js("return shownHash") == "#cluster-2")
    page.press(Keys.ARROW_RIGHT)
    wait_for(lambda: page.js("return shownHash") == "#cluster-3")
    wait_for(lambda: page.all("#members .tile"))
    page.js("document.querySelector('#members .tile').focus()")
    page.press(Keys.ARROW_RIGHT, Keys.ENTER)
    wait_for(lambda: page.js("return shownHash").startswith("#picture-"))
    before = page.js("return shownHash")
    page.press(Keys.ARROW_RIGHT)
    wait_for(lambda: page.js("return shownHash") != before)
    page.driver.back()
    wait_for(lambda: page.js("return shownHash") == before)
    page.press(Keys.ESCAPE)
    wait_for(lambda: page.js("return shownHash") == "#cluster-3")
    page.press(Keys.ESCAPE)
    wait_for(lambda: page.js("return shownHash") == "#overview")
    page.press("m")
    wait_for(lambda: page.all("canvas.map"))
    page.js("document.querySelector('canvas.map').focus()")
    page.press(Keys.ARROW_RIGHT, Keys.SPACE)
    assert page.js("return document.getElementById('names').value") in report.image_set.names
    page.press("?")
    assert page.js("return document.getElementById('keys').open")
    page.press(Keys.ESCAPE)
    wait_for(lambda: not page.js("return document.getElementById('keys').open"))


def test_the_page_follows_the_color_scheme_and_the_button_changes_it(page):
    page.js("setLook('compared')")
    background = "return getComputedStyle(document.body).backgroundColor"
    page.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    wait_for(lambda: page.pixels(".card canvas").mean() < 100)  # light on dark
    assert page.one("#theme").text == "Light"
    dark = page.js(background)
    page.one("#theme").click()
    wait_for(lambda: page.pixels(".card canvas").mean() > 155)  # dark on light
    light = page.js(background)
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert dark != light


def test_a_sample_is_stated_with_both_numbers(chromium, report, tmp_path):
    path = write_report(tmp_path / "r.html", report.model, report.image_set, max_pictures=40)
    page = Page(chromium, path)
    assert "shows 40 of the 150 pictures" in page.one("#sample-note").text
    page.go("cluster-0")
    assert f"of its {(report.model.labels_ == 0).sum()} members are shown" in page.one("main").text
    assert page.complaints() == []


def color_pictures(digits):
    return np.ascontiguousarray(np.moveaxis(digits[:2, :24].reshape(16, 3, 28, 28), 1, -1))


KINDS = {
    "color": (color_pictures, {"n_clusters": 2}),
    "negative": (
        lambda d: d[:2, :10].reshape(-1, 28, 28) - 0.4,
        {"n_clusters": 2, "preprocessing": None},
    ),
    "signals": (lambda d: d[:2, :20, 13:14].reshape(-1, 1, 28), {"n_clusters": 2}),
    "plain": (lambda d: d[:2, :10].reshape(-1, 28, 28), {"n_clusters": 2, "warp": "none"}),
    "affine": (lambda d: d[:2, :10].reshape(-1, 28, 28), {"n_clusters": 3, "warp": "affine"}),
    "published": (
        lambda d: d[:2, :10].reshape(-1, 28, 28),
        {"n_clusters": 2, "direction": "image-to-centroid"},
    ),
    "photographs": (lambda d: 0.4 * d[:2, :10].reshape(-1, 28, 28) + 0.5, {"n_clusters": 2}),
    "one cluster": (lambda d: d[:2, :5].reshape(-1, 28, 28), {"n_clusters": 1}),
    "large": (
        lambda d: np.kron(d[:2, :5].reshape(-1, 28, 28), np.ones((1, 3, 4))),
        {"n_clusters": 2, "preprocessing": UnitNorm(border="edge")},
    ),
}


# Pixels are read from copies: canvases that are read often make the browser log a warning.
HAS_DRAWN = """
const hasContent = (canvas) => {
  const copy = document.createElement('canvas');
  [copy.width, copy.height] = [canvas.width, canvas.height];
  const context = copy.getContext('2d', { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  return new Set(context.getImageData(0, 0, copy.width, copy.height).data).size > 3;
};
const canvases = [...document.querySelectorAll('canvas')];
return canvases.filter((c) => c.getBoundingClientRect().top < innerHeight).some(hasContent);
"""


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_pictures_and_models_are_drawn(chromium, digits_by_class, tmp_path, kind):
    make, parameters = KINDS[kind]
    X = make(digits_by_class).astype(np.float32)
    model = DIKMeans(random_state=0, search=Search(n_swaps=0), **parameters).fit(X)
    page = Page(chromium, write_report(tmp_path / "r.html", model, unlabeled(X)))
    for view in ("overview", "cluster-0", "picture-1", "odd", "map"):
        page.go(view)
        if view in ("cluster-0", "picture-1") and page.all("#align"):
            page.slide(0.5)
        wait_for(lambda: page.js(HAS_DRAWN))
    assert page.complaints() == []
    if kind in ("published", "large", "color", "photographs"):
        expected = model.align(X[1:2])[0].aligned
        drawn = np.array(page.js("return [...alignedValues(1, 1)]")).reshape(expected.shape)
        drawn *= page.js("return GAIN[1]")
        np.testing.assert_allclose(drawn, expected, atol=0.02 * np.abs(expected).max() + 0.002)


def test_an_unknown_address_leads_to_the_overview(page):
    for fragment in ("cluster-99", "picture-9999", "<script>"):
        page.js("location.hash = arguments[0]", fragment)
        wait_for(lambda: page.js("return MAIN.className") == "overview")
