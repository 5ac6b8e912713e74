"""What leaves the studio: a table with the user's own columns, sorted folders, the report."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from dikmeans._typing import JSON
from dikmeans.errors import DikmeansError
from dikmeans.refinement import refine
from dikmeans.report import write_report
from dikmeans.report.collect import ReportProgress
from dikmeans.runs import Exported, export_clusters
from dikmeans.runs.export import OUTLIERS, folder_name
from dikmeans.studio.session import Session, View, cluster_title

OWN = ("file", "cluster", "name", "cost", "margin", "decided", "notes")
"""The columns that the studio knows."""


class TableError(DikmeansError, ValueError):
    """A table of the user that cannot be joined; says why."""


class Table(NamedTuple):
    """The user's own columns, by the name of the picture."""

    columns: tuple[str, ...]
    rows: dict[str, Sequence[str]]
    n_matched: int


def read_table(content: bytes, names: Sequence[str]) -> Table:
    """A CSV file of the user; the column that names most pictures is the one it is joined by.

    Pictures are named by the path within the collection, by the file name, or by it without the
    extension.

    Raises
    ------
    TableError
        It is no CSV, or no column names pictures.
    """
    try:
        text = content.decode("utf-8-sig")
        dialect: type[csv.Dialect] | str
        try:
            dialect = csv.Sniffer().sniff(text[:8192], ",;\t")
        except csv.Error:
            dialect = "excel"
        header, *lines = list(csv.reader(io.StringIO(text, newline=""), dialect)) or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise TableError(f"The table is no CSV file in UTF-8 ({error}).") from error
    if not header or not lines:
        raise TableError("The table has no rows: it needs a header and one row per picture.")
    short = [number for number, line in enumerate(lines, 2) if line and len(line) != len(header)]
    if short:
        raise TableError(f"Row {short[0]} of the table has not {len(header)} cells, as its header.")
    lines = [line for line in lines if line]
    keys, key = _best_key(header, lines, names)
    matched = {name: _row_for(name, keys) for name in names}
    rows = {name: row for name, row in matched.items() if row is not None}
    others = [place for place in range(len(header)) if place != key]
    return Table(
        tuple(header[place] for place in others),
        {name: [row[place] for place in others] for name, row in rows.items()},
        len(rows),
    )


def _best_key(
    header: Sequence[str], lines: list[list[str]], names: Sequence[str]
) -> tuple[dict[str, list[str]], int]:
    best: tuple[int, dict[str, list[str]], int] = (0, {}, 0)
    for place in range(len(header)):
        keys = {line[place].strip(): line for line in lines}
        hits = sum(_row_for(name, keys) is not None for name in names)
        if hits > best[0]:
            best = (hits, keys, place)
    if not best[0]:
        raise TableError(
            f"No column of the table ({', '.join(header)[:200]}) names pictures of the run, such "
            f"as {names[0]!r}."
        )
    return best[1], best[2]


def _row_for(name: str, keys: dict[str, list[str]]) -> list[str] | None:
    path = PurePosixPath(name)
    return keys.get(name) or keys.get(path.name) or keys.get(path.stem)


def labels_csv(session: Session, view: View, table: Table | None = None) -> bytes:
    """One row per picture: where it is now, and the user's own columns."""
    state, assignment = view.state, session.model.assignment_
    extra = () if table is None else table.columns
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    taken = set(OWN)
    notes: dict[str, list[str]] = {}
    for file, note in state.notes:
        notes.setdefault(file, []).append(note)
    writer.writerow([*OWN, *(f"own {name}" if name in taken else name for name in extra)])
    for number, file in enumerate(session.images.names):
        place = int(state.labels[number])
        cluster = state.clusters[place] if place >= 0 else None
        margin = float(assignment.margins[number])
        own = table.rows.get(file, [""] * len(extra)) if table else ()
        writer.writerow(
            [
                _harmless(file),
                cluster.id if cluster else "",
                _harmless(cluster_title(cluster)) if cluster else OUTLIERS,
                f"{assignment.costs[number]:.6g}",
                "" if np.isnan(margin) else f"{margin:.6g}",
                "yes" if state.decided[number] else "",
                _harmless("; ".join(notes.get(file, ()))),
                *own,
            ]
        )
    return text.getvalue().encode("utf-8", "surrogateescape")


def _harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def sorted_folders(session: Session, view: View, path: Path) -> Exported:
    """Copy the originals into one folder per cluster, called as the clusters are."""
    names: list[str] = []
    for cluster in view.state.clusters:
        name = base = folder_name(cluster_title(cluster))
        again = 2
        while name.lower() in {known.lower() for known in (*names, OUTLIERS)}:
            name, again = f"{base} ({again})", again + 1
        names.append(name)
    folders = [*names, OUTLIERS]  # -1: none
    chosen = [folders[place] for place in view.state.labels.tolist()]
    return export_clusters(session.run, path, session.originals, folders=chosen)


def edited_report(session: Session, view: View, path: Path, tell: ReportProgress) -> Path:
    """The static report on the clusters as they are edited; rejected pictures are outliers in it.

    Nothing is fitted, but pictures are assigned to the edited clusters.
    """
    tell(0.0, "assigning pictures to the edited clusters")
    images = session.images
    model = refine(session.model, images.images, view.state.corrections(), max_iter=0)
    if (model.labels_ < 0).all():
        raise ValueError("There are no pictures to report on: all of them are outliers.")
    return write_report(
        path,
        model,
        images,
        originals=session.originals,
        assignment=model.assignment_,
        title=session.images.card.title,
        progress=tell,
    )


def exported_json(exported: Exported) -> JSON:
    """What was written."""
    missing = list(exported.missing.items())
    return {
        "folder": exported.path.name,
        "nFiles": exported.n_files,
        "missing": [[name, why] for name, why in missing[:20]],
        "nMissing": len(missing),
    }
