"""
Correct it, and go on
=====================

`dikmeans.refine` takes what a person has decided and fits again from there: clusters that are one,
pictures that belong elsewhere, pictures that belong nowhere. The `studio <../../studio.html>`_ does
the same with the mouse.
"""

import numpy as np
from sklearn.datasets import load_digits

from dikmeans import Corrections, DIKMeans, plot, refine

digits = load_digits(n_class=4)
X, target = digits.images[:200], digits.target[:200]
model = DIKMeans(6, n_init=1, random_state=0).fit(X)
plot.centroids(model, title="Six clusters of four digits")

# %%
# Some digits have two clusters. Those whose pictures are mostly the same digit should be one: each
# new cluster has the prototypes of the old ones.

majority = np.array([np.bincount(target[model.labels_ == k]).argmax() for k in range(6)])
print("what the clusters show:", majority)
shown = majority[model.prototype_clusters_]  # by each prototype
merged = tuple(tuple(np.flatnonzero(shown == digit).tolist()) for digit in range(4))
refined = refine(model, X, Corrections(clusters=merged))
plot.prototypes(refined, title="Merged, and fitted again")

# %%
# All pictures were compared with the new clusters; those that fit another one better have moved.

moved = (refined.labels_ != majority[model.labels_]).sum()
print(f"{refined.n_clusters} clusters; {moved} of {len(X)} pictures have moved to another digit")
