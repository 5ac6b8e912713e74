"""Making figures one after another: what is there stays, what fails does not stop the others."""

from __future__ import annotations

from collections.abc import Sequence

from dikmeans.datasets import DataError
from dikmeans.paper import ResultsFileError
from dikmeans.paper.protocol import interrupts_end_the_run
from dikmeans.paper.figures.errors import ReproductionError
from dikmeans.paper.figures.figures import PaperFigure
from dikmeans.paper.figures.gallery import Gallery
from dikmeans.paper.figures.workshop import Workshop

# These will not go away with the next figure: the user has to do something.
_FOR_THE_USER = (DataError, ImportError, OSError, ReproductionError, ResultsFileError)


class FigureListener:
    """Hears how the making goes; this one does nothing with it."""

    def planned(self, n_done: int, n_pending: int) -> None:
        """It is known what is to be done."""

    def begins(self, figure: PaperFigure) -> None:
        """A figure begins."""

    def made(self, figure: PaperFigure) -> None:
        """It is on the disk."""

    def failed(self, figure: PaperFigure, error: Exception) -> None:
        """It could not be made."""


def make_figures(
    figures: Sequence[PaperFigure],
    workshop: Workshop,
    gallery: Gallery,
    *,
    again: bool = False,
    listener: FigureListener | None = None,
) -> list[tuple[PaperFigure, Exception]]:
    """Make the figures that the gallery does not have with the same parameters.

    Parameters
    ----------
    figures : sequence of PaperFigure
    workshop : Workshop
    gallery : Gallery
        Gets every figure as soon as it is drawn.
    again : bool
        Make all of them, there or not.
    listener : FigureListener, optional

    Returns
    -------
    list of (PaperFigure, Exception)
        Those that failed.

    Raises
    ------
    dikmeans.datasets.DataError
        Data are missing; found out before the first figure.
    KeyboardInterrupt
        After Ctrl-C; finished figures are kept.
    """
    listener = listener or FigureListener()
    pending = [
        (figure, parameters)
        for figure, parameters in ((figure, figure.parameters(workshop)) for figure in figures)
        if again or not gallery.has(figure.name, parameters)
    ]
    for task in {task.name: task for figure, _ in pending for task in figure.tasks}.values():
        workshop.data(task)
    listener.planned(len(figures) - len(pending), len(pending))
    failed: list[tuple[PaperFigure, Exception]] = []
    for figure, parameters in pending:
        listener.begins(figure)
        try:
            with interrupts_end_the_run():
                made = figure.make(workshop, gallery.folder)
        except _FOR_THE_USER:
            raise
        except Exception as error:
            # one figure that fails must not cost the others
            failed.append((figure, error))
            listener.failed(figure, error)
            continue
        gallery.keep(
            figure.name, made.figure, parameters=parameters, caption=figure.caption, facts=made.facts
        )
        listener.made(figure)
    return failed
