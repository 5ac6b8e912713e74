"""The check of the built site notices what is wrong with it."""

from __future__ import annotations

import importlib.util

import pytest

from tests.docs.pages import ROOT


@pytest.fixture(scope="module")
def check_site():
    spec = importlib.util.spec_from_file_location("check_site", ROOT / "tools/check_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WHOLE = '<h1 id="top-of-it">A</h1><a href="b.html#there">b</a> <a href="https://example.org">c</a>'


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        (WHOLE, None),
        ('<a href="c.html">c</a>', "c.html"),
        ('<a href="b.html#nowhere">b</a>', "#nowhere"),
        ('<img src="missing.png">', "missing.png"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "loads //example.org/x.css"),
        ("<style>@import 'https://example.org/x.css'</style>", "style"),
    ],
)
def test_broken_links_and_foreign_resources_are_named(
    check_site, tmp_path, capsys, page, complaint
):
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text('<p id="there">here</p>')
    assert check_site.main(tmp_path) == (complaint is not None)
    assert (complaint or "2 pages") in capsys.readouterr().out


def test_a_site_without_pages_is_no_site(check_site, tmp_path):
    assert check_site.main(tmp_path) == 1
