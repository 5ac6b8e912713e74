"""Whether a version may be released: all files name it. ``check_release.py VERSION [ROOT]``."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def problems(version: str, root: Path) -> list[str]:
    """What speaks against a release of `version`."""
    found = []
    named = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    if named != version:
        found.append(f"pyproject.toml has version {named}, not {version}.")
    citation = (root / "CITATION.cff").read_text("utf-8")
    if not re.search(rf"^version: {re.escape(version)}$", citation, re.M):
        found.append(f"CITATION.cff does not have version {version}.")
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\]", changes, re.M):
        found.append(f"CHANGELOG.md has no section for {version}.")
    return found


if __name__ == "__main__":
    root = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).parents[1]
    found = problems(sys.argv[1], root)
    print("\n".join(found) or f"{sys.argv[1]} may be released.")
    sys.exit(bool(found))
