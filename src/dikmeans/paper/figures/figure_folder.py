"""A folder of figures, with a file ``figures.json`` that says what made each.

A figure is written completely or not at all, and identified by its parameters: one that exists is
not made again.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dikmeans._typing import JSON, PathLike
from dikmeans.io.atomic import atomic_write
from dikmeans.paper.errors import ReproductionFileError
from dikmeans.paper.protocol.run_record import current_versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INDEX_FILE = "figures.json"
FORMAT = "dikmeans-figures-1"


class FigureFolder:
    """Figures on disk.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    formats : sequence of {"png", "pdf", "svg"}
    dpi : int
        Dots per inch of a PNG.

    Raises
    ------
    ReproductionFileError
        The folder has a ``figures.json`` that was written by something else.
    OSError
        The folder cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     FigureFolder(folder).has("time", {"seed": 0})
    False
    """

    def __init__(self, folder: PathLike, formats: Sequence[str] = ("png",), dpi: int = 110):
        self.folder = Path(folder)
        self.formats = tuple(dict.fromkeys(formats))
        self.dpi = dpi
        self._write_index(
            self._entries()
        )  # a folder that cannot be written is found before the work

    def files(self, name: str) -> list[Path]:
        """Return the files of a figure."""
        return [self.folder / f"{name}.{format_}" for format_ in self.formats]

    def has(self, name: str, parameters: JSON) -> bool:
        """Return whether a figure with these parameters exists, in all formats."""
        entry = self._entries().get(name)
        return (
            entry is not None
            and entry["parameters"] == _through_json(parameters)
            and entry["dpi"] == self.dpi
            and all(path.is_file() for path in self.files(name))
        )

    def write(
        self, name: str, figure: Figure, *, parameters: JSON, caption: str, facts: JSON
    ) -> None:
        """Write a figure, then its entry in ``figures.json``.

        Parameters
        ----------
        name : str
        figure : matplotlib.figure.Figure
        parameters : dict
            What identifies the figure.
        caption : str
        facts : dict
            Results: sizes, seconds, accuracies.
        """
        for format_, path in zip(self.formats, self.files(name), strict=True):
            with atomic_write(path) as stream:
                if format_ == "png":
                    self._write_png(figure, stream)
                else:
                    figure.savefig(stream, format=format_)
        entry = {
            "files": [path.name for path in self.files(name)],
            "caption": caption,
            "parameters": parameters,
            "facts": facts,
            "dpi": self.dpi,
            "versions": current_versions(),
        }
        self._write_index({**self._entries(), name: _through_json(entry)})

    def _write_png(self, figure: Figure, stream: IO[bytes]) -> None:
        """Write a PNG of 256 colors, which looks the same and takes half the space or less."""
        from PIL import Image  # a dependency of matplotlib

        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=self.dpi)
        with Image.open(buffer) as image:
            reduced = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
            reduced.save(stream, format="png", optimize=True, dpi=(self.dpi, self.dpi))

    def _entries(self) -> JSON:
        path = self.folder / INDEX_FILE
        if not path.exists():
            return {}
        try:
            content = json.loads(path.read_bytes())
            entries = content["figures"]
            if content["format"] != FORMAT or not isinstance(entries, dict):
                raise ValueError(content["format"])
        except (ValueError, KeyError, TypeError) as error:
            raise ReproductionFileError(
                path,
                "was not written by this command, and is left alone. Move it away, or name another "
                "output folder.",
            ) from error
        return entries

    def _write_index(self, entries: JSON) -> None:
        content = {"format": FORMAT, "figures": dict(sorted(entries.items()))}
        with atomic_write(self.folder / INDEX_FILE) as stream:
            stream.write((json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())


def _through_json(value: Any) -> Any:
    """Return a value as it will be read back: lists for tuples, plain numbers for NumPy's."""
    return json.loads(json.dumps(value, default=lambda number: number.tolist()))
