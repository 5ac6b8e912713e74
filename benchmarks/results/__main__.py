"""Make the results: ``make results``, or ``python -m benchmarks.results [PART ...]``.

Without names: all parts that are missing, unfinished or older than the code. A part that was made
is written to its page at once, so the same command continues after an interruption; runs of the
paper's table are kept one by one. A part that fails is named at the end, and the others go on.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.results.catalog import PARTS
from benchmarks.results.claims import claims, with_claims
from benchmarks.results.page import Block, blocks, clear_block, write_block
from benchmarks.results.part import Part, PartError
from benchmarks.results.provenance import Provenance, uncommitted

ROOT = Path(__file__).parents[2]
PAGES = Path("docs") / "results"


def main(arguments: Sequence[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(prog="make results", description=__doc__.split("\n")[0])
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help="default: all that are not current"
    )
    parser.add_argument("--list", action="store_true", help="show the parts, and make nothing")
    parser.add_argument("--clear", action="store_true", help="remove figures older than the code")
    parser.add_argument("--claims", action="store_true", help="write README's claims anew")
    parser.add_argument("--minutes", type=float, help="start no part, and no run, later than this")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"There is no part {', '.join(unknown)}. Parts: {', '.join(PARTS)}.")
    wanted = [PARTS[name] for name in options.parts or PARTS]
    if options.list:
        for part in wanted:
            print(f"{part.name:20} {part.page:14} {part.minutes:4} min  {state(part, root)}")
        return 0
    if options.clear:
        for part in wanted:
            if state(part, root).startswith("older"):
                clear_block(root / PAGES / part.page, part)
        return 0
    if options.claims:
        readme = root / "README.md"
        text = with_claims(readme.read_text(), claims(root / PAGES))
        readme.write_text(text)
        return 0
    return make(wanted, root, options.minutes, again=bool(options.parts))


def make(parts: Sequence[Part], root: Path, minutes: float | None, again: bool) -> int:
    """Make parts, those that are current only if `again`; return the exit code."""
    started, failures = time.monotonic(), []
    for part in parts:
        left = None if minutes is None else max(0.0, minutes - (time.monotonic() - started) / 60)
        if state(part, root) == "current" and not again:
            continue
        if left == 0 and not part.keeps_runs:
            continue
        print(
            f"{part.name}: {part.command} (about {part.minutes} min)", file=sys.stderr, flush=True
        )
        try:
            if changed := uncommitted(root, part.sources):
                raise PartError(f"commit first, a figure names its commit: {', '.join(changed)}.")
            provenance = Provenance.now(root)
            write_block(root / PAGES / part.page, part, provenance, part.run(root, left))
        except PartError as error:
            failures.append(f"{part.name}: {error}")
    for failure in failures:
        print(f"Not made: {failure}", file=sys.stderr)
    return 1 if failures else 0


def state(part: Part, root: Path) -> str:
    """Say how a part stands: current, missing, unfinished, or older than the code."""
    block = blocks(root / PAGES / part.page).get(part.name, Block(None, None, ""))
    if block.provenance is None:
        return "missing"
    if block.command != part.command:
        return f"older: made by another command, {block.command}"
    if not block.provenance.is_current(root, part.sources):
        return f"older: the code has changed since {block.provenance.commit}"
    if not part.is_complete(block.output):
        return "unfinished"
    return "current"


if __name__ == "__main__":
    sys.exit(main())
