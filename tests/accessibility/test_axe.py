"""axe-core finds nothing to complain about in any view, light or dark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.npm_packages import npm_folder
from tests.report.report_pages import Page as ReportPage
from tests.report.report_pages import wait_for
from tests.studio.test_in_browser import Page as StudioPage

pytestmark = pytest.mark.slow

CHECK = """
const done = arguments[arguments.length - 1];
axe.run(document, { resultTypes: ["violations"] }).then((result) => done(
  result.violations.map((v) => [v.id, ...v.nodes.slice(0, 3).map((n) => n.target.join(" "))])),
  (error) => done([String(error)]));
"""


@pytest.fixture(scope="module")
def axe() -> str:
    """The source of axe-core."""
    return (npm_folder("axe-core") / "node_modules/axe-core/axe.min.js").read_text("utf-8")


def violations(driver: Any, axe: str) -> list[list[str]]:
    """What axe-core complains about in the page as it is, each with some elements."""
    driver.set_script_timeout(120)
    driver.execute_script(axe)
    return driver.execute_async_script(CHECK)


def test_axe_does_find_something_where_something_is_wrong(chromium, axe):
    chromium.get("about:blank")
    chromium.execute_script("document.body.innerHTML = '<img src=\"data:,\"><input>'")
    found = {name for name, *_ in violations(chromium, axe)}
    assert {"image-alt", "label"} <= found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_report_can_be_used_by_everyone(chromium, report, axe, theme):
    page = ReportPage(chromium, report.path)
    page.js("setTheme(arguments[0])", theme)
    found = {}
    for view in ("overview", "cluster-0", "picture-3", "doubtful", "odd", "alike", "map"):
        page.go(view)
        found[view] = violations(chromium, axe)
    page.js("openHelp('cost')")
    found["help"] = violations(chromium, axe)
    assert {view: complaints for view, complaints in found.items() if complaints} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_studio_can_be_used_by_everyone(chromium, run, start_program, axe, theme):
    page = StudioPage(chromium, start_program(run).address)
    if theme == "dark":
        page.js("document.getElementById('theme').click()")
    found = {}
    for view in ("overview", "cluster/c0", "doubtful", "outliers", "picture/3"):
        page.go(view)
        found[view] = violations(chromium, axe)
    for button, dialog in (("help", "keys"), ("export", "exports")):
        page.js("document.getElementById(arguments[0]).click()", button)
        wait_for(
            lambda name=dialog: page.js("return document.getElementById(arguments[0]).open", name)
        )
        found[dialog] = violations(chromium, axe)
        page.js("document.getElementById(arguments[0]).close()", dialog)
    assert {view: complaints for view, complaints in found.items() if complaints} == {}
