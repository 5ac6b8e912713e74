"""A folder of figures, with a file beside them that says what made each.

A figure is there whole or not at all, and known by its parameters: what is there already is not made again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from dikmeans.io.atomic import atomic_write
from dikmeans.paper.record import current_versions
from dikmeans.paper.figures.errors import ReproductionError

SIDECAR = "figures.json"
FORMAT = "dikmeans-figures-1"
FORMATS = ("png", "pdf", "svg")


class Gallery:
    """Figures on disk.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    formats : sequence of {"png", "pdf", "svg"}
    dpi : int
        Dots per inch of a PNG.

    Raises
    ------
    ReproductionError
        The folder has a ``figures.json`` that is none of ours.
    OSError
        The folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Gallery(folder).has("time", {"seed": 0})
    False
    """

    def __init__(self, folder: Any, formats: Sequence[str] = ("png",), dpi: int = 110):
        self.folder = Path(folder)
        self.formats = tuple(dict.fromkeys(formats))
        self.dpi = dpi
        self._write_sidecar(self._entries())  # whether it can be written is better known before the work

    def files(self, name: str) -> list[Path]:
        """Where a figure goes."""
        return [self.folder / f"{name}.{ending}" for ending in self.formats]

    def has(self, name: str, parameters: dict[str, Any]) -> bool:
        """Whether a figure with these parameters is there, in all formats."""
        entry = self._entries().get(name)
        return (
            entry is not None
            and entry["parameters"] == _through_json(parameters)
            and entry["dpi"] == self.dpi
            and all(path.is_file() for path in self.files(name))
        )

    def keep(
        self, name: str, figure: Any, *, parameters: dict[str, Any], caption: str, facts: dict[str, Any]
    ) -> None:
        """Write a figure, then the word on what made it.

        Parameters
        ----------
        name : str
        figure : matplotlib.figure.Figure
        parameters : dict
            What makes two figures the same.
        caption : str
        facts : dict
            What came out: sizes, seconds, accuracies.
        """
        for ending, path in zip(self.formats, self.files(name), strict=True):
            with atomic_write(path) as stream:
                if ending == "png":
                    self._save_small(figure, stream)
                else:
                    figure.savefig(stream, format=ending)
        entry = {
            "files": [path.name for path in self.files(name)],
            "caption": caption,
            "parameters": parameters,
            "facts": facts,
            "dpi": self.dpi,
            "versions": current_versions(),
        }
        self._write_sidecar({**self._entries(), name: _through_json(entry)})

    def _save_small(self, figure: Any, stream: IO[bytes]) -> None:
        """Write a PNG of 256 colours, which looks the same and takes half the room or less."""
        from PIL import Image  # matplotlib brings it along

        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=self.dpi)
        with Image.open(drawn) as picture:
            few = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
            few.save(stream, format="png", optimize=True, dpi=(self.dpi, self.dpi))

    def _entries(self) -> dict[str, Any]:
        path = self.folder / SIDECAR
        if not path.exists():
            return {}
        try:
            content = json.loads(path.read_bytes())
            if content["format"] != FORMAT or not isinstance(content["figures"], dict):
                raise ValueError(content["format"])
        except (ValueError, KeyError, TypeError) as error:
            raise ReproductionError(
                f"{path} was not written by this command, and is left alone. Move it away, or name another "
                "output folder."
            ) from error
        return content["figures"]

    def _write_sidecar(self, entries: dict[str, Any]) -> None:
        content = {"format": FORMAT, "figures": dict(sorted(entries.items()))}
        with atomic_write(self.folder / SIDECAR) as stream:
            stream.write((json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def _through_json(value: Any) -> Any:
    """As it will be read back: lists for tuples, plain numbers for NumPy's."""
    return json.loads(json.dumps(value, default=lambda number: number.tolist()))
