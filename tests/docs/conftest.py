"""A reader's desk: a folder with small pictures, sounds, arrays and a run, and names for them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.io import wavfile
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from dikmeans import DIKMeans, Search
from dikmeans.datasets import ImageSource, load

N_PICTURES, N_NEW = 40, 4
# a model of ten clusters, for pages whose subject is not the fit
QUICK = {"n_init": 1, "max_iter": 2, "search": Search(n_swaps=0, max_iter=2), "random_state": 0}


def write_pictures(folder: Path, pictures: np.ndarray) -> None:
    """PNG files of 8 x 8 pixels."""
    folder.mkdir(parents=True)
    for number, picture in enumerate(pictures):
        Image.fromarray((15.9 * picture).astype(np.uint8)).save(folder / f"{number}.png")


def write_sounds(folder: Path, rng: np.random.Generator) -> None:
    """A dozen whistles, a third of a second each."""
    folder.mkdir()
    time = np.arange(4000) / 12_000
    for number in range(12):
        tone = np.sin(2 * np.pi * (600 + 300 * (number % 3) * time) * time)
        noisy = 0.3 * tone + rng.normal(scale=0.01, size=len(time))
        wavfile.write(folder / f"{number}.wav", 12_000, (20_000 * noisy).astype(np.int16))


@pytest.fixture(scope="session")
def shelf(tmp_path_factory) -> SimpleNamespace:
    """What every desk gets a copy of: the folder, its pictures, and a model of them."""
    zarr = pytest.importorskip("zarr")
    folder = tmp_path_factory.mktemp("shelf") / "desk"
    rng = np.random.default_rng(0)
    digits = load_digits().images
    X, X_new = digits[:N_PICTURES], digits[N_PICTURES : N_PICTURES + N_NEW]
    for name in ("photos", "holiday/photos"):
        write_pictures(folder / name, X)
    write_pictures(folder / "more-photos", X_new)
    write_sounds(folder / "recordings", rng)
    shutil.copy(folder / "recordings/0.wav", folder / "hello.wav")
    for name in ("images", "glyphs"):
        np.save(folder / f"{name}.npy", X)
        store = zarr.create_array(folder / f"{name}.zarr", shape=X.shape, dtype=X.dtype)
        store[:] = X
    (folder / "edits.json").write_text(
        json.dumps([{"kind": "rename", "cluster": "c0", "name": "first"}])
    )
    image_set = load(folder / "photos")
    model = DIKMeans(10, **QUICK).fit(image_set.images)
    from dikmeans.runs import write_run

    source = ImageSource.resolve(folder / "photos")
    write_run(folder / "run", model, image_set, source, seconds=1.0)
    return SimpleNamespace(
        folder=folder, X=image_set.images, X_new=X_new / 16, model=model, image_set=image_set
    )


@pytest.fixture
def desk(shelf, tmp_path, monkeypatch) -> Path:
    """A copy of the folder, as the place where the page is read."""
    place = shutil.copytree(shelf.folder, tmp_path / "desk")
    monkeypatch.chdir(place)
    # pages are tested here, not the search: one run in place of the several that few pictures get
    monkeypatch.setattr(DIKMeans, "n_runs_for", lambda model, n_images: 1)
    return place


@pytest.fixture
def names(shelf, desk) -> dict[str, Any]:
    """What a page may take for granted: the reader's own pictures, and a model of them."""
    import dask.array as da
    import zarr

    from dikmeans import align, datasets, pairwise_cost, plot

    X, X_new = shelf.X, shelf.X_new
    files = [f"photos/{number}.png" for number in range(N_PICTURES)]
    return {
        "__name__": "page",
        "np": np,
        "da": da,
        "zarr": zarr,
        "plot": plot,
        "load": lambda folder: datasets.load(folder).images,  # a function of the reader
        "DIKMeans": DIKMeans,
        "align": align,
        "pairwise_cost": pairwise_cost,
        "X": X,
        "images": X,
        "X_new": X_new,
        "new_images": X_new,
        "model": shelf.model,
        "image_set": shelf.image_set,
        "photos": [np.kron(x, np.ones((2, 2))) for x in X],
        "files": files,
        "read": lambda path: np.asarray(Image.open(path)) / 255,
        "batch": X[:20],
        "batches": [X[:20], X[20:]],
        "templates": X[:5],
        "centroids": X[:5],
        "picture": X[0],
        "template": X[10],
        "folders": ["photos"],
        "n": N_PICTURES,
        "pieces": [(0, np.zeros((20, 28, 28))), (20, np.ones((20, 28, 28)))],
        "MyModel": KMeans,
    }
