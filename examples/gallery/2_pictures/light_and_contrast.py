"""
Light and contrast
==================

With ``intensity="affine"`` gain and offset of every picture are solved for within the alignment: a
picture that is darker, or behind fog, costs no more than before.
"""

import numpy as np
from sklearn.datasets import load_digits

from dikmeans import DIKMeans
from dikmeans.evaluation import clustering_accuracy
from dikmeans.plot.centroid_rows import centroid_rows

# %%
# Digits, each under a light of its own: a random gain, and a random offset.

digits = load_digits(n_class=5)
X, target = digits.images[:300] / 16, digits.target[:300]
rng = np.random.default_rng(0)
gain, offset = rng.uniform(0.2, 1, (300, 1, 1)), rng.uniform(0, 1, (300, 1, 1))
exposed = gain * X + offset
centroid_rows({"digits": X[:10] * 2, "exposed": exposed[:10]})

# %%
# The same fit, as they are and with light and contrast solved for:

for intensity in ("fixed", "affine"):
    model = DIKMeans(
        5, preprocessing="unit-norm", intensity=intensity, n_init=1, random_state=0
    ).fit(exposed)
    accuracy = clustering_accuracy(target, model.labels_)
    print(f"{intensity:>6}: {accuracy:.1%} of the pictures right")

# %%
# What was found for a picture is in its alignment.

found = model.align(exposed[:3])
print("gain  ", found.gain.ravel().round(2))
print("offset", found.offset.ravel().round(2))
