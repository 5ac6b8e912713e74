"""Check the built documentation: nothing is loaded from elsewhere, no link within it is broken.

    python tools/check_site.py docs/_build/html

Ends with a list of what is wrong, and exit code 1, if anything is. Called by `make docs`.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a browser fetches by itself, by tag and attribute; a link (`a href`) it does not.
LOADED = {
    *(("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src"), ("video", "src")),
    *(("audio", "src"), ("embed", "src"), ("object", "data"), ("link", "href")),
}
# Relations of <link> that fetch nothing.
NAMED_ONLY = {"canonical", "next", "prev", "search", "index", "author", "copyright", "top", "up"}
IN_STYLES = re.compile(r"(?:url\(|@import)\s*['\"]?(https?:)?//", re.IGNORECASE)


class Page(HTMLParser):
    """What a page loads, what it links to, and which places in it can be linked to."""

    def __init__(self, path: Path):
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.places = {"", "top"}  # which every page has
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Note addresses and places."""
        found = {name: value or "" for name, value in attributes}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if NAMED_ONLY.isdisjoint(found.get("rel", "").split()):
            self.loaded += [found[name] for of, name in LOADED if of == tag and name in found]


@cache
def read(path: Path) -> Page:
    """A page; each is read once."""
    return Page(path)


def problems_of(path: Path, root: Path) -> list[str]:
    """What is wrong with a page."""
    page = read(path)
    problems = [f"loads {address}" for address in page.loaded if urlsplit(address).netloc]
    if IN_STYLES.search(path.read_text()):
        problems.append("has a style that loads something from elsewhere")
    for address in (*page.loaded, *page.links):
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.is_file():
            problems.append(f"leads to {address}, which is not there")
        elif target.suffix == ".html" and unquote(parts.fragment) not in read(target).places:
            problems.append(f"leads to {address}, but there is no such place on that page")
    return [f"{path.relative_to(root)} {problem}" for problem in dict.fromkeys(problems)]


def main(root: Path) -> int:
    """Print what is wrong with a site, and return the exit code."""
    root = root.resolve()
    # the theme keeps templates among its styles
    pages = [page for page in sorted(root.rglob("*.html")) if "_static" not in page.parts]
    problems = [problem for page in pages for problem in problems_of(page, root)]
    problems += [
        f"{style.relative_to(root)} loads something from elsewhere"
        for style in sorted(root.rglob("*.css"))
        if IN_STYLES.search(style.read_text())
    ]
    print(
        "\n".join(problems) or f"{len(pages)} pages: complete, and loading nothing from elsewhere"
    )
    return int(bool(problems) or not pages)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
