"""Looking at clusterings: functions that return matplotlib figures.

A user's own model: `centroids`, `forms`, `members`, `alignment` (why is this image here?), `history`.
"""

from dikmeans.plot.centroids import centroid_rows, centroids
from dikmeans.plot.cluster_members import members
from dikmeans.plot.cluster_prototypes import forms
from dikmeans.plot.fit_history import history
from dikmeans.plot.why_here import alignment

__all__ = [
    "alignment",
    "centroid_rows",
    "centroids",
    "forms",
    "history",
    "members",
]
