"""``dikmeans reproduce table``: the paper's Table 1, made again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dikmeans.cli.errors import FAILURE, INTERRUPTED, errors_explained
from dikmeans.paper.cli.shared_options import DataHome, DataNames, Download

if TYPE_CHECKING:
    from dikmeans.paper.protocol.run_protocol import ProtocolResult
    from dikmeans.paper.protocol.table_cells import Cell


def table(
    data: DataNames = None,
    models: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Model; repeatable. Default: all that are installed."),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Runs of each model on each data set.")
    ] = 10,
    seed: Annotated[
        int, typer.Option(min=0, metavar="N", help="Seed of the first run; the next runs count up.")
    ] = 0,
    train_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Train on a random part of at most so many images. Default: all.",
        ),
    ] = None,
    deep_steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Train deep models for at most so many batches per phase. Default: to the end.",
        ),
    ] = None,
    time_budget: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="NUMBER",
            help="Minutes; no run starts later. 0 shows the runs there are. Default: no limit.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option(file_okay=False, metavar="FOLDER", help="Folder for table.md and table.csv."),
    ] = Path("reproduction"),
    results: Annotated[
        Path | None,
        typer.Option(
            dir_okay=False,
            metavar="FILE",
            help="File of finished runs. Default: runs.jsonl in the output folder.",
        ),
    ] = None,
    data_home: DataHome = None,
    download: Download = True,
) -> None:
    """Reproduce the paper's Table 1: the accuracy of every model on every data set.

    Every finished run is kept at once; the same command continues where it stopped.
    Several processes may share one results file, and the work.
    """
    results_path = results or output / "runs.jsonl"
    seeds = range(seed, seed + runs)
    with errors_explained():
        from dikmeans.io.atomic import atomic_write
        from dikmeans.paper.cli.terminal_progress import TerminalProgress
        from dikmeans.paper.protocol.data_tasks import get_tasks
        from dikmeans.paper.protocol.results_file import ResultsFile
        from dikmeans.paper.protocol.run_protocol import ProtocolResult, run_protocol
        from dikmeans.paper.protocol.table_cells import table_cells
        from dikmeans.paper.protocol.table_models import get_models
        from dikmeans.paper.protocol.table_text import table_as_csv, table_as_markdown

        tasks, chosen = get_tasks(data or []), get_models(models or [])
        if not models:
            _print_missing_models()
        if deep_steps is not None:
            chosen = tuple(model.limited_to(deep_steps) for model in chosen)

        file = ResultsFile(results_path)

        def write_table() -> list[Cell]:
            cells = table_cells(file.read(), tasks, chosen, seeds, train_size)
            texts = {"table.md": table_as_markdown(cells), "table.csv": table_as_csv(cells)}
            for name, text in texts.items():
                with atomic_write(output / name) as stream:
                    stream.write(text.encode())
            return cells

        result: ProtocolResult | None = ProtocolResult()
        write_table()  # a folder that cannot be written is found before the work
        if time_budget != 0:
            try:
                with TerminalProgress("runs") as progress:
                    result = run_protocol(
                        tasks,
                        chosen,
                        file,
                        seeds=seeds,
                        train_size=train_size,
                        data_home=data_home,
                        download=download,
                        time_budget=None if time_budget is None else 60 * time_budget,
                        progress=progress,
                    )
            except KeyboardInterrupt:
                result = None
        cells = write_table()
        if result is None:
            _print_stopped(cells, results_path)
        else:
            _print_table(cells)
            _print_result(result, results_path, output)
    if result is None:
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(FAILURE if result.failed else 0)


def _print_table(cells: list[Cell]) -> None:
    """Print the table on standard output."""
    from itertools import groupby

    from rich import box
    from rich.table import Table
    from rich.text import Text

    from dikmeans.cli.console import make_console
    from dikmeans.paper.protocol.table_text import (
        EXPLANATION,
        HEADERS,
        N_TEXT_COLUMNS,
        model_notes,
        table_row,
    )

    rows = Table(box=box.SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for header in HEADERS[:N_TEXT_COLUMNS]:
        rows.add_column(header)
    for header in HEADERS[N_TEXT_COLUMNS:]:  # numbers are narrower than what they are called
        rows.add_column("\n".join(header.rsplit(" ", 1)), justify="right", vertical="bottom")
    for _, block in groupby(cells, key=lambda cell: (cell.task.name, cell.title)):
        for number, cell in enumerate(block):
            title, *others = table_row(cell)
            style = None if cell.records else "dim"
            rows.add_row(Text("" if number else title), *map(Text, others), style=style)
        rows.add_section()
    console = make_console(stderr=False)
    console.print(rows)
    for note in (EXPLANATION, *model_notes(cells)):
        console.print(Text(note))


def _print_missing_models() -> None:
    """Print which models are left out because a library is not installed, and how to get them."""
    from dikmeans.paper.protocol.table_models import missing_models

    missing: dict[tuple[str | None, str | None], list[str]] = {}
    for model in missing_models():
        missing.setdefault((model.library, model.extra), []).append(model.title)
    for (library, extra), titles in missing.items():
        _print(
            f"Without {library}, left out: {', '.join(titles)}. "
            f"pip install 'dikmeans[{extra}]' adds them."
        )


def _print_result(result: ProtocolResult, results_path: Path, output: Path) -> None:
    """Print which runs were not made, and where the files are."""
    if result.out_of_time:
        n_left = len(result.out_of_time)
        _print(f"Out of time: {n_left} runs were not started; the same command makes them.")
    if result.elsewhere:
        _print(f"{len(result.elsewhere)} runs were being made by another process.")
    _print(f"Table: {output / 'table.md'}, {output / 'table.csv'}. Runs: {results_path}.")


def _print_stopped(cells: list[Cell], results_path: Path) -> None:
    n_kept = sum(len(cell.records) for cell in cells)
    _print(
        f"Stopped. {n_kept} finished runs of this table are in {results_path}; "
        "the same command continues."
    )


def _print(text: str) -> None:
    from rich.text import Text

    from dikmeans.cli.console import make_console

    make_console(stderr=True).print(Text(text))
