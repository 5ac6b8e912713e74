"""
Several processes with Dask
===========================

With a Dask array and a connected client, the workers of the cluster do the work: on this machine,
or on a hundred. Every chunk stays with the worker that has read it; only centroids and sums travel.
"""

import dask.array as da
import numpy as np
from distributed import Client
from sklearn.datasets import load_digits

from dikmeans import DIKMeans, Search, plot

images = load_digits(n_class=5).images[:600]
few = {"n_init": 1, "search": Search(n_swaps=3), "random_state": 0}

# %%
# Here the workers are threads of this program; ``Client("tcp://scheduler:8786")`` connects to a
# real cluster. The result is that of a fit in memory, but for the rounding of sums.

with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None):
    X = da.from_array(images, chunks=(150, 8, 8))
    model = DIKMeans(5, **few).fit(X)

in_memory = DIKMeans(5, **few).fit(images)
print(
    f"{X.npartitions} chunks; {np.mean(model.labels_ == in_memory.labels_):.1%} of the labels equal"
)
print(f"inertia {model.inertia_:.4f}, in memory {in_memory.inertia_:.4f}")

# %%

plot.centroids(model)
