"""The paper's figures, made again: computed by `evaluate`, drawn by `show`, kept in a gallery.

The way of the data: tasks -> workshop (data, fits) -> figures -> gallery (files, and what made them).
"""

from dikmeans.paper.figures.errors import ReproductionError
from dikmeans.paper.figures.figures import KINDS, PaperFigure, plan_figures
from dikmeans.paper.figures.gallery import FORMATS, Gallery
from dikmeans.paper.figures.make import FigureListener, make_figures
from dikmeans.paper.figures.workshop import Workshop

__all__ = [
    "FORMATS",
    "KINDS",
    "FigureListener",
    "Gallery",
    "PaperFigure",
    "ReproductionError",
    "Workshop",
    "make_figures",
    "plan_figures",
]
