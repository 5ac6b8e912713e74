"""
Pictures that belong nowhere
============================

Real collections hold strangers. With ``outliers="auto"`` pictures that fit far worse than their
cluster's other members get the label -1, and pull no centroid.

Here twelve characters from a font are hidden among handwritten digits.
"""

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from dikmeans import DIKMeans
from dikmeans.demo import load_digits
from dikmeans.plot.centroid_rows import centroid_rows

font = ImageFont.truetype(f"{matplotlib.get_data_path()}/fonts/ttf/DejaVuSans.ttf", 20)


def glyph(character):
    """A character, white on black, as the digits are."""
    picture = Image.new("L", (28, 28))
    ImageDraw.Draw(picture).text((14, 14), character, 255, font, anchor="mm")
    return np.asarray(picture) / 255


digits = load_digits(800, seed=0)
digits = digits.images[digits.labels < 4]  # zeros, ones, twos and threes
strangers = np.stack([glyph(character) for character in "@&%#$§ß¶WMXÆ"])
X = np.concatenate([digits, strangers])

model = DIKMeans(4, outliers="auto", n_init=1, random_state=0).fit(X)
is_outlier = model.labels_ == -1
n_found = is_outlier[-len(strangers) :].sum()
print(f"{n_found} of {len(strangers)} strangers found")
print(f"{is_outlier.sum() - n_found} of {len(digits)} digits called outliers too")

# %%
# Every picture has a score: how unusual its cost is among the members of its cluster. The highest,
# and the digits with the highest:

order = np.argsort(-model.outlier_scores_)
odd_digits = order[order < len(digits)]
centroid_rows({"highest scores": X[order[:14]], "of digits": X[odd_digits[:14]]})

# %%
# The threshold is yours to move; labels change at once, nothing is fitted again.

for threshold in (1.5, 2.0, 3.0):
    model.set_outlier_threshold(threshold)
    print(f"threshold {threshold}: {(model.labels_ == -1).sum()} outliers")
