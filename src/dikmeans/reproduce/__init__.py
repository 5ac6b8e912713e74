"""The paper's figures, made again: computed by `evaluate`, drawn by `show`, kept in a gallery.

The way of the data: tasks -> workshop (data, fits) -> figures -> gallery (files, and what made them).
"""

from dikmeans.reproduce.errors import ReproductionError
from dikmeans.reproduce.figures import KINDS, PaperFigure, plan_figures
from dikmeans.reproduce.gallery import FORMATS, Gallery
from dikmeans.reproduce.make import FigureListener, make_figures
from dikmeans.reproduce.workshop import Workshop

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
