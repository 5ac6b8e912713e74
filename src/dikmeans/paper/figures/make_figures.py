"""Make figures one after another; one that fails does not stop the others."""

from __future__ import annotations

from collections.abc import Sequence

from dikmeans.datasets import DataError
from dikmeans.errors import DikmeansError
from dikmeans.paper.figures.figure_folder import FigureFolder
from dikmeans.paper.figures.figure_inputs import FigureInputs
from dikmeans.paper.figures.paper_figures import PaperFigure
from dikmeans.paper.progress import interrupts_propagate

# Errors that the next figure would meet again: the user has to do something.
_FOR_THE_USER = (DataError, DikmeansError, ImportError, OSError)


def make_figures(
    figures: Sequence[PaperFigure],
    inputs: FigureInputs,
    folder: FigureFolder,
    *,
    again: bool = False,
) -> list[tuple[PaperFigure, Exception]]:
    """Make the figures that the folder does not have with the same parameters.

    Parameters
    ----------
    figures : sequence of PaperFigure
    inputs : FigureInputs
        Its `progress` receives what is done.
    folder : FigureFolder
        Gets every figure as soon as it is drawn.
    again : bool
        Make all of them, whether they exist or not.

    Returns
    -------
    list of (PaperFigure, Exception)
        Those that failed.

    Raises
    ------
    dikmeans.datasets.DataError
        Data are missing; raised before the first figure.
    KeyboardInterrupt
        After Ctrl-C; finished figures are kept.
    """
    progress = inputs.progress
    with_parameters = [(figure, figure.parameters(inputs)) for figure in figures]
    pending = [
        (figure, parameters)
        for figure, parameters in with_parameters
        if again or not folder.has(figure.name, parameters)
    ]
    for task in {task.name: task for figure, _ in pending for task in figure.tasks}.values():
        inputs.data(task)
    progress.planned(len(figures) - len(pending), len(pending))
    failed: list[tuple[PaperFigure, Exception]] = []
    for figure, parameters in pending:
        progress.started(figure.name)
        try:
            with interrupts_propagate():
                drawn, facts = figure.kind.make(figure, inputs, folder.folder)
        except _FOR_THE_USER:
            raise
        except Exception as error:  # one failing figure must not cost the others
            failed.append((figure, error))
            progress.failed(figure.name, error)
            continue
        caption = figure.kind.caption
        folder.write(figure.name, drawn, parameters=parameters, caption=caption, facts=facts)
        progress.finished(figure.name)
    return failed
