"""What each part of the method contributes: one question at a time, label-free.

For each data set and variant: several seeds are fitted on a fixed random subset of the training images; the
run with the lowest distortion is taken (no label involved), and its accuracy on the test images is reported,
with the range over all seeds. "Ceiling" is a fit that starts from the true class means: what the measure
would give if the search were perfect. It is the one place where labels are used before the final figure.

    DIKMEANS_DATA=... python benchmarks/ablation.py --data mnist arabic-characters --seeds 0 1 2
"""

from __future__ import annotations

import argparse
import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
from scipy import ndimage

from _common import print_table
from dikmeans import DIKMeans
from dikmeans.kmeans.prototypes import PrototypeRule
from dikmeans.paper import clustering_accuracy, get_task

Pictures = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Variant:
    """One answer to a question: other parameters, other constants of the code, or other pictures."""

    title: str
    parameters: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    pictures: Pictures = lambda images: images
    ceiling: bool = False


def _blurred(images: np.ndarray) -> np.ndarray:
    return ndimage.gaussian_filter(images, (0, 0.7, 0.7))


_PICTURES = "dikmeans.preprocessing"

QUESTIONS: dict[str, tuple[Variant, ...]] = {
    "the search": (
        Variant("defaults"),
        Variant("no swaps", {"n_swaps": 0}),
        Variant("only swaps that look good", constants={"dikmeans.kmeans.swaps.WORTHWHILE": 0.5}),
        Variant("no curriculum", {"curriculum": False}),
        Variant("neither", {"n_swaps": 0, "curriculum": False}),
        Variant("seeds under the measure", {"init": "measure-k-means++"}),
        Variant("ceiling", ceiling=True),
    ),
    "the penalty": (
        Variant("learned stiffness (default)"),
        Variant("bending energy", {"stiffness": "uniform"}),
        Variant("bending energy, twice as smooth", {"stiffness": "uniform", "smoothness": 0.6}),
        Variant("bending energy, 6 x 6 landmarks", {"stiffness": "uniform", "landmarks": 6}),
        Variant("learned stiffness, 6 x 6 landmarks", {"landmarks": 6}),
    ),
    "the forms": (
        Variant("one form a cluster", {"n_prototypes": 1}),
        *(
            Variant(
                f"up to {most}",
                constants={"dikmeans.kmeans.prototypes.AUTO_FORMS": PrototypeRule(most, 25)},
            )
            for most in (2, 4, 8)
        ),
        Variant("ceiling, one form", {"n_prototypes": 1}, ceiling=True),
        Variant("ceiling, up to 4", ceiling=True),
    ),
    "the direction": (
        Variant("centroid onto image (default)"),
        Variant(
            "image onto centroid", {"direction": "image-to-centroid", "unit_norm_centroids": True}
        ),
    ),
    "the pictures": (
        Variant("auto (default)"),
        Variant("unit norm", {"normalize": "unit"}),
        Variant("strokes", {"normalize": "strokes"}),
        Variant("scales", {"normalize": "scales"}),
        Variant("subject", {"normalize": "subject"}),
        Variant("square root, unit norm", {"normalize": "unit"}, pictures=np.sqrt),
        Variant("blurred, unit norm", {"normalize": "unit"}, pictures=_blurred),
    ),
    "the strokes": (
        *(
            Variant(
                f"as wide as {width} of a side",
                {"normalize": "strokes"},
                {f"{_PICTURES}.strokes.STROKE_WIDTH": width},
            )
            for width in (0.04, 0.06, 0.08, 0.12)
        ),
        *(
            Variant(
                f"faint below {faint}",
                {"normalize": "strokes"},
                {f"{_PICTURES}.strokes.FAINT": faint},
            )
            for faint in (0.1, 1.0)
        ),
        Variant("ceiling of strokes", {"normalize": "strokes"}, ceiling=True),
        Variant("ceiling of unit norm", {"normalize": "unit"}, ceiling=True),
    ),
    "the scales": (
        Variant("unit norm", {"normalize": "unit"}),
        *(
            Variant(f"evened out by {share}", constants={f"{_PICTURES}.scales.EVENNESS": share})
            for share in (0.2, 0.3, 0.4, 0.45, 0.5, 0.6)
        ),
    ),
    "the place": (
        Variant("where the template is found (default)"),
        Variant("as photographed", constants={f"{_PICTURES}.template.FARTHEST": 0.0}),
        *(
            Variant(f"evened out by {share}", constants={f"{_PICTURES}.subject.EVENNESS": share})
            for share in (0.0, 0.3, 0.5, 1.0)
        ),
    ),
    "the window": (
        *(
            Variant(
                f"as wide as {width:.2f} of a side",
                {"normalize": "subject"},
                {f"{_PICTURES}.subject.WINDOW_WIDTH": width},
            )
            for width in (0.12, 1 / 6, 0.25, 0.35, 10.0)
        ),
        Variant("ceiling of the subject", {"normalize": "subject"}, ceiling=True),
        Variant("ceiling of unit norm", {"normalize": "unit"}, ceiling=True),
    ),
}


def measure(variant: Variant, data: Any, seeds: list[int]) -> list[str]:
    """Label-free accuracy, worst and best of all seeds, and mean distortion, in words."""
    train, test = variant.pictures(data.train.images), variant.pictures(data.test.images)
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
            model = DIKMeans(data.n_classes, random_state=seed, **parameters).fit(train)
            accuracy = 100 * clustering_accuracy(data.test.labels, model.predict(test))
            runs.append((model.inertia_ / len(train), accuracy))
    accuracies = [accuracy for _, accuracy in runs]
    distortion, chosen = min(runs)
    spread = f"{min(accuracies):.1f} to {max(accuracies):.1f}" if len(runs) > 1 else ""
    return [f"{chosen:.1f}", spread, f"{distortion:.4f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--data", nargs="+", default=["mnist", "arabic-characters", "rock-paper-scissors"]
    )
    parser.add_argument("--questions", nargs="+", default=list(QUESTIONS), choices=list(QUESTIONS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--train-size", type=int, default=1000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.data:
        data = get_task(name).load(options.train_size, download=False)
        for question in options.questions:
            print(
                f"\n{data.title}, {len(data.train)} training images, seeds {options.seeds}: {question}\n"
            )
            rows = ([v.title, *measure(v, data, options.seeds)] for v in QUESTIONS[question])
            print_table([question, "label-free (%)", "all seeds (%)", "mean distortion"], rows)


if __name__ == "__main__":
    main()
