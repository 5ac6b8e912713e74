"""``dikmeans reproduce``: the paper's results, made again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dikmeans.cli.mistakes import FAILURE, INTERRUPTED, mistakes_explained
from dikmeans.paper.cli.reproduce_figures import figures

commands = typer.Typer(help="Make the paper's results again.", no_args_is_help=True)


@commands.callback()
def _group() -> None:
    """Make the paper's results again."""


commands.command()(figures)


@commands.command()
def table(
    data: Annotated[
        list[str] | None,
        typer.Option(help="Data set, or folder with train/ and test/; repeatable. Default: the paper's."),
    ] = None,
    models: Annotated[
        list[str] | None, typer.Option(help="Model; repeatable. Default: all that are installed.")
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each model on each data set.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run; the others count on.")] = 0,
    train_size: Annotated[
        int | None,
        typer.Option(min=1, help="Train on a random part of at most so many images. Default: all."),
    ] = None,
    deep_steps: Annotated[
        int | None,
        typer.Option(
            min=1, help="Train deep models for at most so many batches a phase. Default: 100 epochs."
        ),
    ] = None,
    time_budget: Annotated[
        float | None,
        typer.Option(min=0, help="Minutes; no run begins later. 0 shows what is there. Default: no limit."),
    ] = None,
    output: Annotated[Path, typer.Option(file_okay=False, help="Folder for table.md and table.csv.")] = Path(
        "reproduction"
    ),
    results: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="File of finished runs. Default: runs.jsonl in the output folder."),
    ] = None,
    data_home: Annotated[
        Path | None, typer.Option(help="Where the data sets are. Default: $DIKMEANS_DATA, or the cache.")
    ] = None,
    download: Annotated[bool, typer.Option(help="Fetch data that are missing, where possible.")] = True,
) -> None:
    """Make the paper's Table 1 again: accuracy of every model on every data set.

    Every finished run is kept at once; the same command goes on where it stopped.
    Several processes may share one results file, and the work.
    """
    with mistakes_explained():
        code = _make_table(
            data or [],
            models or [],
            range(seed, seed + runs),
            train_size,
            deep_steps,
            None if time_budget is None else 60 * time_budget,
            output,
            results or output / "runs.jsonl",
            data_home,
            download,
        )
    raise typer.Exit(code)


def _make_table(
    data_names: list[str],
    model_names: list[str],
    seeds: range,
    train_size: int | None,
    deep_steps: int | None,
    time_budget: float | None,
    output: Path,
    results_path: Path,
    data_home: Path | None,
    download: bool,
) -> int:
    """Make the runs, then show and write the table; the exit code."""
    from dikmeans.io.atomic import atomic_write
    from dikmeans.cli.terminal import (
        RunsOnTerminal,
        show_left_out,
        show_outcome,
        show_stopped,
        show_table,
    )
    from dikmeans.paper import (
        Outcome,
        ResultsFile,
        get_models,
        get_tasks,
        missing_models,
        run_protocol,
        table_as_csv,
        table_as_markdown,
        table_cells,
    )

    tasks, models = get_tasks(data_names), get_models(model_names)
    if not model_names:
        show_left_out(missing_models())
    if deep_steps is not None:
        models = tuple(model.limited_to(deep_steps) for model in models)
    interrupted = False
    outcome = Outcome()
    with ResultsFile(results_path) as results:

        def write_table() -> None:
            cells = table_cells(results.read(), tasks, models, seeds, train_size)
            for name, text in (("table.md", table_as_markdown(cells)), ("table.csv", table_as_csv(cells))):
                with atomic_write(output / name) as stream:
                    stream.write(text.encode())

        write_table()  # whether it can be written is better known before the work than after
        if time_budget != 0:
            try:
                with RunsOnTerminal() as listener:
                    outcome = run_protocol(
                        tasks,
                        models,
                        results,
                        seeds=seeds,
                        train_size=train_size,
                        data_home=data_home,
                        download=download,
                        time_budget=time_budget,
                        listener=listener,
                    )
            except KeyboardInterrupt:
                interrupted = True
        write_table()
        cells = table_cells(results.read(), tasks, models, seeds, train_size)
        if interrupted:
            show_stopped(results_path, cells)
            return INTERRUPTED
        show_table(cells)
        show_outcome(outcome, results_path, output)
    return FAILURE if outcome.failed else 0
