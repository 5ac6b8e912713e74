"""Look into tensor files, and change them in ways that a checksum cannot detect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import safe_open
from safetensors.numpy import load_file

from dikmeans._typing import Array
from dikmeans.io.tensor_file import write_tensor_file


def header_of(path: Path) -> dict[str, Any]:
    """The JSON header."""
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["dikmeans"])


def rewrite(path: Path, tensors: dict[str, Array] | None = None, **changes: Any) -> None:
    """Write the same file with other tensors, or other entries in the header."""
    header = {**header_of(path), **changes}
    kind, version = header.pop("format"), header.pop("version")
    write_tensor_file(path, kind, version, header, tensors or load_file(path))
