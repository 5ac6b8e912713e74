"""RUN folders: a clustering of a set of images, kept with everything needed to look at it later."""

from dikmeans.runs.export import Exported, export_clusters
from dikmeans.runs.labels_file import LabelRow, label_rows, rows_as_csv, rows_from_csv
from dikmeans.runs.originals import ArrayOriginals, Originals, find_originals
from dikmeans.runs.run_folder import (
    RunFolder,
    RunFolderError,
    RunFolderProblem,
    check_place,
    open_run,
    write_run,
)

__all__ = [
    "ArrayOriginals",
    "Exported",
    "LabelRow",
    "Originals",
    "RunFolder",
    "RunFolderError",
    "RunFolderProblem",
    "check_place",
    "export_clusters",
    "find_originals",
    "label_rows",
    "open_run",
    "rows_as_csv",
    "rows_from_csv",
    "write_run",
]
