"""Look into the files of the rivals, and tamper with them."""

from __future__ import annotations

import json
from typing import Any

from safetensors import safe_open
from safetensors.numpy import load_file, save_file


def header_of(path: Any) -> dict[str, Any]:
    """The JSON header."""
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["dikmeans"])


def rewrite(path: Any, tensors: Any = None, **changes: Any) -> None:
    """The same file with other tensors, or other entries in the header."""
    header = {**header_of(path), **changes}
    save_file(tensors or load_file(path), path, metadata={"dikmeans": json.dumps(header)})
