"""What tests of the report share: the data inside a page."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np


def embedded_data(path: Path) -> dict[str, Any]:
    """The JSON that a report embeds."""
    page = path.read_text("utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


def unpacked(text: str, kind: str) -> np.ndarray:
    """An array as the page embeds it."""
    return np.frombuffer(base64.b64decode(text), kind)
