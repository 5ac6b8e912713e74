"""`DIKMeans`: deformation-invariant K-means as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from dikmeans.registration import Adam, Solver, make_measure
from dikmeans.registration.warped_measure import DIRECTIONS
from dikmeans.registration.measure import DEFAULT_DIRECTION, DEFAULT_SMOOTHNESS
from dikmeans.registration.solvers import SOLVERS, make_solver
from dikmeans.checkpoint.store import open_memory
from dikmeans.checkpoint.fingerprint import fingerprint_of
from dikmeans.kmeans.prototypes import prototype_rule
from dikmeans.kmeans.intake import Intake
from dikmeans.kmeans.partial_fit import PartialFit
from dikmeans.kmeans.prediction import Prediction
from dikmeans.monitoring.progress import CallbackSupportMixin, Progress, with_callbacks
from dikmeans.kmeans.run import Outcome, Plan
from dikmeans.kmeans.runs import best_of_runs
from dikmeans.kmeans.seeding import SEEDINGS
from dikmeans.images import ImageShape, from_channels_first
from dikmeans.registration.warps import WARPS
from dikmeans.registration.sampling import PAD_MODES

# "auto" for `search_size`: at least this many images in all, and a cluster.
AUTO_SEARCH_SIZE, AUTO_SEARCH_PER_CLUSTER = 4000, 200
AUTO_MIN_SWAPS = 10


class DIKMeans(
    Intake,
    PartialFit,
    Prediction,
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    r"""K-means for pictures, blind to deformation.

    Images are compared with centroids not pixel by pixel but after the best warp of one onto the other,

    .. math::
        d(x, \mu) = \min_\nu \|\mathrm{warp}(\mu; \nu) - x\|^2
        + \mathrm{smoothness} \cdot \|x\|^2 \cdot \mathrm{bending}(\nu)

    (and a trace of displacement, see `dikmeans.registration.warped_measure`), and a centroid is the picture that fits
    its members best. Clusters then are shapes, centroids are sharp, and every assignment can be looked at:
    see `align`. Where members differ by more than a deformation, a cluster has several centroids, its forms.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    warp : {"tps", "affine", "none"}, default="tps"
        What deformation the clustering is blind to: thin-plate splines (deformation invariant, DI
        K-means), affine maps (affine invariant, AI K-means), or none (K-means).
    landmarks : "auto", int or (int, int), default="auto"
        Landmark grid of the spline: its side, or (rows, columns), from 2 to 12; "auto" is 4.
    smoothness : float, default=0.3
        Weight of the bending energy: larger is stiffer, 0 leaves the warp free. Its unit is the energy
        of the image, so it does not depend on the scale of the pixels.
    stiffness : {"learned", "uniform"}, default="learned"
        What a warp costs in the end. "uniform": smoothness times bending, alike for all clusters.
        "learned": once a clustering has been found that way, unusual deformations cost more than usual
        ones, at first alike for all clusters, in the end cluster by cluster; see
        `dikmeans.kmeans.deformation_prior`. Has no effect if `smoothness` is 0.
    direction : {"centroid-to-image", "image-to-centroid"}, default="centroid-to-image"
        Which of the two is warped. The paper warps the image; warping the centroid instead does not
        let an image hide from its centroid the parts that do not fit.
    border : {"zero", "edge"}, default="zero"
        What lies outside a picture: zeros, or its edge pixels continued.
    normalize : {"auto", "unit", "strokes", "scales", "subject"} or None, default="auto"
        What is done to every image first. "unit": it is scaled to unit norm, which makes the clustering
        blind to brightness. "strokes": every neighbourhood gets the same energy before, so that a dot
        counts beside a line. "scales": what is fine gets more energy before, so that the gap between two
        fingers counts beside a hand. "subject": what is around the middle is brought to the same place in
        all images, its scales evened out, and all else fades. None: it is taken as it is. "auto" is
        "strokes" for thin and "scales" for thick things on a dark background, "subject" for images without
        one, such as photographs, and "unit" for signals, tiny images and those with negative values; see
        `dikmeans.preprocessing`. Centroids live in the space of the normalised images.
    unit_norm_centroids : bool, default=False
        Keep centroids at unit norm, the paper's constraint. Advisable with "image-to-centroid",
        where images could otherwise shrink together with their centroid.
    solver : {"quasi-newton", "adam"} or Solver, default="quasi-newton"
        How the best warp is found; `dikmeans.registration.Adam` and `dikmeans.registration.QuasiNewton` take
        parameters.
    n_prototypes : "auto" or int, default="auto"
        Forms of a cluster, at most: crossed and plain sevens, say. In the end each cluster is divided into
        so many, and an image belongs to the cluster of the form it is nearest to; see
        `dikmeans.kmeans.prototypes`. Clusters with fewer than five members a form get fewer. "auto" is up to 4,
        one for every 25 members, and 1 with ``warp="none"``. Members in the sample of the search count.
    init : {"k-means++", "measure-k-means++", "random"} or array, default="k-means++"
        First centroids: k-means++ under the Euclidean distance (the paper) or under the measure,
        random images, or given pictures of shape (K, rows, columns[, channels]) (as they are, before
        normalisation). Depends on `random_state` but not on `warp`, but for "measure-k-means++".
        Given centroids are taken at their word: one run of Lloyd's algorithm, no curriculum, no swaps,
        nothing left to chance.
    n_init : int, default=1
        Number of runs; the one with the lowest distortion is kept.
    max_iter : int, default=100
        Lloyd iterations, at most, of each phase of a run: a lesson of the curriculum, the search, the
        search with usual deformations cheaper, what follows a swap, the fit on all images.
    tol : float, default=1e-4
        A run has converged when the distortion falls by less than this share in an iteration, or by
        less than ten times that while no more than this share of the images change their cluster;
        without warp, when the centroids move less, as in scikit-learn's KMeans.
    curriculum : bool, default=True
        Let the warp grow soft step by step: none, affine, stiff spline, spline. Has no effect
        with ``warp="none"``.
    n_swaps : "auto" or int, default="auto"
        Trials of moving a centroid from where it is missed least to a cluster worth splitting, kept if
        the distortion falls. "auto" is the number of clusters, at least 10; 0 with ``warp="none"``.
    search_size : "auto" or int, default="auto"
        Seeds are drawn from, and curriculum and swaps work on, a random sample of at most this many
        images; the centroids are then fitted to all. "auto" is 4,000, or 200 a cluster if that is more.
    image_shape : tuple of int, optional
        (rows, columns) or (rows, columns, channels) of the pictures, if X is flat. A flat X
        without `image_shape` is taken as pictures of one row: signals.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=-1
        Threads; -1 for all cores that are ours: fewer in workers of joblib or Dask and beside other calls
        of the process, see `dikmeans.parallel.cores`. The result does not depend on it.
    device : str or None, default=None
        Where images are aligned: by compiled loops on the processor (None), or by PyTorch, the extra
        ``dikmeans[deep]``, on one of its devices: "cuda", "cuda:1" (a certain one), "cpu" (to compare).
        The same algorithm, but not to the last digit, so that a few images may end up elsewhere.
        A matter of the machine, not of the model: a file does not keep it.
    verbose : int, default=0
        Show a line of progress on standard error. For progress bars see
        ``sklearn.callback.ProgressBar`` and `set_callbacks`.

    Attributes
    ----------
    cluster_centers_ : array of shape (K, rows, columns[, channels])
        The centroids: of each cluster the form that had most members when it was divided.
    prototypes_ : array of shape (M, rows, columns[, channels])
        The forms of all clusters, cluster by cluster, those with more members first.
    prototype_clusters_ : int array of shape (M,)
        The cluster of each form.
    prototype_weights_ : array of shape (M,)
        Weight of the members of each form: their number, without sample weights.
    labels_ : int array of shape (N,)
        The cluster of each image; equal to ``predict(X)``.
    cluster_weights_ : array of shape (K,)
        Weight of the members of each cluster: their number, without sample weights.
    inertia_ : float
        Distortion: the (weighted) sum of the images' costs to their own forms, aligned from
        scratch as `predict` does. `history_` ends before clusters are divided into forms; with one form
        each its last entry, of alignments improved iteration by iteration, is a little lower.
    deformation_precision_ : array of shape (K, 2 n_basis, 2 n_basis) or None
        Learned penalty of the warps in each cluster, or None if they are penalised by their bending.
    n_iter_ : int
        Lloyd iterations of the run that was kept, as in its history: all phases together but trials of
        swaps, and the few between the swaps and the fit on all images.
    history_ : History
        Of that run: phase, distortion, moved labels and seconds of each iteration, and why it
        stopped. A phase's distortions belong to its own measure and fall monotonically.
    init_centers_ : array of shape (K, rows, columns[, channels])
        The first centroids of that run.
    image_shape_ : tuple of int
        Shape of the pictures.
    normalize_ : str or None
        What was done to the images first: `normalize`, or what "auto" chose.
    preprocessing_ : Normaliser
        The same as an object, with what it has learned from the images: ``preprocessing_.exponent`` ("scales",
        "subject"), ``preprocessing_.template`` ("subject").
    solver_ : Solver
        The solver that was used.
    n_features_in_ : int
        Pixels times channels.

    See Also
    --------
    dikmeans.registration.pairwise_cost : The measure without the clustering.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from dikmeans import DIKMeans
    >>> digits = load_digits()
    >>> X = digits.images[digits.target < 3]           # 8 x 8 pixels
    >>> model = DIKMeans(n_clusters=3, random_state=0).fit(X)
    >>> model.cluster_centers_.shape
    (3, 8, 8)
    >>> bool((model.predict(X) == model.labels_).all())
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {  # noqa: RUF012 -- scikit-learn's way
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "warp": [StrOptions(set(WARPS))],
        "landmarks": [
            StrOptions({"auto"}),
            Interval(Integral, 1, None, closed="left"),
            "array-like",
        ],
        "smoothness": [Interval(Real, 0, None, closed="left")],
        "stiffness": [StrOptions({"learned", "uniform"})],
        "direction": [StrOptions(set(DIRECTIONS))],
        "border": [StrOptions(set(PAD_MODES))],
        "normalize": [StrOptions({"auto", "unit", "strokes", "scales", "subject"}), None],
        "unit_norm_centroids": ["boolean"],
        "solver": [StrOptions(set(SOLVERS)), Solver],
        "n_prototypes": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions(set(SEEDINGS)), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "curriculum": ["boolean"],
        "n_swaps": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "search_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "image_shape": ["array-like", None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "device": [str, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        warp: str = "tps",
        landmarks: Any = "auto",
        smoothness: float = DEFAULT_SMOOTHNESS,
        stiffness: str = "learned",
        direction: str = DEFAULT_DIRECTION,
        border: str = "zero",
        normalize: str | None = "auto",
        unit_norm_centroids: bool = False,
        solver: str | Solver = "quasi-newton",
        n_prototypes: int | str = "auto",
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 100,
        tol: float = 1e-4,
        curriculum: bool = True,
        n_swaps: int | str = "auto",
        search_size: int | str = "auto",
        image_shape: ImageShape | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
        device: str | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.warp = warp
        self.landmarks = landmarks
        self.smoothness = smoothness
        self.stiffness = stiffness
        self.direction = direction
        self.border = border
        self.normalize = normalize
        self.unit_norm_centroids = unit_norm_centroids
        self.solver = solver
        self.n_prototypes = n_prototypes
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.curriculum = curriculum
        self.n_swaps = n_swaps
        self.search_size = search_size
        self.image_shape = image_shape
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
        self.verbose = verbose

    @classmethod
    def as_published(
        cls,
        n_clusters: int = 8,
        *,
        landmarks: Any = 6,
        learning_rate: float = 0.01,
        steps: int = 50,
        max_iter: int = 150,
        **parameters: Any,
    ) -> Self:
        """The algorithm of the paper.

        No penalty, images warped onto centroids of unit norm, Adam, k-means++ seeds, Lloyd's
        algorithm, one form a cluster, no curriculum and no swaps. Where the paper is silent it does as
        `DIKMeans` always does: images of unit norm, warm starts from one iteration to the next, hopeless
        pairs not refined, an end when the distortion hardly falls, seeds drawn from a sample of a large set.

        Parameters
        ----------
        n_clusters : int
        landmarks : int, default=6
            The paper chooses among 3 to 8 by the distortion.
        learning_rate : float, default=0.01
            Of Adam; the paper chooses among 1e-4, 5e-4, 1e-3, 5e-3, 1e-2 and 5e-2 by the distortion.
        steps : int, default=50
            Adam's steps an iteration, which the paper does not state.
        max_iter : int, default=150
            The paper's number of epochs.
        **parameters
            Any other parameter of `DIKMeans`.
        """
        published: dict[str, Any] = {
            "smoothness": 0.0,
            "stiffness": "uniform",
            "direction": "image-to-centroid",
            "normalize": "unit",
            "unit_norm_centroids": True,
            "solver": Adam(learning_rate=learning_rate, steps=steps),
            "n_prototypes": 1,
            "init": "k-means++",
            "curriculum": False,
            "n_swaps": 0,
        }
        return cls(n_clusters, landmarks=landmarks, max_iter=max_iter, **{**published, **parameters})

    # -- fitting ---------------------------------------------------------------------------------

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, checkpoint: Any = None) -> Self:
        """Find centroids and labels.

        Ctrl-C ends the search but not the call: the best centroids so far become the result.

        With a `checkpoint` the fit is kept in a folder after every iteration. The same call, after a crash, a
        kill or Ctrl-C, goes on from there, and ends with the result it would have had without; after the
        end it gives that result again at once. The folder is yours to delete. It is refused, and left as it
        is, if it was made with other images or parameters; see docs/scale.md.

        Parameters
        ----------
        X : array of shape (N, rows, columns), (N, rows, columns, channels) or (N, features)
            May be bigger than memory: a memory map, an array of zarr or h5py, or an iterator of arrays of
            images is read piece by piece, a Dask array by the workers of the cluster the program is
            connected to. See docs/scale.md.
        y : ignored
        sample_weight : array of shape (N,), optional
            Weight of each image.
        checkpoint : path-like, optional
            Folder to keep the fit in, or to go on from.

        Returns
        -------
        self : DIKMeans

        Raises
        ------
        CheckpointError
            `checkpoint` is damaged, of another fit, in use, or no checkpoint at all. (A ValueError.)
        CheckpointWriteError
            It cannot be written, for instance because the disk is full; the one before is intact. (An
            OSError.)
        """
        with self._all_or_nothing(), self._population(X, sample_weight) as population:
            self._fit(population, checkpoint)
        return self

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit that fails leaves the estimator as it was: never forms with a foreign normaliser."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _fit(self, population: Any, checkpoint: Any) -> None:
        """Find centroids and labels of a population."""
        plan = self._plan()
        self.solver_ = make_solver(self.solver)

        seeds = self._seeds()
        progress = Progress(self, len(seeds))
        with open_memory(checkpoint, seeds, lambda: fingerprint_of(self, plan, population, seeds)) as memory:
            outcome = best_of_runs(plan, population, memory, progress)
        self._keep(outcome)
        self._first_images = None
        progress.end()

    def _seeds(self) -> list[int]:
        """Of the runs; with given centroids nothing is left to chance, and one run is all there is."""
        n_runs = self.n_init if isinstance(self.init, str) else 1
        return check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=n_runs).tolist()

    def _plan(self) -> Plan:
        n_swaps = self.n_swaps
        if n_swaps == "auto":
            n_swaps = 0 if self.warp == "none" else max(AUTO_MIN_SWAPS, self.n_clusters)
        search_size = self.search_size
        if search_size == "auto":
            search_size = max(AUTO_SEARCH_SIZE, AUTO_SEARCH_PER_CLUSTER * self.n_clusters)
        plan = Plan(
            n_clusters=self.n_clusters,
            init=self.init if isinstance(self.init, str) else self._given_centroids(),
            warp=self.warp,
            smoothness=self.smoothness,
            measure=self._measure,
            learn_deformation_prior=self.stiffness == "learned" and self.warp != "none" and self.smoothness > 0,
            forms=prototype_rule(self.n_prototypes, self.warp),
            use_curriculum=self.curriculum,
            n_swaps=int(n_swaps),
            search_size=max(int(search_size), self.n_clusters),
            max_iter=self.max_iter,
            tol=self.tol,
            unit_norm=self.unit_norm_centroids,
            n_jobs=self.n_jobs,
        )
        plan.measure(self.warp, 1.0, None)  # whatever is wrong with the measure is said before any work
        return plan

    def _measure(self, warp: str, stiffer: float = 1.0, stiffness: np.ndarray | None = None) -> Any:
        return make_measure(
            self.image_shape_,
            warp=warp,
            landmarks=self.landmarks,
            smoothness=self.smoothness * stiffer,
            direction=self.direction,
            border=self.border,
            solver=self.solver,
            stiffness=stiffness,
            device=self.device,
        )

    def _keep(self, outcome: Outcome) -> None:
        """Turn what a run has found into fitted attributes, all at once."""
        self.prototypes_ = from_channels_first(outcome.forms.pictures, self.image_shape_)
        self.prototype_clusters_ = outcome.forms.clusters
        self.prototype_weights_ = outcome.form_weights
        self.init_centers_ = from_channels_first(outcome.first_centroids, self.image_shape_)
        self.labels_ = outcome.labels
        self.inertia_ = outcome.distortion
        self.deformation_precision_ = outcome.stiffness
        self.history_ = outcome.history
        self.n_iter_ = len(outcome.history.iterations)
        self._n_features_out = self.n_clusters
        found = len(np.unique(self.labels_))
        if found < self.n_clusters:
            warnings.warn(
                f"Only {found} of {self.n_clusters} clusters have members: there may be fewer distinct "
                "shapes than clusters.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, then the cost of each image to each cluster."""
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Fit, then the cluster of each image."""
        return self.fit(X, sample_weight=sample_weight).labels_

    # -- files and scikit-learn ------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write the fitted model to one safetensors file; see `dikmeans.runs`."""
        from dikmeans.runs import save_model  # files are a layer above

        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: Any) -> Self:
        """Read a model written by `save`. Anything else is refused; no code is ever executed."""
        from dikmeans.runs import load_model

        return load_model(cls, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.three_d_array = True
        return tags
