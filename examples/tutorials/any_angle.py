"""
Particles and cells at any angle
================================

Particles on a grid, cells on a slide, coins and pollen have no upright position. With
``orientation="any"`` a picture may be turned by any angle before it is compared, and the turn costs
nothing; ``"any-mirrored"`` adds reflections.

The particles of this page are drawn: four shapes at random angles, bent a little, in noise.
"""

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates, rotate

rng = np.random.default_rng(0)
SIDE = 32
rows, columns = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
radius = np.hypot(rows, columns)
bar = (abs(columns) < 2) & (abs(rows) < 10)
SHAPES = {
    "ring with a gap": (abs(radius - 8) < 2) & ~((columns > 0) & (abs(rows) < 3)),
    "T": bar | ((abs(rows + 8) < 2) & (abs(columns) < 8)),
    "hook": bar | ((abs(rows - 8) < 2) & (columns > 0) & (columns < 9)),
    "dumbbell": bar | (np.hypot(abs(rows) - 9, columns) < 4),
}


def particle(shape):
    """A shape, bent, turned, moved, and behind noise."""
    bend = gaussian_filter(rng.normal(size=(2, SIDE, SIDE)), (0, 6, 6))
    bend *= 1.5 / abs(bend).max()
    places = np.mgrid[:SIDE, :SIDE] + bend + rng.normal(scale=0.7, size=(2, 1, 1))
    turned = rotate(shape.astype(float), rng.uniform(0, 360), reshape=False, order=1)
    picture = gaussian_filter(map_coordinates(turned, places, order=1), 0.7)
    return np.maximum(picture + rng.normal(scale=0.12, size=picture.shape), 0)


names = np.repeat(list(SHAPES), 45)
X = np.stack([particle(SHAPES[name]) for name in names]).astype(np.float32)

from dikmeans.plot.centroid_rows import centroid_rows

centroid_rows({name: X[names == name][:9] for name in SHAPES})

# %%
# Fit
# ---
# The frame is square and the particles lie in its middle: both matter, as pictures are turned about
# the middle of the frame.

from dikmeans import DIKMeans, plot
from dikmeans.evaluation import clustering_accuracy

upright = DIKMeans(4, n_init=1, random_state=0).fit(X)
model = DIKMeans(4, orientation="any", n_init=1, random_state=0).fit(X)
for name, fitted in {"upright": upright, "any": model}.items():
    accuracy = clustering_accuracy(names, fitted.labels_)
    print(f"orientation {name!r}: {accuracy:.1%} of the particles right")

# %%
# Class averages
# --------------
# In the pose of their prototype particles can be averaged: noise goes, shape stays. These are the
# class averages that electron microscopists know.

plot.centroids(model, X, title="Means of the particles after alignment")

# %%
# By which angle each was turned is in its alignment: a matrix, which is applied before the warp.

turns = np.stack([alignment.orientation for alignment in model.align(X[:5])])
print("degrees:", np.degrees(np.arctan2(turns[:, 1, 0], turns[:, 0, 0])).round(1))
plot.members(model, X, cluster=int(model.labels_[0]), most=9)

# %%
# What orientation costs: every picture is compared in 16 orientations (32 with mirror images), so a
# fit takes longer; and a six and a nine are now the same thing. If orientation carries meaning, do
# not ask for it. For particles in very low signal to noise, and for three dimensions, use a cryo-EM
# package: see `Compared with other methods <../../understand/comparison.html>`_.
