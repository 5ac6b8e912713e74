"""Images in memory under one measure: what most tests of the algorithm start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dikmeans.kmeans.dataset import Clustering, Dataset, LocalFit
from dikmeans.kmeans.lloyd import Step, lloyd
from dikmeans.registration.measure import Measure, PairFits
from tests import reference


@dataclass(frozen=True)
class Problem:
    """A data set and the measure to cluster it by."""

    dataset: Dataset
    measure: Measure

    @classmethod
    def of(cls, images, measure, weights=None, n_jobs=1) -> Problem:
        """For images (n, C, rows, columns)."""
        return cls(Dataset.in_memory(images.astype(measure.dtype), weights, n_jobs), measure)

    @property
    def images(self) -> np.ndarray:
        return self.dataset.local().images

    @property
    def weights(self) -> np.ndarray:
        return self.dataset.local().weights

    def assign(self, centroids, start=None) -> Clustering:
        return self.dataset.assign(self.measure, centroids, start=start)

    def lloyd(self, start, *, max_iter, tol=0.0) -> list[Step]:
        return list(lloyd(self.dataset, self.measure, start, max_iter=max_iter, tol=tol))

    def local(self, clustering) -> LocalFit:
        return self.dataset.local_fit(self.measure, clustering)

    def labels(self, clustering) -> np.ndarray:
        return self.local(clustering).labels

    def fits(self, clustering) -> PairFits:
        (fits,) = clustering.fits
        return fits

    def inertia(self, clustering) -> float:
        """From the definition: every image, warped as its parameters say, against its centroid."""
        fit = self.local(clustering)
        if self.measure.intensity.name == "affine":
            return self._matched_inertia(clustering, fit)
        if self.measure.direction == "image-to-centroid":
            warped = self.measure.render(
                self.images, np.arange(len(self.images)), fit.nearest_deltas
            )
            difference = warped - clustering.centroids[fit.labels]
        else:
            warped = self.measure.render(clustering.centroids, fit.labels, fit.nearest_deltas)
            difference = warped - self.images
        squares = (difference.astype(float) ** 2).sum(axis=(1, 2, 3))
        energies = (self.images.astype(float) ** 2).sum(axis=(1, 2, 3))
        penalties = self.measure.penalty(fit.nearest_deltas, fit.labels)
        return float(self.weights @ (squares + energies * penalties))

    def _matched_inertia(self, clustering: Clustering, fit: LocalFit) -> float:
        """As `inertia`, after the gains and offsets that least squares finds for each channel."""
        images = reference.standardized(self.images)
        centroids = reference.standardized(clustering.centroids)[fit.labels]
        is_euclidean = self.measure.warp.name == "none"
        warps_images = self.measure.direction == "image-to-centroid" and not is_euclidean
        templates, targets = (images, centroids) if warps_images else (centroids, images)
        warped = self.measure.render(templates, np.arange(len(templates)), fit.nearest_deltas)
        squares = [
            sum(reference.matched(*channels)[2] for channels in zip(*pictures, strict=True))
            for pictures in zip(warped, templates, targets, strict=True)
        ]
        return float(
            self.weights @ (squares + self.measure.penalty(fit.nearest_deltas, fit.labels))
        )
