"""
A million images
================

More pictures than fit into memory are read piece by piece, from a memory map, an array of zarr or
h5py, or an iterator. A fit searches on a sample and needs nothing of the rest but sums, so its
memory grows with the number of pictures only by what it says about each: 24 bytes.

This page goes through the steps with 1,500 small digits, so that it runs in a minute; the calls are
those you would make for a million.
"""

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

folder = Path(tempfile.mkdtemp())
images = load_digits().images[:1500].astype(np.float32)
np.save(folder / "images.npy", images)

# %%
# How much will it take?
# ----------------------
# Ask before you start. Memory is computed from what a fit keeps: here for pictures of 28 x 28 in
# ten clusters, in memory and read piece by piece.

from dikmeans.monitoring.memory import estimate_memory

for n in (10_000, 1_000_000, 100_000_000):
    whole = estimate_memory(n, (28, 28), 10, sample_size=4000) / 2**30
    pieces = estimate_memory(n, (28, 28), 10, sample_size=4000, streamed=True) / 2**30
    print(f"{n:>11,} images: {whole:8.1f} GiB in memory, {pieces:5.1f} GiB piece by piece")

# %%
# Time grows in proportion to the number of pictures once the search, which works on the sample, is
# done. ``dikmeans fit INPUT -k 10 --dry-run`` times a few alignments on your machine and says how
# long a fit will take; `Large sets <../../scale.html>`_ has what one image costs.

# %%
# Fit from disk
# -------------
# Pass the memory map. With a ``checkpoint`` the fit survives a crash; ``progress`` tells where it
# is.

from dikmeans import DIKMeans, Search, plot

X = np.load(folder / "images.npy", mmap_mode="r")
search = Search(sample_size=500)  # 4,000 by default
phases = []
model = DIKMeans(10, search=search, n_init=1, random_state=0)
model.fit(
    X,
    checkpoint=folder / "fit.checkpoint",
    progress=lambda event: phases.append(event.phase.kind.value),
)
print("phases and their iterations:", {name: phases.count(name) for name in dict.fromkeys(phases)})
plot.centroids(model)

# %%
# The rest of the work is linear
# ------------------------------
# New pictures are assigned with the prototypes fixed, piece by piece as well.

labels = model.predict(X)
print("the fit's own labels again:", np.array_equal(labels, model.labels_))

# %%
# A stream
# --------
# If pictures come and go, ``partial_fit`` sees each batch once.

stream = DIKMeans(10, search=search, random_state=0)
for start in range(0, len(images), 500):
    stream.partial_fit(images[start : start + 500])
print(f"{stream.cluster_weights_.sum():.0f} pictures seen")

# %%
# Several machines
# ----------------
# With a Dask array and a client the workers of a cluster do the work: `Several processes with Dask
# <../../gallery/4_large/several_processes.html>`_ has it on one machine, `Large sets
# <../../scale.html>`_ says how to get a cluster, how large chunks should be, and what a billion
# images would cost.
