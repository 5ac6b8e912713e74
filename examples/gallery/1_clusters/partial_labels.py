"""
A few labels
============

If you know the class of some pictures, say so: pass ``y`` with -1 for those you do not know.
Labeled pictures stay with their class, and clusters get its name. Classes without any label are
found as always.

Here three pictures each of five of the ten digits are labeled.
"""

import numpy as np
from sklearn.datasets import load_digits

from dikmeans import DIKMeans, plot
from dikmeans.evaluation import clustering_accuracy

digits = load_digits()
X, target = digits.images[:400], digits.target[:400]

names = {1: "one", 4: "four", 7: "seven", 8: "eight", 9: "nine"}
y = np.full(len(X), -1, dtype=object)
for number, name in names.items():
    y[np.flatnonzero(target == number)[:3]] = name

without = DIKMeans(10, n_init=1, random_state=0).fit(X)
model = DIKMeans(10, n_init=1, random_state=0).fit(X, y)
print(f"without labels: {clustering_accuracy(target, without.labels_):.1%} of pictures right")
print(f"with 15 labels: {clustering_accuracy(target, model.labels_):.1%}")
print(model.cluster_names_)

# %%
# The clusters in the order of their numbers, as in ``cluster_names_`` above.

plot.centroids(model)

# %%
# How sure is it? ``membership`` turns costs into probabilities, with a temperature that is found
# without labels.

membership = model.membership(X)
least_sure = membership.max(axis=1).argsort()[:5]
for number in least_sure:
    best = membership[number].argsort()[:-3:-1]
    print(f"a {target[number]}:", {int(k): round(float(membership[number, k]), 2) for k in best})
