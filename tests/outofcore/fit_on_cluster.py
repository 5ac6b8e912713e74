"""A program that fits images on a cluster, and waits to be told to go on after an iteration.

    python -m tests.outofcore.fit_on_cluster SCHEDULER_FILE FOLDER N_WORKERS

It reads FOLDER/images.npy and writes FOLDER/result.npz, with its checkpoint in FOLDER/checkpoint.
After the second iteration over all images it writes "paused" and waits for a line. Exit status 3 is
a lost cluster.
"""

from __future__ import annotations

import sys
from pathlib import Path

import dask.array as da
import numpy as np

from dikmeans.kmeans.schedule import PhaseKind
from tests.outofcore.sharded_fits import quick

PARAMETERS = {"warp": "affine", "max_iter": 4, "search__tol": 0.0}
CLUSTER_LOST = 3
PAUSE_AFTER = 2


def pause(event) -> None:
    """Wait for a line after an iteration; say if the fit has been resumed."""
    if event.resumed:
        print(f"resumed after {event.iteration}", flush=True)
    elif event.phase.kind is PhaseKind.ALL_IMAGES and event.iteration == PAUSE_AFTER:
        print("paused", flush=True)
        sys.stdin.readline()


def main() -> None:
    from distributed import Client

    from dikmeans.outofcore.dask_workers import ClusterError

    scheduler, folder, n_workers = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    images = np.load(folder / "images.npy")
    client = Client(scheduler_file=scheduler, set_as_default=True, timeout=60)
    client.wait_for_workers(n_workers, timeout=90)
    X = da.from_array(images, chunks=(40, *images.shape[1:]))
    try:
        model = quick(**PARAMETERS).fit(X, checkpoint=folder / "checkpoint", progress=pause)
    except ClusterError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        sys.exit(CLUSTER_LOST)
    np.savez(
        folder / "result.npz",
        labels=model.labels_,
        prototypes=model.prototypes_,
        inertia=model.history_.inertia,
    )
    print("done", flush=True)


if __name__ == "__main__":
    main()
