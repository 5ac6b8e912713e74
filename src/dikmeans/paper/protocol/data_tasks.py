"""The data sets of the table: each with its options, cut to a stated training size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from dikmeans._typing import PathLike
from dikmeans.datasets import DataError, ImageSet, load
from dikmeans.paper.errors import look_up

SUBSET_SEED = 0
"""Seed of the training subset: one subset per size, the same for every model and run."""


@dataclass(frozen=True, eq=False)
class TaskData:
    """The images of a task.

    Attributes
    ----------
    title : str
        What the data are exactly, such as "EMNIST letters (50k draw)".
    train, test : ImageSet
        Training images, cut to size; all test images.
    train_available : int
        Number of training images before the cut.
    """

    title: str
    train: ImageSet
    test: ImageSet
    train_available: int

    @property
    def n_classes(self) -> int:
        """Number of classes, which is the number of clusters to find."""
        return len(self.test.class_names)


@dataclass(frozen=True)
class DataTask:
    """A data set to be clustered.

    Attributes
    ----------
    name : str
        Its name on the command line and in results files.
    title : str
        Its name in the table until a run was made. Then the title of the data is used, which is
        more exact (it tells a draw of EMNIST from the whole), unless there are options.
    source : str
        Name or path for `dikmeans.datasets.load`.
    options : mapping
        Options for `dikmeans.datasets.load`.
    paper_column : str or None
        Column of the paper's Table 1 to compare with.
    """

    name: str
    title: str
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)
    paper_column: str | None = None

    def load(
        self,
        train_size: int | None = None,
        data_home: PathLike | None = None,
        *,
        download: bool = True,
    ) -> TaskData:
        """Read the images.

        Parameters
        ----------
        train_size : int, optional
            At most so many training images, drawn at random by `SUBSET_SEED` without using the
            labels; a smaller draw is part of a larger one. By default all.
        data_home : path, optional
            As in `dikmeans.datasets.load`.
        download : bool, default=True
            As in `dikmeans.datasets.load`.

        Raises
        ------
        dikmeans.datasets.DataError
            The data are missing, damaged, or without labels.
        """
        train, test = (
            load(self.source, split, data_home, download=download, **self.options)
            for split in ("train", "test")
        )
        if test.labels is None or train.labels is None or train.class_names != test.class_names:
            raise DataError(
                f"{self.source} cannot be evaluated: its train and test parts need the same "
                f"classes, got {len(train.class_names)} and {len(test.class_names)}. Put each "
                "class into its own folder, in both parts."
            )
        available = len(train)
        if train_size is not None and train_size < available:
            order = np.random.RandomState(SUBSET_SEED).permutation(available)
            train = train.subset(order[:train_size])
        if len(train) < len(test.class_names):
            raise DataError(
                f"{len(train)} training images are too few for the {len(test.class_names)} classes "
                f"of {self.name}; take a larger training size."
            )
        title = self.title if self.options else test.card.title
        return TaskData(title, train, test, available)


def _paper_task(name: str, title: str) -> DataTask:
    return DataTask(name, title, source=name, paper_column=name)


TASKS: dict[str, DataTask] = {
    task.name: task
    for task in (
        _paper_task("affine-mnist", "Affine MNIST"),
        _paper_task("diffeo-mnist", "Diffeo MNIST"),
        _paper_task("mnist", "MNIST"),
        _paper_task("audio-mnist", "AudioMNIST"),
        _paper_task("emnist-letters", "EMNIST letters"),
        _paper_task("rock-paper-scissors", "Rock-Paper-Scissors"),
        replace(_paper_task("face-pose", "Face pose, full frame"), options={"face_box": False}),
        # Easier than what the paper did, so there is no figure of the paper to compare with.
        DataTask("face-pose-box", "Face pose, face box", "face-pose", {"face_box": True}),
        _paper_task("arabic-characters", "Arabic characters"),
    )
}
"""The paper's data sets, in its order; faces as full frames and as face boxes."""


def get_task(name: str) -> DataTask:
    """Return the task of that name, or one for a folder or zip with ``train`` and ``test``.

    Raises
    ------
    UnknownChoiceError
        Neither a task nor a folder or zip.

    Examples
    --------
    >>> get_task("face-pose-box").options
    {'face_box': True}
    """
    path = Path(name).expanduser()
    if name and name not in TASKS and path.exists():
        return DataTask(name=name, title=path.name, source=name)
    return look_up("data set, folder or zip", name, TASKS)


def get_tasks(names: Iterable[str] = ()) -> tuple[DataTask, ...]:
    """Return the tasks of those names, each once; all of the paper's if none is named."""
    return tuple(get_task(name) for name in dict.fromkeys(names)) or tuple(TASKS.values())
