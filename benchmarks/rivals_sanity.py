"""Are the deep rivals real ones? Their accuracy on MNIST beside K-means and the published figures.

    python benchmarks/rivals_sanity.py --data-home DATA --train-size 5000 --epochs 20

Models are fitted to a random part of the training images and scored on all test images.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from dikmeans.data import load
from dikmeans.evaluate import clustering_accuracy
from dikmeans.rivals import DEC, AutoencoderKMeans, VaDE

# Test accuracy in the paper's table: best of ten runs, picked by the labels. Of AE + K-means it has one.
PUBLISHED = {
    "K-means": 53.5,
    "AE + K-means (mlp)": 66.3,
    "AE + K-means (conv)": 66.3,
    "DEC (mlp)": 84.3,
    "DEC (conv)": 78.8,
    "VaDE (mlp)": 94.1,
    "VaDE (conv)": 81.7,
}


def models(options: argparse.Namespace) -> Iterator[tuple[str, Callable[[int], Any]]]:
    """Name and maker (of a seed) of each model, both architectures."""
    yield "K-means", lambda seed: KMeans(10, n_init=20, random_state=seed)
    for architecture in options.architectures:
        shared = {
            "architecture": architecture,
            "image_shape": (28, 28),
            "pretrain_epochs": options.epochs,
            "learning_rate": options.learning_rate,
            "n_threads": options.threads,
            "verbose": options.verbose,
        }
        specific: dict[str, tuple[type, dict[str, Any]]] = {
            "AE + K-means": (AutoencoderKMeans, {}),
            "DEC": (DEC, {"max_updates": options.updates}),
            "VaDE": (VaDE, {"epochs": options.epochs}),
        }
        for name, (kind, more) in specific.items():
            yield (
                f"{name} ({architecture})",
                lambda seed, kind=kind, more={**shared, **more}: kind(10, random_state=seed, **more),
            )


def main() -> None:
    options = parse()
    train = load("mnist", "train", data_home=options.data_home)
    test = load("mnist", "test", data_home=options.data_home)
    rows = np.random.default_rng(options.seed).permutation(len(train))[: options.train_size]
    X, new = train.images[rows].reshape(len(rows), -1), test.images.reshape(len(test), -1)

    print(f"MNIST, {len(X)} training and {len(new)} test images")
    heads = f"{'test accuracy':>15}{'published':>11}{'objective':>11}{'epochs':>8}{'seconds':>9}"
    print(f"{'model':<20}{'seed':>6}{heads}", flush=True)
    for name, make in models(options):
        for seed in range(options.seed, options.seed + options.runs):
            began = time.perf_counter()
            model = make(seed).fit(X)
            seconds = time.perf_counter() - began
            accuracy = 100 * clustering_accuracy(test.labels, model.predict(new))
            print(
                f"{name:<20}{seed:>6}{accuracy:>15.1f}{PUBLISHED[name]:>11.1f}{model.inertia_:>11.4g}"
                f"{model.n_iter_:>8}{seconds:>9.0f}",
                flush=True,
            )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-home", help="where the data sets are")
    parser.add_argument("--train-size", type=int, default=5000, help="training images")
    parser.add_argument(
        "--epochs", type=int, default=20, help="of the pre-training, and again of VaDE, at most"
    )
    parser.add_argument("--updates", type=int, default=15, help="of DEC's target distribution, at most")
    parser.add_argument("--learning-rate", type=float, default=1e-3, help="of the pre-training")
    parser.add_argument("--architectures", nargs="+", choices=["mlp", "conv"], default=["mlp", "conv"])
    parser.add_argument("--runs", type=int, default=1, help="each with a seed of its own")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch")
    parser.add_argument("--verbose", action="store_true", help="a line an epoch")
    return parser.parse_args()


if __name__ == "__main__":
    main()
