"""Looking at clusterings: figures that return matplotlib objects."""

from dikmeans.show.centroids import centroid_rows

__all__ = ["centroid_rows"]
