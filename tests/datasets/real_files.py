"""Where the real data sets are on this machine, if they are."""

from __future__ import annotations

import os
from pathlib import Path

_REPOSITORY = Path(__file__).resolve().parents[2]


def _real_home() -> Path | None:
    places = (os.environ.get("DIKMEANS_DATA"), _REPOSITORY.parent / "shared" / "data")
    return next((Path(place) for place in places if place and Path(place).is_dir()), None)


# Looked up once, before the tests hide the user's environment from the code they test.
REAL_HOME = _real_home()


def has_real(folder: str) -> bool:
    return REAL_HOME is not None and (REAL_HOME / folder).is_dir()
