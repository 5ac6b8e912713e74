"""
Pairwise costs with scikit-learn
================================

`pairwise_cost` is the measure without the clustering: a matrix of costs, for any method that takes
one. Here nearest neighbors learn digits from three examples each, and HDBSCAN clusters by a matrix
of costs.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import HDBSCAN
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.neighbors import KNeighborsClassifier

from dikmeans import pairwise_cost

digits = load_digits()
X, y = digits.images / 16, digits.target
train = np.concatenate([np.flatnonzero(y == k)[:3] for k in range(10)])
test = np.setdiff1d(np.arange(430), train)

# %%
# The rows are the pictures, the columns those they are compared with; scikit-learn takes the matrix
# as ``metric="precomputed"``.

neighbors = KNeighborsClassifier(1, metric="precomputed")
for name, measure in {
    "pixels": lambda a, b: pairwise_distances(a.reshape(len(a), -1), b.reshape(len(b), -1)),
    "deformation-invariant": lambda a, b: pairwise_cost(a, b, intensity="affine"),
}.items():
    neighbors.fit(measure(X[train], X[train]), y[train])
    score = neighbors.score(measure(X[test], X[train]), y[test])
    print(f"nearest of 30 pictures, {name}: {score:.1%} right")

# %%
# For methods that want distances: the cost is not symmetric (one of the two is bent), so take the
# mean of both directions; and it is like a squared distance, so take the root.

some = np.flatnonzero(y < 5)[:200]
costs = pairwise_cost(X[some], X[some], intensity="affine")
distances = np.sqrt((costs + costs.T) / 2)
np.fill_diagonal(distances, 0)
matrices = {
    "pixels": pairwise_distances(X[some].reshape(len(some), -1)),
    "deformation-invariant": distances,
}
for name, matrix in matrices.items():
    labels = HDBSCAN(min_cluster_size=8, metric="precomputed", copy=True).fit_predict(matrix)
    agreement = adjusted_rand_score(y[some], labels)
    print(f"HDBSCAN, {name}: {labels.max() + 1} clusters, adjusted Rand index {agreement:.2f}")

# %%
# Both matrices, with pictures in the order of their digits. Dark is near.

order = np.argsort(y[some], kind="stable")
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axis, (name, matrix) in zip(axes, matrices.items(), strict=True):
    axis.imshow(matrix[np.ix_(order, order)], cmap="magma")
    axis.set(title=name, xticks=[], yticks=[])
