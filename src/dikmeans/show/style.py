"""What all figures share."""

from __future__ import annotations

from typing import Any


def require_pyplot() -> Any:
    """Pyplot of matplotlib, or a word on how to get it."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install 'dikmeans[plot]'.") from error
    return pyplot
