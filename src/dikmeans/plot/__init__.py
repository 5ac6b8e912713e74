"""Looking at clusterings: functions that return matplotlib figures.

A user's own model: `centroids`, `forms`, `members`, `alignment` (why is this image here?), `history`.
The paper: `transformations`, `time_growth`, `centroid_rows`, `centroid_overview`, `embedding`,
`accuracy_against_distortion`.
"""

from dikmeans.paper.plots.accuracy_line import accuracy_against_distortion
from dikmeans.paper.plots.growth_curves import time_growth
from dikmeans.paper.plots.point_clouds import embedding
from dikmeans.plot.centroids import centroid_overview, centroid_rows, centroids
from dikmeans.plot.cluster_members import members
from dikmeans.plot.cluster_prototypes import forms
from dikmeans.plot.fit_history import history
from dikmeans.plot.warp_pictures import example_warps, transformations
from dikmeans.plot.why_here import alignment

__all__ = [
    "accuracy_against_distortion",
    "alignment",
    "centroid_overview",
    "centroid_rows",
    "centroids",
    "embedding",
    "example_warps",
    "forms",
    "history",
    "members",
    "time_growth",
    "transformations",
]
