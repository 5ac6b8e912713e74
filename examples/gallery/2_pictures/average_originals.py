"""
Averages of originals, at full resolution
=========================================

Pictures are compared small and gray, but a warp is a map of the plane: it applies to your files as
well. `average_originals` carries every original into the pose of its prototype and averages there:
in color, in any resolution, or on another channel or mask that is registered with the pictures.

The originals here are letters in many type faces, inked and moved by chance, 160 pixels wide; they
are compared at 32.
"""

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from PIL import Image, ImageDraw, ImageFont

from dikmeans import DIKMeans

folder = f"{matplotlib.get_data_path()}/fonts/ttf"
names = [
    f"DejaVu{n}" for n in ("Sans", "Sans-Bold", "Sans-Oblique", "SansMono", "Serif", "Serif-Bold")
]
fonts = [
    f"{folder}/{name}.ttf" for name in (*names, "STIXGeneral", "STIXGeneralBol", "cmr10", "cmss10")
]
rng = np.random.default_rng(0)


def letter(character):
    """A letter in some type face, at some place, in some ink, on paper."""
    picture = Image.new("RGB", (160, 160), tuple(rng.integers([225, 215, 190], 250)))
    font = ImageFont.truetype(fonts[rng.integers(len(fonts))], int(rng.integers(100, 140)))
    ink = tuple(rng.integers(0, [70, 60, 110]))
    ImageDraw.Draw(picture).text(rng.normal(80, 5, size=2), character, ink, font, anchor="mm")
    return picture.rotate(
        rng.normal(0, 6), Image.Resampling.BICUBIC, fillcolor=picture.getpixel((0, 0))
    )


originals = [letter(character) for character in "aGRm" * 30]
X = np.stack([np.asarray(picture.resize((32, 32))) for picture in originals]) / 255
model = DIKMeans(4, n_init=1, n_prototypes=1, random_state=0).fit(X)
averages = model.average_originals(X, [np.asarray(picture) / 255 for picture in originals])

# %%
# Above, the plain mean of the members of each cluster, at full size. Below, their mean after each
# was carried along its warp.

figure, axes = plt.subplots(2, 4, figsize=(8, 4.2), layout="constrained")
for cluster, (above, below) in enumerate(axes.T):
    members = [np.asarray(originals[i]) for i in np.flatnonzero(model.labels_ == cluster)]
    above.imshow(np.mean(members, axis=0) / 255)
    above.set_title(f"{len(members)} letters")
    below.imshow(np.clip(averages.mean[cluster], 0, 1))
for axis in axes.ravel():
    axis.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("plain mean")
axes[1, 0].set_ylabel("after alignment")
