"""The page: template, style, scripts and data in one file that loads nothing else.

A content security policy in the page forbids every request, and every script and style except the
two that it names by their hash. The data are JSON in which `<` is escaped, so that no file name,
whatever it contains, can end the element that holds it.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files

from dikmeans._typing import JSON

# In this order: a script uses what those before it define.
SCRIPTS = (
    "elements.js",
    "data.js",
    "warp.js",
    "paint.js",
    "parts.js",
    "likeness.js",
    "overview.js",
    "cluster.js",
    "picture.js",
    "lists.js",
    "map.js",
    "main.js",
)


def build_page(payload: JSON, *, embedded: bool = False) -> str:
    """The whole HTML file; `embedded` in another page, which has its own menu, it shows none."""
    assets = files(__package__) / "assets"
    style = (assets / "report.css").read_text("utf-8")
    script = "\n".join((assets / name).read_text("utf-8") for name in SCRIPTS)
    policy = (
        "default-src 'none'; img-src data:; media-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    data = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # file names may contain bytes that are not text, as surrogates; a page can only hold text
    data = data.encode("utf-8", "replace").decode().replace("<", "\\u003c")
    page = (assets / "report.html").read_text("utf-8")
    parts = {
        "policy": policy,
        "title": html.escape(payload["title"]),
        "style": style,
        "script": script,
    }
    if embedded:
        page = page.replace("<html", "<html data-embedded", 1)
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text, 1)
    return page.replace("<!--data-->", data, 1)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
