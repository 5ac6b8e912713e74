r"""
The paper's propositions, checked
=================================

The appendix of the paper proves what the measure

.. math:: d(x, \mu) = \min_\nu \|\mathrm{TPS}(x, \nu) - \mu\|

is and what it is not. The proofs take the warps for a group; splines are none, pictures have edges,
and a descent may end early. Here are the statements with real digits and numbers, and two places
where the text is loose. The image is warped, as in the paper, and nothing is charged for bending
unless it says so.
"""

import numpy as np
from matplotlib import pyplot as plt

from dikmeans import align, pairwise_cost
from dikmeans.demo import load_digits
from dikmeans.preprocessing import UnitNorm

digits = load_digits(300, seed=3)
X, y = UnitNorm().fit_transform(digits.images), digits.labels
free = {"direction": "image-to-centroid", "smoothness": 0.0}


def distances(images, centroids, **options):
    """The measure itself: the root of the cost."""
    return np.sqrt(pairwise_cost(images, centroids, **{**free, **options}))


def bent(picture, strength, seed):
    """A picture under a random smooth map of the plane."""
    from scipy.ndimage import gaussian_filter, map_coordinates

    moves = np.random.default_rng(seed).normal(size=(2, *picture.shape))
    moves = np.stack([gaussian_filter(m, 6) for m in moves])
    moves *= strength / np.abs(moves).max()
    return map_coordinates(picture, np.indices(picture.shape) + moves, order=1)


# %%
# Pseudo: zero does not mean equal
# --------------------------------
# Bent copies of a digit are other pictures, but at (almost) no distance. "Almost" is resampling:
# a picture that is bent and bent back is smoother than before.

two = X[np.flatnonzero(y == 2)[0]]
copies = np.stack([bent(two, strength, seed=strength) for strength in (1, 2, 3, 4)])
print("pixel by pixel:", np.linalg.norm((copies - two).reshape(4, -1), axis=1).round(2))
print("bent:          ", distances(copies, [two])[:, 0].round(2))

# %%
# Quasi: the two directions differ
# --------------------------------
# A warp that enlarges also enlarges what does not fit. On average over pairs of digits the
# directions differ by a good part of the distance. Weighted by the root of the Jacobian
# determinant, as the paper remarks, they agree.

some = X[:40]
for symmetric in (False, True):
    costs = np.sqrt(pairwise_cost(some, some, symmetric=symmetric, **free))
    difference = np.abs(costs - costs.T).sum() / costs.sum()
    print(f"symmetric={symmetric}: the directions differ by {difference:.0%}")

# %%
# Semi: no triangle inequality
# ----------------------------
# The paper leaves open whether the inequality holds between different orbits. It does not: among
# all triples of these digits, some detours are shorter than the direct way.

d = distances(some, some)
detours = (d[:, :, None] + d[None, :, :]).min(axis=1)
broken = d > detours + 1e-6
print(f"{broken.mean():.0%} of the pairs have a detour that is shorter")
i, j = np.unravel_index(
    np.argmax(d / np.maximum(detours, 1e-9) * ~np.eye(len(d), dtype=bool)), d.shape
)
via = int((d[i] + d[:, j]).argmin())
print(f"the worst: {d[i, j]:.2f} directly, {d[i, via]:.2f} + {d[via, j]:.2f} by way of another")

# %%
# Invariance, as far as splines go
# --------------------------------
# Bending an image first should change no distance. To itself it stays near where resampling left
# it, however strong the bend, while pixels drift apart. Distances to other digits do change, by
# about the same for any strength: that is not the bend, but the resampling, and descents that end
# in another minimum.

others = X[np.flatnonzero(y != 2)[:20]]
before = distances([two], others)[0]
for strength in (1, 2, 4):
    copy = bent(two, strength, seed=9)
    change = np.abs(distances([copy], others)[0] / before - 1).mean()
    to_itself = distances([copy], [two])[0, 0]
    print(
        f"bent by up to {strength} pixels: {to_itself:.2f} from itself "
        f"(by pixels {np.linalg.norm(copy - two):.2f}); to others {change:.0%} more or less"
    )

# %%
# The centroid update
# -------------------
# For given warps, the mean of the warped members (at unit norm) is the best centroid: no other
# picture has a lower sum of squares.

members = X[np.flatnonzero(y == 2)[:20]]
warped = np.stack([align(x, two, **free).warped for x in members])
mean = warped.mean(axis=0)
mean /= np.linalg.norm(mean)


def total(centroid):
    """What the members do not have in common with a centroid."""
    return float(((warped - centroid) ** 2).sum())


rng = np.random.default_rng(0)
tries = mean + 0.01 * rng.normal(size=(1000, 28, 28))
tries /= np.linalg.norm(tries, axis=(1, 2), keepdims=True)
print(
    f"the mean: {total(mean):.2f}; the best of 1,000 pictures near it: {min(map(total, tries)):.2f}"
)

# %%
# What goes wrong when images are warped freely
# ---------------------------------------------
# The minimum is over all splines, and the paper charges nothing for them. Then a spline fits
# anything onto anything, and the distance of other digits to a one falls until it tells little.
# Charging for bending (``smoothness``, and the learned prior of a fit) or warping the centroid in
# place of the image, which cannot hide what does not fit, mends it.

one = X[np.flatnonzero(y == 1)[0]]
settings = {
    "free": free,
    "charged": {"direction": "image-to-centroid", "smoothness": 0.3},
    "centroid warped, charged": {},
}
strangers = X[[np.flatnonzero(y == digit)[1] for digit in (3, 7, 8)]]
figure, axes = plt.subplots(3, 4, figsize=(7, 5.6), layout="constrained")
for row, stranger in zip(axes, strangers, strict=True):
    row[0].imshow(stranger, cmap="gray_r")
    row[0].set_title("picture")
    for axis, (name, options) in zip(row[1:], settings.items(), strict=True):
        found = align(stranger, one, **options)
        axis.imshow(found.aligned, cmap="gray_r")
        axis.set_title(f"{name}\ncost {found.cost:.2f}", fontsize=9)
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
