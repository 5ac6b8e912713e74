"""Files of the package's own: models as safetensors with a JSON header, runs as folders; never pickle."""

from dikmeans.io.model_file import ModelFileError, load_model, save_model
from dikmeans.runs.labels_file import LabelRow, label_rows, rows_as_csv
from dikmeans.runs.run_folder import RunFolder, RunFolderError, open_run, write_run

__all__ = [
    "LabelRow",
    "ModelFileError",
    "RunFolder",
    "RunFolderError",
    "label_rows",
    "load_model",
    "open_run",
    "rows_as_csv",
    "save_model",
    "write_run",
]
