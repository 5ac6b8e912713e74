"""The pages that people read, taken apart: code blocks, links, headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# what `make docs` makes
GENERATED = (DOCS / "_build", DOCS / "gallery", DOCS / "tutorials/worked", DOCS / "reference/api")
GENERATED_PAGES = {DOCS / "reference/command-line.md"}
MARKDOWN = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A code block: what its fence calls it ("" if it is indented), and its first line."""

    page: str
    line: int
    language: str
    text: str


def pages() -> list[Path]:
    """All pages that were written by hand."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
    return [page for page in found if page not in GENERATED_PAGES and not is_generated(page)]


def is_generated(path: Path) -> bool:
    """Whether `make docs` makes it."""
    return path in GENERATED_PAGES or any(path.is_relative_to(folder) for folder in GENERATED)


def page_name(page: Path) -> str:
    """How tests call a page."""
    return page.relative_to(ROOT).as_posix()


def tokens(page: Path) -> list[Token]:
    """A page as markdown-it sees it; front matter is left out."""
    text = re.sub(
        r"\A---\n.*?\n---\n",
        lambda front: "\n" * front[0].count("\n"),
        page.read_text(),
        flags=re.S,
    )
    return MARKDOWN.parse(text)


def code_blocks(page: Path) -> list[Block]:
    """The code blocks of a page, in their order; directives are none."""
    return [
        Block(page_name(page), (token.map or [0])[0] + 1, language, token.content)
        for token in tokens(page)
        if token.type in ("fence", "code_block")
        and not (language := token.info.strip()).startswith("{")
    ]


def inline_tokens(page: Path) -> Iterator[Token]:
    """What stands in the paragraphs, cells and headings of a page."""
    for token in tokens(page):
        yield from token.children or ()


def links(page: Path) -> list[str]:
    """Addresses of the links and images of a page."""
    addresses = (token.attrs.get("href") or token.attrs.get("src") for token in inline_tokens(page))
    return [str(address) for address in addresses if address]


def toctree_entries(page: Path) -> list[str]:
    """Pages that the tables of contents of a page name."""
    return [
        entry
        for token in tokens(page)
        if token.type == "fence" and token.info.startswith("{toctree}")
        for entry in token.content.split("\n")
        if entry and not entry.startswith(":")
    ]


def anchors(page: Path) -> set[str]:
    """Addresses of the headings of a page, as GitHub and MyST make them."""
    every = tokens(page)
    headings = [
        every[number + 1].content
        for number, token in enumerate(every)
        if token.type == "heading_open"
    ]
    return {slug(heading) for heading in headings}


def slug(heading: str) -> str:
    """The address of a heading.

    Examples
    --------
    >>> slug("Which K? `n_clusters`, and so on")
    'which-k-n_clusters-and-so-on'
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
