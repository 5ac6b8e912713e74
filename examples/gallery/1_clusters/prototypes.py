"""
Several pictures per cluster
============================

No bend makes a crossed seven of a plain one. So a cluster may have several prototypes, by default
up to four, and a picture belongs to the cluster of the prototype that it fits best.
"""

import numpy as np

from dikmeans import DIKMeans, plot
from dikmeans.demo import load_digits
from dikmeans.plot.centroid_rows import centroid_rows

digits = load_digits(3000, seed=0)
X = digits.images[np.isin(digits.labels, [2, 4, 7])][:450]
model = DIKMeans(3, n_init=1, random_state=0).fit(X)
print(f"{len(model.prototypes_)} prototypes of {model.n_clusters} clusters")

# %%
# One column per cluster, with the number of pictures of each prototype. The first of a cluster is
# its centroid, `cluster_centers_`.

plot.prototypes(model)

# %%
# Which prototype a picture has, is in its assignment. The members nearest to each prototype of the
# first cluster. A small prototype that is unlike the others shows what does not belong.

rows = {}
for prototype in np.flatnonzero(model.prototype_clusters_ == 0):
    members = np.flatnonzero(model.assignment_.prototypes == prototype)
    typical = members[model.assignment_.costs[members].argsort()[:8]]
    rows[f"prototype {prototype}"] = X[typical]
centroid_rows(rows)
