"""How good clusterings are: metrics, the protocol of the table, and choosing without labels.

The way of the data: tasks, models -> protocol -> results file (records) -> summary -> table.
"""

from dikmeans.paper.accuracy_distortion import AccuracyAgainstDistortion, accuracy_against_distortion
from dikmeans.paper.deep_models import DeepModel
from dikmeans.paper.embedding import embed
from dikmeans.paper.family import FAMILY, fit_family
from dikmeans.paper.growth import Growth, measure_growth
from dikmeans.evaluation.metrics import Confusion, clustering_accuracy, confusion, scores
from dikmeans.paper.models import (
    Model,
    get_model,
    get_models,
    missing_models,
    model_names,
    register,
)
from dikmeans.paper.names import UnknownChoiceError
from dikmeans.paper.published import TABLE_1, paper_accuracy
from dikmeans.paper.protocol import Listener, Outcome, execute_run, run_protocol
from dikmeans.paper.record import RunRecord
from dikmeans.paper.results_file import ResultsFile, ResultsFileError, read_results
from dikmeans.evaluation import PAPER_GRID, DistortionSearch
from dikmeans.paper.summary import Cell, Figures, label_free_choice, summarise, table_cells
from dikmeans.paper.table import table_as_csv, table_as_markdown
from dikmeans.paper.tasks import TASKS, Task, TaskData, get_task, get_tasks

__all__ = [
    "FAMILY",
    "PAPER_GRID",
    "TABLE_1",
    "TASKS",
    "AccuracyAgainstDistortion",
    "Cell",
    "Confusion",
    "DeepModel",
    "DistortionSearch",
    "Figures",
    "Growth",
    "Listener",
    "Model",
    "Outcome",
    "ResultsFile",
    "ResultsFileError",
    "RunRecord",
    "Task",
    "TaskData",
    "UnknownChoiceError",
    "accuracy_against_distortion",
    "clustering_accuracy",
    "confusion",
    "embed",
    "execute_run",
    "fit_family",
    "get_model",
    "get_models",
    "get_task",
    "get_tasks",
    "label_free_choice",
    "measure_growth",
    "missing_models",
    "model_names",
    "paper_accuracy",
    "read_results",
    "register",
    "run_protocol",
    "scores",
    "summarise",
    "table_as_csv",
    "table_as_markdown",
    "table_cells",
]
