"""A page of the results: prose by hand, and blocks that commands write.

A block stands between ``<!-- results: NAME -->`` and ``<!-- end of results -->``. It has the
command, a line of provenance, and the output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results.part import Part, PartError
from benchmarks.results.provenance import Provenance
from dikmeans.io.atomic import atomic_write

_BLOCK = re.compile(
    r"<!-- results: (?P<name>[\w-]+) -->\n(?P<text>.*?)<!-- end of results -->", re.S
)


@dataclass(frozen=True)
class Block:
    """What stands between two marks.

    Attributes
    ----------
    command : str or None
    provenance : Provenance or None
        None if the part has not been made.
    output : str
    """

    command: str | None
    provenance: Provenance | None
    output: str


def blocks(page: Path) -> dict[str, Block]:
    """Return the blocks of a page by the names of their parts."""
    return {found["name"]: _parse(found["text"]) for found in _BLOCK.finditer(page.read_text())}


def write_block(page: Path, part: Part, provenance: Provenance, output: str) -> None:
    """Replace the block of a part; everything else on the page stays as it is."""
    text = f"\n    {part.command}\n\n{provenance}\n\n{output.strip()}\n\n"
    _replace(page, part.name, text)


def clear_block(page: Path, part: Part) -> None:
    """Say that a part has not been measured with the present code."""
    text = f"\n*Not measured with the present code yet:* `make results PARTS={part.name}`\n\n"
    _replace(page, part.name, text)


def _replace(page: Path, name: str, text: str) -> None:
    old = page.read_text()
    found = [block for block in _BLOCK.finditer(old) if block["name"] == name]
    if len(found) != 1:
        raise PartError(f"{page.name} has {len(found)} blocks <!-- results: {name} -->, not one.")
    start, end = found[0].span("text")
    with atomic_write(page) as stream:
        stream.write((old[:start] + text + old[end:]).encode())


def _parse(text: str) -> Block:
    lines = text.strip().splitlines()
    for i, line in enumerate(lines):
        if provenance := Provenance.parse(line):
            return Block(lines[0].strip(), provenance, "\n".join(lines[i + 1 :]).strip())
    return Block(None, None, "")
