"""
Handwriting and glyph scans
===========================

You have cut letters, initials or ornaments out of scanned pages: hundreds of small files of many
sizes, on paper that is darker in one corner than in the other. Which of them are the same letter?
What does the type of this printer look like?

The scans of this page are made from type faces that come with matplotlib, set crookedly on uneven,
speckled paper. Replace ``folder`` by a folder of your own.
"""

import tempfile
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

rng = np.random.default_rng(0)
folder = Path(tempfile.mkdtemp()) / "scans"
folder.mkdir()
faces = ("DejaVuSerif", "DejaVuSerif-Bold", "STIXGeneral", "STIXGeneralBol", "cmr10", "DejaVuSans")
faces = [f"{matplotlib.get_data_path()}/fonts/ttf/{face}.ttf" for face in faces]


def scan(character):
    """A letter on a scrap of paper, as a person would have cut it out."""
    rows, columns = rng.integers(48, 80, size=2)
    ink = Image.new("L", (int(columns), int(rows)))
    font = ImageFont.truetype(faces[rng.integers(len(faces))], int(0.72 * min(rows, columns)))
    ImageDraw.Draw(ink).text((columns / 2, rows / 2), character, 255, font, anchor="mm")
    ink = np.asarray(ink.rotate(rng.normal(0, 5), Image.Resampling.BICUBIC)) / 255
    down, right = np.mgrid[0 : 1 : 1j * rows, 0 : 1 : 1j * columns]
    paper = 0.9 - 0.3 * rng.uniform() * down - 0.2 * rng.uniform() * right
    return paper * (1 - 0.75 * ink) + rng.normal(scale=0.015, size=ink.shape)


for number, character in enumerate("aBeGmRst" * 30):
    pixels = np.clip(255 * scan(character), 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(folder / f"{number:03}-{character}.png")

# %%
# Load the folder
# ---------------
# ``load`` takes a folder or a zip. Pictures of different sizes are scaled to fit one frame and
# padded with their own paper. The size is chosen so that little detail is lost, and a warning says
# so.

from dikmeans.datasets import load

scans = load(folder)
print(scans.images.shape, "the first files:", scans.names[:4])

# %%
# Fit
# ---
# There are eight letters. If you do not know the number, `try several
# <../../gallery/1_clusters/choosing_k.html>`_. Nothing needs to be said about paper and polarity:
# the model looks at the pictures and decides.

from dikmeans import DIKMeans, plot

model = DIKMeans(8, n_init=1, random_state=0).fit(scans.images)
print(model.preprocessing_)

# %%
# Look
# ----
# With the pictures at hand, centroids are shown as people know them: as means of the scans, each
# aligned with its centroid. Crooked and differently cut letters give one sharp picture.

plot.centroids(model, scans.images)

# %%
# A cluster that mixes letters shows up as a blurred mean. The members of one cluster, from the best
# fit to the worst, as scanned and as aligned:

plot.members(model, scans.images, cluster=0)

# %%
# Here the letters are in the file names, so we can count. Without them, this is what you would do
# with the report: look at each cluster and name it.

truth = np.array([Path(name).stem[-1] for name in scans.names])
for cluster in range(8):
    letters, counts = np.unique(truth[model.labels_ == cluster], return_counts=True)
    print(cluster, dict(zip(letters.tolist(), counts.tolist(), strict=True)))

# %%
# The doubtful ones
# -----------------
# The margin says how much more the second-best cluster would cost. Near zero, the picture might as
# well be there: look at these first.

doubtful = np.argsort(model.assignment_.margins)[:5]
for number in doubtful:
    print(f"{scans.names[number]}: margin {model.assignment_.margins[number]:.3f}")
plot.alignment(model, scans.images[doubtful[0]])

# %%
# Keep it
# -------
# A run is a folder with the model, the labels, and where the pictures came from. ``write_report``
# makes one page for the browser; ``dikmeans studio RUN`` opens the run to name, merge, move and
# reject.

from dikmeans.datasets import ImageSource
from dikmeans.report import write_report
from dikmeans.runs import write_run

run = write_run(folder.parent / "run", model, scans, ImageSource.resolve(folder), seconds=0.0)
write_report(run.path / "report.html", model, scans, assignment=model.assignment_)
print(sorted(path.name for path in run.path.iterdir()))

# %%
# From the command line all of this is ``dikmeans fit scans -k 8 -o run``: see `Your own folder
# <../own-folder.html>`_.
