"""Looking at clusterings: functions that return matplotlib figures.

A user's own model: `centroids`, `forms`, `members`, `alignment` (why is this image here?), `history`.
The paper: `transformations`, `time_growth`, `centroid_rows`, `centroid_overview`, `embedding`,
`accuracy_against_distortion`.
"""

from dikmeans.show.accuracy_line import accuracy_against_distortion
from dikmeans.show.centroids import centroid_overview, centroid_rows, centroids
from dikmeans.show.cluster_forms import forms
from dikmeans.show.cluster_members import members
from dikmeans.show.fit_history import history
from dikmeans.show.growth_curves import time_growth
from dikmeans.show.point_clouds import embedding
from dikmeans.show.warp_pictures import example_warps, transformations
from dikmeans.show.why_here import alignment

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
