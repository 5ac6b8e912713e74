"""People's own pictures in a real Chromium: in color, aligned, printed, found, exported, heard."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from PIL import Image
from scipy.io import wavfile

from dikmeans import DIKMeans, Search
from dikmeans.datasets import ImageSource
from dikmeans.images import as_pictures
from dikmeans.registration.appearance import carried_maps
from dikmeans.report import write_report
from dikmeans.runs import ArrayOriginals, find_originals
from tests.report.report_pages import Page, unlabeled, wait_for

INK, PAPER = np.array([40.0, 60, 160]), np.array([235.0, 225, 200])
VIEWS = ("overview", "cluster-0", "picture-3", "doubtful", "odd", "alike", "map")


@pytest.fixture(scope="module")
def colored(digits_by_class, tmp_path_factory):
    """Blue digits of two sizes somewhere on paper of 84 x 84, in folders; a model, and its page."""
    root = tmp_path_factory.mktemp("colored")
    rng = np.random.default_rng(0)
    for name, digits in (("zero", digits_by_class[0, :20]), ("four", digits_by_class[4, :20])):
        (root / name).mkdir()
        for i, digit in enumerate(digits):
            strokes = np.zeros((84, 84, 1))
            enlarged = np.kron(digit, np.ones((1 + i % 2, 1 + i % 2)))
            top, left = rng.integers(0, 84 - len(enlarged), 2)
            strokes[top : top + len(enlarged), left : left + len(enlarged), 0] = enlarged
            picture = PAPER + strokes * (INK - PAPER)
            Image.fromarray(picture.astype(np.uint8)).save(root / name / f"{name}-{i:02d}.png")
    source = ImageSource.resolve(str(root), options={"size": (42, 42)})
    images = source.load()
    model = DIKMeans(2, random_state=0, search=Search(n_swaps=0)).fit(images.images)
    originals = find_originals(images, source)
    path = root / "report.html"
    write_report(path, model, images, originals=originals, assignment=model.assignment_)
    return path, model, images, originals


@pytest.fixture
def page(chromium, colored):
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    opened = Page(chromium, colored[0])
    opened.js("setTheme('light')")
    yield opened
    assert opened.complaints() == []


def shows(page, selector):
    """The pixels of a canvas once something is drawn on it."""
    wait_for(lambda: page.pixels(selector).std() > 3)
    return page.pixels(selector).astype(float)


def test_tiles_show_the_files_in_their_colors(page, colored):
    _, model, _, originals = colored
    page.go(f"cluster-{model.labels_[5]}")
    page.js("document.querySelector('.tile[data-slot=\"5\"]').scrollIntoView({block: 'center'})")
    drawn = shows(page, ".tile[data-slot='5'] canvas")
    file = Image.fromarray(originals.read(5, 512)).resize(drawn.shape[1::-1])
    np.testing.assert_allclose(drawn, np.asarray(file, float), atol=40)
    assert np.abs(drawn - np.asarray(file, float)).mean() < 4
    page.js("setLook('compared')")
    page.js("document.querySelector('.tile[data-slot=\"5\"]').scrollIntoView({block: 'center'})")
    gray = shows(page, ".tile[data-slot='5'] canvas")
    assert np.ptp(gray, axis=2).max() < 16  # no color but the tint of the ink


def test_a_picture_is_shown_as_the_original_as_compared_and_aligned(page):
    page.go("picture-5")
    captions = [figure.text.split(" ?")[0] for figure in page.all("#three figcaption")]
    assert [caption.strip(" ?\n") for caption in captions] == [
        "the original",
        "as compared",
        "aligned",
    ]
    original = shows(page, "#three figure:nth-of-type(1) canvas")
    np.testing.assert_allclose(original[2, 2], PAPER, atol=4)


def test_the_browser_carries_originals_as_the_library_does(page, colored):
    _, model, images, originals = colored
    assert "size-normalization" in [step.name for step in model.preprocessing_.steps]
    alignments = model.align_assigned(images.images, model.assignment_)
    pictures, _ = as_pictures(images.images, model.image_shape_)
    maps = carried_maps(
        alignments.warp,
        alignments.parameters,
        model.direction,
        model.preprocessing_.crops(pictures),
    )
    for slot in (3, 25):
        expected = maps.carry(slot, originals.read(slot, 512).astype(float), (84, 84), "stretch")
        drawn = page.js(f"return [...carriedOriginal({slot}, 0, 1, [84, 84]).data]")
        found = np.array(drawn).reshape(84, 84, 4)[..., :3]
        assert np.abs(found - expected).mean() < 3
        assert np.abs(found - originals.read(slot, 512)).mean() > 6  # it was moved


def test_centroids_are_the_means_of_the_originals(page, colored):
    _, model, images, originals = colored
    page.go("overview")
    averages = model.average_originals(
        images.images, lambda number: originals.read(number, 512), assignment=model.assignment_
    )
    for k in range(2):
        first = int(np.flatnonzero(model.prototype_clusters_ == k)[0])
        drawn = shows(page, f".card[data-cluster='{k}'] .model canvas")
        expected = Image.fromarray(np.rint(averages.mean[first]).astype(np.uint8))
        expected = np.asarray(expected.resize(drawn.shape[1::-1]), float)
        assert np.abs(drawn - expected).mean() < 5


@pytest.mark.parametrize("look", ["original", "compared"])
@pytest.mark.parametrize("preprocessing", ["auto", "whitening", "subject-centering"])
def test_a_centroid_uses_its_own_range_of_tones(
    chromium, digits_by_class, tmp_path, look, preprocessing
):
    X = 1 - 0.8 * digits_by_class[:2, :12].reshape(-1, 28, 28)  # dark on light
    model = DIKMeans(2, preprocessing=preprocessing, random_state=0, search=Search(n_swaps=0))
    page = Page(chromium, write_report(tmp_path / "r.html", model.fit(X), unlabeled(X)))
    page.js("setLook(arguments[0])", look)
    for k in range(2):
        drawn = shows(page, f".card[data-cluster='{k}'] .model canvas")
        low, high = np.quantile(drawn.mean(axis=2), [0.005, 0.995])
        assert high - low > 110


def test_values_of_both_signs_are_drawn_in_two_colors_with_a_legend(
    chromium, digits_by_class, tmp_path
):
    X = digits_by_class[:2, :12].reshape(-1, 28, 28) - 0.5
    # "auto" would take the ground away, and the negative values with it
    model = DIKMeans(2, preprocessing="unit-norm", random_state=0, search=Search(n_swaps=0)).fit(X)
    page = Page(chromium, write_report(tmp_path / "r.html", model, unlabeled(X)))
    page.js("setTheme('light')")
    for look in ("original", "compared"):
        page.js("setLook(arguments[0])", look)
        assert "below zero" in page.one(".legend.signs").text
        drawn = shows(page, ".card[data-cluster='0'] .model canvas")
        reds, blues = drawn[..., 0] - drawn[..., 2], drawn[..., 2] - drawn[..., 0]
        assert reds.max() > 80
        assert blues.max() > 60


def saved(page, button, name):
    """The records of a table that a button saves."""
    for old in page.driver.downloads.iterdir():
        old.unlink()
    page.one(button).click()
    file = page.driver.downloads / name
    wait_for(file.exists)
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_each_cluster_saves_the_list_of_its_files(page, colored):
    _, model, images, _ = colored
    for k in range(2):
        page.go(f"cluster-{k}")
        records = saved(page, "#save-cluster", f"cluster-{k}.csv")
        members = np.flatnonzero(model.labels_ == k)
        assert [record["file"] for record in records] == [images.names[i] for i in members]
        np.testing.assert_allclose(
            [float(record["cost"]) for record in records],
            model.assignment_.costs[members],
            rtol=1e-4,
        )
        np.testing.assert_allclose(
            [float(record["margin"]) for record in records],
            model.assignment_.margins[members],
            rtol=1e-4,
        )
        assert {record["folder"] for record in records} <= {"zero", "four"}


def test_doubtful_pictures_come_by_margin_and_odd_ones_by_cost(page, colored):
    _, model, images, _ = colored
    page.go("doubtful")
    records = saved(page, "#save-list", "doubtful.csv")
    expected = [images.names[i] for i in np.argsort(model.assignment_.margins, kind="stable")]
    assert [record["file"] for record in records] == expected
    assert len(page.all("#listed .tile")) == len(images)
    page.go("odd")
    records = saved(page, "#save-list", "odd-ones-out.csv")
    expected = [images.names[i] for i in np.argsort(-model.assignment_.costs, kind="stable")]
    assert [record["file"] for record in records] == expected
    slots = page.js(
        "return [...document.querySelectorAll('#listed .tile')].map((t) => Number(t.dataset.slot))"
    )
    assert [images.names[slot] for slot in slots] == expected


def test_lists_of_a_sampled_page_have_all_files(chromium, colored, tmp_path):
    _, model, images, originals = colored
    path = tmp_path / "sampled.html"
    options = {"originals": originals, "assignment": model.assignment_, "max_pictures": 12}
    page = Page(chromium, write_report(path, model, images, **options))
    page.go("cluster-1")
    assert len(page.all("#members .tile")) < 12
    records = saved(page, "#save-cluster", "cluster-1.csv")
    expected = [images.names[i] for i in np.flatnonzero(model.labels_ == 1)]
    assert [record["file"] for record in records] == expected


def test_a_picture_is_found_by_its_file_name(page, colored):
    page.one("#find").send_keys("FOUR-07")
    wait_for(lambda: page.js("return MAIN.className") == "search")
    wait_for(lambda: len(page.all("#listed .tile")) == 1)
    assert page.one("#listed .tile").get_attribute("title") == "four/four-07.png"
    page.one("#listed .tile").click()
    wait_for(lambda: page.js("return MAIN.className") == "picture")
    assert page.one("h1").text == "four/four-07.png"


def test_every_tile_is_drawn_when_the_page_is_printed(page):
    page.go("odd")
    page.js("dispatchEvent(new Event('beforeprint'))")
    blank = page.js(
        "const isBlank = (canvas) => { const copy = document.createElement('canvas');"
        "copy.width = canvas.width; copy.height = canvas.height;"
        "const context = copy.getContext('2d', {willReadFrequently: true});"
        "context.drawImage(canvas, 0, 0);"
        "return new Set(context.getImageData(0, 0, copy.width, copy.height).data).size < 4; };"
        "return [...document.querySelectorAll('#listed .tile > canvas')].filter(isBlank).length"
    )
    assert blank == 0
    page.js("dispatchEvent(new Event('afterprint'))")


def test_the_map_can_be_enlarged_and_still_knows_what_is_where(page, colored):
    from selenium.webdriver.common.action_chains import ActionChains

    page.go("map")
    canvas = page.one("#map-canvas")
    for _ in range(3):
        page.one("#zoom-in").click()
    assert page.js("return view.zoom") == pytest.approx(1.6**3)
    page.one("#zoom-all").click()
    page.js("arguments[0].scrollIntoView({block: 'center'})", canvas)
    page.js(  # a picture that the wheel turns above stays where it is
        "const canvas = arguments[0], box = canvas.getBoundingClientRect(), w = box.width;"
        "const [x, y] = [0, 1].map((a) => MARGIN + POSITIONS[14 + a] * (w - 2 * MARGIN));"
        "const at = { clientX: box.left + x, clientY: box.top + y, deltaY: -300, ctrlKey: true };"
        "canvas.dispatchEvent(new WheelEvent('wheel', { ...at, cancelable: true }))",
        canvas,
    )
    assert page.js("return view.zoom") > 3
    side = canvas.size["width"]
    places = page.js(
        "const [w, m] = [arguments[0], MARGIN]; return ALL_SLOTS.map((s) =>"
        "[0, 1].map((a) => m + (POSITIONS[2 * s + a] - [view.x, view.y][a]) * view.zoom"
        " * (w - 2 * m)))",
        side,
    )
    x, y = places[7]
    assert 0 < x < side
    assert 0 < y < side
    ActionChains(page.driver).move_to_element_with_offset(
        canvas, int(x - side / 2), int(y - side / 2)
    ).perform()
    named = page.one("#tip b").text
    distances = np.hypot(*(np.array(places) - [x, y]).T)
    assert named in {colored[2].names[i] for i in np.flatnonzero(distances < 3)}
    page.js("document.getElementById('zoom-all').click()")
    assert page.js("return view.zoom") == 1


@pytest.mark.parametrize("width", [390, 720, 1040])
def test_nothing_scrolls_sideways_on_small_screens(page, width):
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for view in VIEWS:
        page.go(view)
        assert page.js("return document.documentElement.scrollWidth") <= width, view
    touch = page.js("return getComputedStyle(document.getElementById('map-canvas')).touchAction")
    assert "none" not in touch  # a finger on the map scrolls the page
    page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_alike_clusters_are_shown_with_the_warp_between_them(page):
    page.go("alike")
    assert len(page.all(".candidate")) == 1  # of two clusters there is one pair
    assert len(page.all(".candidate .mesh polyline")) > 10
    for way, selector in (("arrows", "polyline"), ("growth", "rect")):
        page.js(
            "const way = document.getElementById('deformation'); way.value = arguments[0];"
            "way.dispatchEvent(new Event('change'))",
            way,
        )
        assert len(page.all(f".candidate .mesh {selector}")) > 5
    page.js("state.deformation = 'lines'")


def test_words_are_explained_where_they_stand(page):
    page.go("overview")
    page.one(".figure .why").click()
    wait_for(lambda: page.js("return document.getElementById('keys').open"))
    assert "0 % is a perfect fit" in page.one("#glossary dd.asked").text
    page.one("#keys-close").click()
    text = page.js("return document.body.innerText")
    assert not any(word in text for word in ("cohesion", "energy", "tps"))


def test_folders_are_called_folders_and_the_majority_is_named(page, colored):
    _, model, images, _ = colored
    page.go("overview")
    for k in range(2):
        counts = np.bincount(images.labels[model.labels_ == k])
        name = images.class_names[counts.argmax()]
        share = f"{100 * counts.max() / counts.sum():.0f}"
        chip = page.one(f".card[data-cluster='{k}'] .chip").text
        assert chip.replace("\u202f", " ") == f"{share} % folder {name}"


def test_originals_that_cannot_be_shown_are_named_in_the_page(chromium, colored, tmp_path):
    _, model, images, _ = colored
    originals = ArrayOriginals(images.images, {3: "has changed since the fit"})
    path = tmp_path / "r.html"
    options = {"originals": originals, "assignment": model.assignment_}
    page = Page(chromium, write_report(path, model, images, **options))
    assert "1 original of 40 could not be shown" in page.one("#problem-note").text
    page.one("#problem-note summary").click()
    assert f"{images.names[3]} has changed since the fit" in page.one("#problem-note").text


def test_sounds_can_be_heard(chromium, digits_by_class, tmp_path):
    X = digits_by_class[:2, :6].reshape(-1, 28, 28)
    names = tuple(f"call-{i}.wav" for i in range(12))
    for name in names:
        wavfile.write(tmp_path / name, 8000, np.zeros(4000, np.int16))
    images = unlabeled(X)
    images = type(images)(X, None, (), names, images.card)
    model = DIKMeans(2, random_state=0, search=Search(n_swaps=0)).fit(X)
    originals = find_originals(images, ImageSource(str(tmp_path)))
    page = Page(chromium, write_report(tmp_path / "r.html", model, images, originals=originals))
    page.go("cluster-0")
    assert len(page.all("#members .listen")) == (model.labels_ == 0).sum()
    page.all("#members .listen")[0].click()
    page.go("picture-2")
    duration = wait_for(
        lambda: page.js(
            "const audio = document.querySelector('audio'); audio.preload = 'auto';"
            "return audio.readyState > 0 ? audio.duration : 0"
        )
    )
    assert duration == pytest.approx(0.5, abs=0.05)
    assert page.complaints() == []


def test_links_to_files_are_there_only_if_asked_for(chromium, colored, tmp_path):
    path, model, images, originals = colored
    assert str(path.parent) not in json.dumps(Page(chromium, path).js("return DATA.links"))
    options = {"originals": originals, "assignment": model.assignment_, "links": True}
    page = Page(chromium, write_report(tmp_path / "r.html", model, images, **options))
    page.go("picture-3")
    link = page.js("return [...document.querySelectorAll('a')].map((a) => a.href)")
    assert (path.parent / images.names[3]).as_uri() in link


def test_no_request_leaves_the_page(page):
    for view in VIEWS:
        page.go(view)
    requests = page.requests()
    assert requests
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
