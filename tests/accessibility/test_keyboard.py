"""The report by keyboard alone, and without motion for those who do not want it."""

from __future__ import annotations

import pytest

from tests.report.report_pages import Page, wait_for

TAB, ENTER, ESCAPE, RIGHT = "\ue004", "\ue007", "\ue00c", "\ue014"
FOCUSED = "const e = document.activeElement; return e.id || e.getAttribute('href') || e.tagName"


@pytest.fixture
def page(chromium, report):
    opened = Page(chromium, report.path)
    yield opened
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert opened.complaints() == []


def test_the_first_tab_leads_past_the_menu(page):
    page.js("document.activeElement.blur(); getSelection().removeAllRanges()")
    page.js("document.getElementById('skip').focus()")  # where Tab leads from the top of a page
    skip = page.js("return document.getElementById('skip').getBoundingClientRect().left")
    assert skip >= 0  # seen once it has the focus
    page.press(ENTER)
    assert page.js(FOCUSED) == "main"
    assert page.js("return parseHash().view") == "overview"


def test_tab_leads_through_the_menu_and_the_tools_in_their_order(page):
    page.js("document.getElementById('skip').focus()")
    order = []
    for _ in range(12):
        page.press(TAB)
        order.append(page.js(FOCUSED))
    links = ["#overview", "nav-cluster", "#doubtful", "#odd", "#alike", "#map"]
    assert order == ["brand", *links, "find", "look", "ink", "theme", "help"]
    outlined = page.js("return getComputedStyle(document.activeElement).outlineStyle")
    assert outlined != "none"


def test_from_the_overview_to_why_a_picture_is_here_and_back(page):
    page.js("document.querySelector('.card').focus()")
    page.press(RIGHT)
    assert page.js("return document.activeElement.dataset.cluster") == "1"
    page.press(ENTER)
    wait_for(lambda: page.js("return shownHash === '#cluster-1'"))
    page.js("document.querySelector('#members .tile').focus()")
    page.press(RIGHT, ENTER)
    wait_for(lambda: page.js("return shownHash.startsWith('#picture-')"))
    assert "cost" in page.one(".lead").text
    page.press(ESCAPE)
    wait_for(lambda: page.js("return shownHash === '#cluster-1'"))
    page.press(ESCAPE)
    wait_for(lambda: page.js("return shownHash === '#overview'"))


def test_words_are_explained_in_a_dialog_that_escape_closes(page):
    page.press("?")
    assert page.js("return document.getElementById('keys').open")
    page.press(ESCAPE)
    wait_for(lambda: not page.js("return document.getElementById('keys').open"))


def test_nothing_moves_by_itself_for_those_who_want_less_motion(page, chromium):
    reduce = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": reduce})
    page.go("cluster-0")
    moved = "playCurrent(); return Number(document.getElementById('align').value)"
    assert page.js(moved) == 1  # at once
    styles = "return getComputedStyle(document.querySelector('.strip a')).transitionDuration"
    assert page.js(styles) in ("0s", "")
