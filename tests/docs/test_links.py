"""Links between pages lead somewhere, and every page can be reached."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import (
    DOCS,
    ROOT,
    anchors,
    is_generated,
    links,
    page_name,
    pages,
    toctree_entries,
)

EXTERNAL = re.compile(r"[a-z]+:")
EXAMPLES = {
    DOCS / "gallery": ROOT / "examples/gallery",
    DOCS / "tutorials/worked": ROOT / "examples/tutorials",
}


def exists(target: Path) -> bool:
    """Whether a file is there, or an example that `make docs` makes it from."""
    for made, source in EXAMPLES.items():
        if target.is_relative_to(made):
            example = source / target.relative_to(made).with_suffix(".py")
            return target.stem == "index" or example.exists()
    return target.exists() or is_generated(target)


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_links_of_a_page_lead_to_files_and_headings(page):
    broken = []
    for address in links(page):
        if EXTERNAL.match(address):
            continue
        path, _, anchor = address.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not exists(target) or (
            anchor and target.suffix == ".md" and anchor not in anchors(target)
        ):
            broken.append(address)
    assert not broken, f"{page_name(page)}: {broken}"


def test_every_page_of_the_site_is_in_a_table_of_contents():
    named = {DOCS / "index.md"}
    for page in pages():
        for entry in toctree_entries(page):
            target = (page.parent / entry).resolve()
            assert exists(target.with_name(target.name + ".md")) or exists(
                target.with_name(target.name + ".rst")
            ), f"{page_name(page)} lists {entry}, which is not there"
            named.add(target.with_name(target.name + ".md"))
    forgotten = [
        page_name(page) for page in pages() if page.is_relative_to(DOCS) and page not in named
    ]
    assert not forgotten


def test_links_of_examples_lead_to_pages():
    broken = []
    for made, source in EXAMPLES.items():
        for example in sorted(source.rglob("*.py")):
            place = made / example.relative_to(source).parent
            for address in re.findall(r"<([^<>\s]+\.html)>", example.read_text()):
                target = (place / address).resolve()
                if not any(exists(target.with_suffix(kind)) for kind in (".md", ".rst")):
                    broken.append(f"{example.name}: {address}")
    assert not broken
