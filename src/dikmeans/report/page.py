"""The page: template, style, scripts and data, put together into one file that may load nothing else.

A content security policy in the page forbids every request, and every script and style but the two that are
named by their hash. The data are JSON in which `<` is written as an escape, so that no name of a file,
whatever it contains, can end the element it stands in.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

# In this order: later ones use what earlier ones define.
SCRIPTS = (
    "data.js",
    "warp.js",
    "paint.js",
    "parts.js",
    "overview.js",
    "cluster.js",
    "picture.js",
    "map.js",
    "main.js",
)


def build_page(payload: dict[str, Any]) -> str:
    """The whole HTML file."""
    assets = files(__package__) / "assets"
    style = (assets / "report.css").read_text("utf-8")
    script = "\n".join((assets / name).read_text("utf-8") for name in SCRIPTS)
    policy = (
        "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    )
    data = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # surrogates stand for bytes of file names that are no text; a page can only hold text
    data = data.encode("utf-8", "replace").decode().replace("<", "\\u003c")
    page = (assets / "report.html").read_text("utf-8")
    parts = {
        "policy": policy,
        "title": html.escape(payload["title"]),
        "style": style,
        "script": script,
    }
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text, 1)
    return page.replace("<!--data-->", data, 1)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
