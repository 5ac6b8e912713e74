"""Warnings of gallery examples, without the place in a file of the machine that builds."""

from __future__ import annotations

import warnings
from typing import Any


def _kind_and_message(message: Warning | str, category: type[Warning], *_: Any) -> str:
    return f"{category.__name__}: {message}\n"


def show_warnings_plainly(gallery_conf: dict[str, Any], file: str) -> None:
    """Called by sphinx-gallery before an example."""
    warnings.formatwarning = _kind_and_message
