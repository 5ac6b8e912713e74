"""
Warps, drawn
============

Why is this picture in this cluster? Because the centroid, bent a little, looks like it. The warp
can be seen: as the bent centroid, as a grid, as arrows.
"""

import numpy as np
from matplotlib import pyplot as plt

from dikmeans import DIKMeans, plot
from dikmeans.demo import load_digits

digits = load_digits(400, seed=0)
X = digits.images[digits.labels < 5]
model = DIKMeans(5, n_init=1, random_state=0).fit(X)

# %%
# `dikmeans.plot.alignment` has the whole story of one picture, here the worst fit of the first
# cluster.

members = np.flatnonzero(model.labels_ == 0)
worst = members[model.assignment_.costs[members].argmax()]
plot.alignment(model, X[worst])

# %%
# The same by hand, from the `Alignment`: for each pixel its ``grid`` says where in the centroid its
# value comes from.

found = model.align(X[[worst]])[0]
here = np.moveaxis(np.mgrid[:28, :28], 0, -1)
shift = found.grid - here
figure, axes = plt.subplots(1, 3, figsize=(8, 3), layout="constrained")
axes[0].imshow(model.prototypes_[found.prototype], cmap="gray_r")
for lines in (found.grid[::3], found.grid[:, ::3].swapaxes(0, 1)):
    for line in lines:
        axes[0].plot(line[:, 1], line[:, 0], color="tab:red", linewidth=0.7)
axes[0].set_title("the grid on the centroid")
axes[1].imshow(found.warped, cmap="gray_r")
axes[1].set_title("the centroid, bent")
axes[2].imshow(X[worst], cmap="gray_r")
some = (slice(None, None, 3),) * 2
axes[2].quiver(here[some][..., 1], here[some][..., 0], shift[some][..., 1], shift[some][..., 0],
               color="tab:blue", angles="xy", scale_units="xy", scale=1)  # fmt: skip
axes[2].set_title("the picture, and the shift")
for axis in axes:
    axis.set(xticks=[], yticks=[])

# %%
# Two halves make the cost: what does not fit, and what the bend costs.

print(
    f"cost {found.cost:.3f}, of which bending {found.bending_cost:.3f}; folded {found.folded:.0%}"
)
