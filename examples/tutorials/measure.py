"""
The measure without the clustering
==================================

Underneath the clustering lies a measure: how well does one picture fit another, after the best
bend? It serves nearest neighbors, retrieval, density-based clustering and registration just as
well.

Two functions have it: `pairwise_cost` for many pairs, `align` for one, with all that there is to
see.
"""

import numpy as np
from matplotlib import pyplot as plt

from dikmeans import align, pairwise_cost
from dikmeans.demo import load_digits
from dikmeans.preprocessing import LocalContrast

digits = load_digits(260, seed=1)
X, y = digits.images, digits.labels

# %%
# Registration
# ------------
# `align` warps its second picture onto its first (``direction="image-to-centroid"`` the other way
# round). What it finds can be applied to anything registered with the picture: a mask, an
# annotation, another channel.

target, moving = X[np.flatnonzero(y == 2)[[0, 3]]]
found = align(target, moving)
annotation = np.zeros((28, 28))
annotation[::4] = annotation[:, ::4] = 1  # lines drawn on the moving picture

from scipy.ndimage import map_coordinates

carried = map_coordinates(annotation, np.moveaxis(found.grid, -1, 0), order=1)
figure, axes = plt.subplots(1, 5, figsize=(9, 2.2), layout="constrained")
panels = {"target": target, "moving": moving, "moving, warped": found.warped}
for axis, (name, panel) in zip(axes, panels.items(), strict=False):
    axis.imshow(panel, cmap="gray_r")
    axis.set_title(name)
axes[3].imshow(carried, cmap="gray_r")
axes[3].set_title("its annotation, carried")
axes[4].imshow(found.residual, cmap="RdBu", vmin=-1, vmax=1)
axes[4].set_title("what does not fit")
for axis in axes:
    axis.set(xticks=[], yticks=[])
print(f"cost {found.cost:.1f}, of which bending {found.bending_cost:.1f}")

# %%
# Prepare pictures first
# ----------------------
# The measure takes pictures as they are: a cost is a sum of squared differences. Prepare them as a
# fit would, with any step of `dikmeans.preprocessing`. At unit norm, 0 is a perfect fit, and 1 no
# better than an empty picture.

prepared = LocalContrast().fit_transform(X)
train, test = np.arange(60), np.arange(60, 260)
costs = pairwise_cost(prepared[test], prepared[train])
print(f"costs from {costs.min():.2f} to {costs.max():.2f}")

# %%
# Nearest neighbors
# -----------------
# Sixty labeled digits, two hundred to recognize.

from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsClassifier

flat = X.reshape(len(X), -1)
matrices = {"pixels": pairwise_distances(flat[test], flat[train]), "bent": costs}
classifier = KNeighborsClassifier(1, metric="precomputed")
classifier.fit(np.zeros((len(train), len(train))), y[train])
for name, matrix in matrices.items():
    print(f"{name}: {classifier.score(matrix, y[test]):.1%} right")

# %%
# Retrieval
# ---------
# The nearest of the labeled pictures to some of the others:

from dikmeans.plot.centroid_rows import centroid_rows

queries = np.arange(8)
nearest = costs[queries].argsort(axis=1)[:, :3]
centroid_rows(
    {"query": X[test[queries]], **{f"nearest {n + 1}": X[train[nearest[:, n]]] for n in range(3)}}
)

# %%
# HDBSCAN
# -------
# It wants a symmetric matrix of distances. The cost bends one of the two, so take the mean of both
# directions; and as it is a squared distance, the root. It finds the number of clusters by itself,
# and leaves pictures in sparse places out (-1).

from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score

some = np.flatnonzero(y < 4)[:90]
both = pairwise_cost(prepared[some], prepared[some])
distances = np.sqrt((both + both.T) / 2)
np.fill_diagonal(distances, 0)
for name, matrix in {"pixels": pairwise_distances(flat[some]), "bent": distances}.items():
    labels = HDBSCAN(min_cluster_size=5, metric="precomputed", copy=True).fit_predict(matrix)
    score = adjusted_rand_score(y[some], labels)
    print(f"{name}: {labels.max() + 1} clusters, adjusted Rand index {score:.2f}")

# %%
# A matrix of all pairs takes N x N alignments, a clustering N x K: for more than a few thousand
# pictures, cluster, or compare with some exemplars only.
