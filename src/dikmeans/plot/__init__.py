"""Figures of a fitted model: functions that return a `matplotlib.figure.Figure`.

`centroids` and `prototypes` show what was found, `members` the images of a cluster before and after
alignment, `alignment` why one image is in its cluster, `history` the course of the fit. They need
the extra ``dikmeans[plot]``; matplotlib is imported when a figure is drawn.
"""

from dikmeans.plot.centroid_rows import centroids
from dikmeans.plot.cluster_members import members
from dikmeans.plot.cluster_prototypes import prototypes
from dikmeans.plot.fit_history import history
from dikmeans.plot.image_alignment import alignment

__all__ = ["alignment", "centroids", "history", "members", "prototypes"]
