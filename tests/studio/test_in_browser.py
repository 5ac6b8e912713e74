"""Whole stories in a real Chromium, with the studio as a program of its own."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from dikmeans.edits import edited_state
from dikmeans.runs import open_run
from tests.report.report_pages import wait_for
from tests.studio.conftest import HOSTILE, Program


class Page:
    """The studio, open in a tab."""

    def __init__(self, driver: Any, address: str):
        self.driver = driver
        driver.get(address)
        self.tab = driver.current_window_handle
        wait_for(lambda: self.js("return document.documentElement.dataset.ready === ''"))

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def go(self, fragment: str, marker: str = "h1") -> None:
        self.js("location.hash = arguments[0]", fragment)
        wait_for(lambda: self.js("return shownHash === '#' + arguments[0]", fragment))
        wait_for(lambda: self.all(f"main {marker}"))

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def one(self, selector: str) -> Any:
        return wait_for(lambda: self.all(selector))[0]

    def click(self, selector: str) -> None:
        element = self.one(selector)
        self.js("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def chord(self, modifier: str, key: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.driver).key_down(modifier).send_keys(key).key_up(modifier).perform()

    @property
    def state(self) -> dict[str, Any]:
        return self.js("return STATE")

    def sizes(self) -> dict[str, int]:
        return {cluster["id"]: cluster["size"] for cluster in self.state["clusters"]}

    def edits(self, n: int) -> None:
        """Wait until the page knows of `n` edits."""
        wait_for(lambda: self.state["nEdits"] == n)

    def numbers(self) -> list[int]:
        """The pictures in view."""
        wait_for(lambda: self.all("#members .tile"))
        script = (
            "return [...document.querySelectorAll('#members .tile')]"
            ".sort((a, b) => a.dataset.place - b.dataset.place)"
            ".map((tile) => Number(tile.dataset.number))"
        )
        return self.js(script)

    def complaints(self) -> list[str]:
        levels = ("SEVERE", "WARNING")
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] in levels]


@pytest.fixture
def program(start_program: Callable[[Path], Program], run: Path) -> Program:
    return start_program(run)


@pytest.fixture
def page(chromium: Any, program: Program) -> Any:
    chromium.get_log("browser")
    opened = Page(chromium, program.address)
    yield opened
    assert opened.complaints() == []
    chromium.get("about:blank")


def on_disk(run: Path) -> Any:
    """The edited state as anyone else would read it."""
    return edited_state(open_run(run))


def rename(page: Page, name: str) -> None:
    from selenium.webdriver.common.keys import Keys

    page.press(Keys.F2)
    page.one("input.rename").send_keys(name, Keys.ENTER)


def test_the_page_opens_asks_only_the_studio_and_forgets_the_token(page, program):
    assert page.driver.current_url.rstrip("#/") == program.origin
    assert len(page.all(".card")) == 4
    for view in ("cluster/c0", "picture/3", "doubtful", "outliers"):
        page.go(view)
    page.driver.get_log("performance")
    page.go("cluster/c1")
    page.numbers()
    log = [json.loads(entry["message"])["message"] for entry in page.driver.get_log("performance")]
    sent = [
        m["params"]["request"]["url"] for m in log if m["method"] == "Network.requestWillBeSent"
    ]
    assert sent
    assert [url for url in sent if not url.startswith(program.origin + "/")] == []
    wait_for(
        lambda: page.js(
            "const all = [...document.querySelectorAll('#members img')].slice(0, 8);"
            "return all.length > 3 && all.every((image) => image.complete && image.naturalWidth)"
        )
    )


def test_names_of_files_stay_text(page):
    number = page.js(
        "return fetch('/api/members?group=all&limit=500').then((r) => r.json()).then("
        "(a) => a.pictures.find((p) => p.file === arguments[0]).number)",
        HOSTILE,
    )
    page.go(f"picture/{number}")
    assert page.one("main h1").text == HOSTILE
    page.js("location.hash = 'overview'")


def test_rename_merge_undo_redo(page, run):
    before = page.sizes()
    page.go("cluster/c1", "#members")
    rename(page, "<b>ones</b>")
    page.edits(1)
    assert page.one("main h1").text == "<b>ones</b>"
    assert on_disk(run).clusters[1].name == "<b>ones</b>"

    page.click("#merge")
    wait_for(lambda: page.all("#choose .choice-cluster"))
    listed = [e.get_attribute("data-cluster") for e in page.all("#choose .choice-cluster")]
    assert sorted(listed) == ["c0", "c2", "c3"]
    page.click("#choose [data-cluster='c3']")
    page.edits(2)
    assert page.sizes() == {
        "c0": before["c0"],
        "c2": before["c2"],
        "c3": before["c1"] + before["c3"],
    }
    wait_for(lambda: page.js("return location.hash") == "#cluster/c3")

    page.click("#undo")
    page.edits(1)
    assert page.sizes() == before
    page.click("#redo")
    page.edits(2)
    assert "c1" not in page.sizes()
    assert [c.id for c in on_disk(run).clusters] == ["c0", "c2", "c3"]


def test_pictures_are_selected_moved_and_rejected_by_keys(page, run):
    from selenium.webdriver.common.keys import Keys

    page.go("cluster/c0", "#members")
    numbers = page.numbers()
    page.js("document.querySelector('#members .tile').focus()")
    page.chord(Keys.SHIFT, Keys.ARROW_RIGHT)
    wait_for(lambda: "2 pictures" in page.one("#selection").text)
    page.press("x")
    page.edits(1)
    assert (on_disk(run).labels[numbers[:2]] == -1).all()
    assert page.state["nOutliers"] == 2
    wait_for(lambda: page.numbers()[0] == numbers[2])

    page.js("document.querySelector('#members .tile').click()")
    page.press("m")
    page.one("#choose input").send_keys("Cluster 2", Keys.ENTER)
    page.edits(2)
    state = on_disk(run)
    assert state.clusters[state.labels[numbers[2]]].id == "c2"
    assert state.decided[numbers[2]]

    page.chord(Keys.CONTROL, "z")
    page.edits(1)
    page.go("outliers", "#members .tile")
    assert sorted(page.numbers()) == sorted(numbers[:2])


def test_a_prototype_is_split_off_and_chosen_pictures_become_a_cluster(page, run):
    before = page.sizes()
    split = next(c["id"] for c in page.state["clusters"] if len(c["prototypes"]) > 1)
    page.go(f"cluster/{split}", "#members")
    page.click("[data-prototype='1']")
    page.edits(1)
    new = (set(page.sizes()) - set(before)).pop()
    assert page.sizes()[split] + page.sizes()[new] == before[split]

    page.go("cluster/c0" if split != "c0" else "cluster/c1", "#members .tile")
    number = page.numbers()[0]
    page.js("document.querySelector('#members .tile').click()")
    page.press("n")
    page.edits(2)
    state = on_disk(run)
    assert len(state.clusters) == 6
    assert (state.labels == state.labels[number]).sum() == 1

    # two members are right: the rest is another cluster
    page.go("cluster/c2" if split != "c2" else "cluster/c3", "#members .tile")
    right = page.numbers()[:2]
    page.js("document.querySelector('#members .tile').click()")
    page.js(
        "document.querySelectorAll('#members .tile')[1].dispatchEvent("
        "new MouseEvent('click', {bubbles: true, ctrlKey: true}))"
    )
    page.press("r")
    page.edits(4)
    before, state = state, on_disk(run)
    rest = np.setdiff1d(np.flatnonzero(before.labels == before.labels[right[0]]), right)
    assert (state.labels[right] == before.labels[right]).all()
    assert state.decided[right].all()
    assert np.flatnonzero(state.labels == len(state.clusters) - 1).tolist() == rest.tolist()


def test_pictures_are_dragged_onto_a_cluster(page, run):
    page.go("cluster/c0", "#members .tile")
    number = page.numbers()[0]
    page.js(
        "const data = new DataTransfer();"
        "const fire = (element, type) => element.dispatchEvent("
        "  new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: data}));"
        "fire(document.querySelector('#members .tile'), 'dragstart');"
        "const target = document.querySelector(\".strip [data-cluster='c3']\");"
        "fire(target, 'dragover'); fire(target, 'drop');"
    )
    page.edits(1)
    state = on_disk(run)
    assert state.clusters[state.labels[number]].id == "c3"


def test_doubtful_pictures_are_decided_by_single_keys(page, run):
    page.go("doubtful", ".decision")
    decided = []
    for n_edits, key in enumerate(("2", "x"), start=1):
        queue = page.js(
            "return queue.map((one) => [one.number, one.choices.map((c) => c.cluster)])"
        )
        number, choices = queue[0]
        decided.append((number, {"2": choices[1], "x": None}[key]))
        page.press(key)
        page.edits(n_edits)
        wait_for(lambda first=number: page.js("return queue[0]?.number") != first)
        wait_for(lambda: page.all(".decision"))
    skipped = page.js("return queue[0].number")
    page.press("s")
    wait_for(lambda: page.js("return queue[0]?.number") != skipped)
    state = on_disk(run)
    for number, cluster in decided:
        place = state.labels[number]
        assert (state.clusters[place].id if place >= 0 else None) == cluster
        assert state.decided[number]
    assert not state.decided[skipped]


def test_a_second_tab_sees_the_same_state(page, program):
    driver = page.driver
    driver.switch_to.new_window("tab")
    second = Page(driver, program.origin)
    second.go("cluster/c2", "#members")
    rename(second, "twos")
    second.edits(1)
    driver.switch_to.window(page.tab)
    page.edits(1)
    wait_for(lambda: any(card.text.startswith("twos") for card in page.all(".card")))
    driver.switch_to.window(second.tab)
    driver.close()
    driver.switch_to.window(page.tab)


def test_refit_compare_keep_and_export(page, run, chromium, tmp_path):
    page.go("cluster/c0", "#members .tile")
    number = page.numbers()[-1]
    page.js(
        "edit([{kind: 'move', pictures: [arguments[0]], to: 'c1'},"
        "{kind: 'rename', cluster: 'c1', name: 'mine'}])",
        number,
    )
    page.edits(2)
    page.click("#refit")
    wait_for(lambda: page.js("return location.hash") == "#compare", 120)
    page.one("#keep")
    assert len(page.all(".compared")) == 4
    refined = open_run(run.parent / "run-2")
    after = {e.get_attribute("data-cluster"): e.text for e in page.all(".compared")}
    for k, identity in enumerate(refined.model.cluster_ids_):
        size = (refined.model.labels_ == k).sum()
        assert f"after: {size}" in after[identity].splitlines()

    # edited while the re-fit waits to be kept: it is made in the new run, and can be undone there
    page.js("edit([{kind: 'rename', cluster: 'c2', name: 'later'}])")
    page.edits(3)
    wait_for(lambda: "1 edit made since it began" in page.one("main").text)
    page.click("#keep")
    wait_for(lambda: page.state["run"] == "run-2")
    assert [c["name"] for c in page.state["clusters"]] == [None, "mine", "later", None]
    page.click("#undo")
    page.edits(0)
    assert [c["name"] for c in page.state["clusters"]] == [None, "mine", None, None]
    assert refined.model.cluster_ids_[refined.model.labels_[number]] == "c1"
    assert len(on_disk(run).clusters) == 4  # the run it came from keeps its edits

    own = tmp_path / "own.csv"
    names = [row.file for row in refined.labels]
    lines = ["picture;year", *(f"{name};{1900 + i}" for i, name in enumerate(names[:50]))]
    own.write_text("\n".join(lines) + "\n")
    page.click("#export")
    page.one("#table").send_keys(str(own))
    wait_for(lambda: "50 pictures" in page.one("#joined").text, 60)
    page.click("#csv")
    saved = wait_for(lambda: list(chromium.downloads.glob("run-2-labels*.csv")))[0]
    rows = {row["file"]: row for row in csv.DictReader(saved.read_text().splitlines())}
    assert len(rows) == len(names)
    assert rows[names[number]]["name"] == "mine"
    assert rows[names[7]]["year"] == "1907"
    assert rows[names[60]]["year"] == ""
    saved.unlink()

    page.click("#make-folders")
    folder = run.parent / "run-2-sorted"
    wait_for(lambda: (folder / "labels.csv").exists())
    copied = {path.name for path in (folder / "mine").iterdir()}
    expected = {names[i] for i in np.flatnonzero(refined.model.labels_ == 1)}
    assert {name.replace("<", "_").replace(">", "_") for name in expected} == copied

    page.click("#make-report")
    wait_for(lambda: page.all("#report-status a"), 240)
    assert "mine" in (run.parent / "run-2" / "report.html").read_text()


def test_notes_on_clusters_and_pictures_are_written_and_kept(page, run, program):
    from selenium.webdriver.common.keys import Keys

    page.go("cluster/c1", "#note")
    page.one("#note").send_keys("<i>look</i> again", Keys.ENTER)
    page.edits(1)
    wait_for(lambda: [e.text for e in page.all(".notes li")] == ["<i>look</i> again"])
    page.go("picture/7", "#note")
    page.one("#note").send_keys("torn at the top")
    # another tab edits meanwhile: what is being typed is not lost
    page.js(
        "fetch('/api/edits', {method: 'POST', headers: {'content-type': 'application/json'},"
        "body: JSON.stringify({edits: [{kind: 'rename', cluster: 'c0', name: 'x'}]})})"
    )
    page.edits(2)
    wait_for(lambda: page.js("return byId('note')?.value") == "torn at the top")
    page.click("#add-note")
    page.edits(3)
    wait_for(lambda: [e.text for e in page.all(".notes li")] == ["torn at the top"])
    state, names = on_disk(run), open_run(run).names
    assert state.clusters[1].notes == ("<i>look</i> again",)
    assert state.notes == ((names[7], "torn at the top"),)
    page.click("#undo")
    page.edits(2)
    wait_for(lambda: page.all("#note") and not page.all(".notes li"))
    assert on_disk(run).notes == ()
    page.go("overview", ".card")
    page.click(".card[data-cluster='c1'] img")
    wait_for(lambda: [e.text for e in page.all(".notes li")] == ["<i>look</i> again"])


def test_a_refit_is_cancelled_and_a_finished_one_discarded_without_a_trace(page, run):
    page.js("post('/api/refit').then(() => cancelRefit())")  # at once: it cannot be over yet
    wait_for(lambda: (page.state["refit"] or {}).get("phase") == "cancelled", 120)
    wait_for(lambda: not page.one("#progress").is_displayed())
    assert sorted(p.name for p in run.parent.iterdir() if p.is_dir()) == ["run"]
    page.click("#refit")
    wait_for(lambda: page.state["refit"]["phase"] == "done", 120)
    page.click("#discard")
    wait_for(lambda: page.state["refit"] is None)
    assert sorted(p.name for p in run.parent.iterdir() if p.is_dir()) == ["run"]


def test_pictures_like_one_are_found(page, run):
    page.go("picture/5", "iframe")
    page.click("#similar")
    wait_for(lambda: page.all("#members .tile"))
    found = page.numbers()
    assert 5 not in found
    images = open_run(run).load_images()
    # most of the nearest ones are of the same digit, which the file names tell
    same = [images.names[n][:2] == images.names[5][:2] for n in found[:5]]
    assert np.mean(same) >= 0.6


def test_new_pictures_are_assigned_and_shown_with_their_warps(page, run, tmp_path):
    opened = open_run(run)
    images = opened.load_images()
    picture = tmp_path / "new one.png"
    Image.fromarray(np.rint(255 * images.images[9]).astype(np.uint8)).save(picture)
    page.js(
        "const input = document.createElement('input'); input.type = 'file';"
        "input.id = 'test-file'; input.onchange = () => addPictures([...input.files]);"
        "document.body.append(input);"
    )
    page.one("#test-file").send_keys(str(picture))
    tab = page.one(".choice-cluster")
    assert "new one.png" in tab.text
    expected = opened.model.cluster_ids_[opened.model.labels_[9]]
    assert f"Cluster {expected[1:]}" in tab.text
    page.driver.switch_to.frame(page.one("iframe"))
    wait_for(lambda: page.all(".candidate"))
    assert page.all(".mesh polyline")
    page.driver.switch_to.default_content()
    assert len(open_run(run).labels) == len(images)  # nothing was added


def test_a_lasso_on_the_map_selects_pictures(page):
    page.go("map", "h1, iframe")
    wait_for(lambda: page.all("iframe"), 240)
    page.driver.switch_to.frame(page.one("iframe"))
    wait_for(lambda: page.all("canvas.map"))
    page.driver.switch_to.default_content()
    frame = page.one("iframe")
    page.js(
        "const frame = arguments[0], canvas = frame.contentDocument.querySelector('canvas.map');"
        "const box = canvas.getBoundingClientRect(), window_ = frame.contentWindow;"
        "const fire = (type, x, y) => canvas.dispatchEvent(new window_.PointerEvent(type, {"
        "  clientX: box.x + x * box.width, clientY: box.y + y * box.height, bubbles: true,"
        "  pointerId: 1, pointerType: 'mouse', button: 0, buttons: 1, isPrimary: true}));"
        "canvas.setPointerCapture = () => {};"
        "fire('pointerdown', .01, .01);"
        "for (const [x, y] of [[.5, .01], [.99, .01], [.99, .5], [.99, .99], [.5, .99], [.01, .99],"
        "  [.01, .5]]) fire('pointermove', x, y);"
        "fire('pointerup', .01, .02);",
        frame,
    )
    wait_for(lambda: page.js("return selection.size") == 100)
    assert "100 pictures" in page.one("#selection").text


def test_after_a_kill_nothing_is_lost(chromium, start_program, run):
    first = start_program(run)
    page = Page(chromium, first.address)
    page.go("cluster/c0", "#members")
    rename(page, "kept")
    page.edits(1)
    page.click("#refit")
    wait_for(lambda: (page.state["refit"] or {}).get("phase") == "running")
    first.kill()
    second = start_program(run)
    again = Page(chromium, second.address)
    assert again.state["clusters"][0]["name"] == "kept"
    assert again.state["nEdits"] == 1
    again.click("#undo")
    again.edits(0)
    assert second.stop() == 0
    assert on_disk(run).clusters[0].name is None
    chromium.get("about:blank")
    chromium.get_log("browser")
