"""
Save a model, and read it anywhere
==================================

A model is one file: arrays as safetensors, everything else as JSON, and a checksum. No pickle:
reading it cannot run code, whoever has sent it.
"""

import tempfile
from pathlib import Path

import numpy as np
from safetensors import safe_open
from sklearn.datasets import load_digits

from dikmeans import DIKMeans, plot

X = load_digits(n_class=5).images
model = DIKMeans(5, n_init=1, random_state=0).fit(X[:300])

path = Path(tempfile.mkdtemp()) / "digits.safetensors"
model.save(path)
loaded = DIKMeans.load(path)
print(f"{path.stat().st_size / 1000:.0f} kB")
print(
    "same labels for new pictures:", np.array_equal(loaded.predict(X[300:]), model.predict(X[300:]))
)

# %%
# Any program that reads safetensors can look inside.

with safe_open(path, framework="numpy") as file:
    for name in sorted(file.keys()):
        print(f"{name}: {file.get_slice(name).get_shape()}")

# %%
# A file that is damaged is refused by name.

damaged = path.with_name("damaged.safetensors")
damaged.write_bytes(path.read_bytes()[:-100])
try:
    DIKMeans.load(damaged)
except ValueError as error:
    print(str(error).replace(str(path.parent), "..."))

# %%
# The loaded model is whole: it draws, predicts, and can be refined.

plot.centroids(loaded)
