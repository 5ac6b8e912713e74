"""`DIKMeans`: deformation-invariant K-means as a scikit-learn estimator."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from dikmeans._typing import (
    JSON,
    Array,
    ArrayLike,
    DType,
    FloatArray,
    ImageShape,
    ImagesLike,
    IntArray,
    PathLike,
)
from dikmeans.checkpoint.fingerprint import fingerprint_of
from dikmeans.checkpoint.store import open_store
from dikmeans.frames import Frame
from dikmeans.images import (
    as_pictures,
    check_weights,
    flatten,
    from_channels_first,
    refuse_non_finite,
    stack,
    table_rules,
    to_channels_first,
    warn_if_misread,
)
from dikmeans.kmeans.centroid_update import weight_per_cluster
from dikmeans.kmeans.dataset import Dataset, Workers
from dikmeans.kmeans.guidance import FREE, REJECTED
from dikmeans.kmeans.history import History
from dikmeans.kmeans.membership import confidence, learn_temperature, membership
from dikmeans.kmeans.outliers import OutlierRule, Outliers
from dikmeans.kmeans.partial_labels import PartialLabels, parse_labels
from dikmeans.kmeans.prototypes import prototype_rule
from dikmeans.kmeans.run import FinishedRuns, Run, RunResult, RunState
from dikmeans.kmeans.schedule import (
    PhaseKind,
    Schedule,
    Search,
    make_schedule,
    resolve_n_init,
    resolve_n_swaps,
    resolve_sample_size,
)
from dikmeans.kmeans.seeding import SEEDINGS
from dikmeans.kmeans.shard import PRUNE_COLD, Assignment, Shard, digest
from dikmeans.model_file import encode_parameters, load_model, save_model
from dikmeans.monitoring.events import ProgressSink
from dikmeans.monitoring.memory import images_per_shard
from dikmeans.monitoring.progress import (
    CallbackSupportMixin,
    Progress,
    StopRequested,
    with_callbacks,
)
from dikmeans.notebook import centroids_html
from dikmeans.outofcore.minibatch import FirstImages, absorb
from dikmeans.outofcore.sources import Source, is_read_in_pieces, open_source
from dikmeans.outofcore.workers import open_dataset
from dikmeans.parallel.threads import single_blas_thread
from dikmeans.parameters import (
    ARRAY_LIKE,
    FLAG,
    Choice,
    Constraint,
    Instance,
    InvalidParameterError,
    Number,
    OneOf,
    Whole,
    check_parameters,
)
from dikmeans.preprocessing import (
    PREPROCESSORS,
    Chain,
    Preprocessor,
    choose_intensity,
    resolve_preprocessing,
)
from dikmeans.preprocessing.base import learning_indices
from dikmeans.preprocessing.chain import steps_of
from dikmeans.registration.appearance import (
    MAX_MEMBERS,
    Averages,
    CarriedMaps,
    average_members,
    best_members,
    carried_maps,
)
from dikmeans.registration.intensity import INTENSITIES
from dikmeans.registration.measure import DIRECTIONS, Direction, Measure
from dikmeans.registration.orientation import ORIENTATIONS, Orientation, orientation_matrices
from dikmeans.registration.result import Alignments, align_to_nearest
from dikmeans.registration.solvers import SOLVERS, Adam, Solver, Status, resolve_solver
from dikmeans.registration.specification import (
    DEFAULT_DIRECTION,
    DEFAULT_SMOOTHNESS,
    Landmarks,
    MeasureSpec,
)
from dikmeans.registration.warps import WARPS, ThinPlate, Warp, WarpName, make_warp

if TYPE_CHECKING:
    from sklearn.utils import Tags

Originals: TypeAlias = Sequence[FloatArray] | FloatArray | Callable[[int], FloatArray]
"""Pictures registered with the images, one each: a sequence, or a function of the number."""

logger = logging.getLogger(__name__)

# Parameters that do not shape the result of a fit; of `image_shape`, the shape it led to does.
IRRELEVANT_PARAMETERS = ("n_jobs", "verbose", "image_shape")


class DIKMeans(
    CallbackSupportMixin,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    BaseEstimator,
):
    r"""K-means for pictures, invariant to deformation.

    Images are compared with centroids not pixel by pixel but after the best warp of one onto the
    other,

    .. math::
        d(x, \mu) = \min_\nu \|\mathrm{warp}(\mu; \nu) - x\|^2
        + \mathrm{smoothness} \cdot \|x\|^2 \cdot \mathrm{bending}(\nu)

    (and a small cost of displacement, see `dikmeans.registration.warped_measure`), and a centroid
    is the picture that fits its members best. Clusters then are shapes, centroids are sharp, and
    every assignment can be looked at: see `align`. Where members differ by more than a deformation,
    a cluster has several prototypes.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K.
    warp : {"tps", "affine", "none"}, default="tps"
        What the clustering is invariant to: thin-plate splines (deformation-invariant, DI K-means),
        affine maps (affine-invariant, AI K-means), or nothing (K-means).
    landmarks : "auto", int or (int, int), default="auto"
        Landmark grid of the spline: its side, or (rows, columns), from 2 to 12. "auto" is 4, fewer
        on tiny pictures.
    smoothness : float, default=0.3
        Weight of the bending energy: larger is stiffer, 0 leaves the warp free. Its unit is the
        energy of the image, so it does not depend on the scale of the pixels.
    direction : {"centroid-to-image", "image-to-centroid"}, default="centroid-to-image"
        Which of the two is warped. The paper warps the image, onto centroids of unit norm (so that
        images cannot shrink together with their centroid; the constraint holds here too if
        preprocessing scales images to unit norm). Warping the centroid instead does not let an
        image hide the parts that do not fit.
    preprocessing : str, Preprocessor or None, default="auto"
        What is done to every image first. "unit-norm": it is scaled to unit norm, so that
        brightness does not count. "local-contrast": every neighborhood gets the same energy, so
        that a dot counts beside a line. "whitening": fine detail gets more energy, so that the gap
        between two fingers counts beside a hand. "subject-centering": what is around the middle is
        brought to the same place in all images and whitened, and all else fades. None: images are
        compared as they are. "auto" is "local-contrast" for thin and "whitening" for thick things
        on a dark background, "subject-centering" for images without one, such as photographs, and
        "unit-norm" for signals, tiny images and those with negative values and no plain ground;
        before that, where the ground is plain but not black, or values are negative, every pixel is
        replaced by its distance from the ground ("background"), and what is not in the middle is
        brought there ("centering"), or to one size as well where sizes differ
        ("size-normalization"). Centroids live in the space of the preprocessed images. See
        `dikmeans.preprocessing`.
    intensity : {"auto", "fixed", "affine"}, default="auto"
        Whether light and contrast of images count: "fixed" compares values as they are, "affine"
        solves for the gain and the offset of every pair, in every channel, so that they do not
        count; see `dikmeans.registration.intensity`. "auto" is "affine" for pictures that are only
        scaled to unit norm, "fixed" after any other preprocessing, for signals, and with
        ``warp="none"``.
    orientation : {"upright", "any", "any-mirrored"}, default="upright"
        Whether images are compared as they are (the warp may turn them by some 45 degrees), turned
        by whatever angle fits best, or turned and mirrored: for coins, cells and particles. See
        `dikmeans.registration.orientation`.
    n_prototypes : "auto" or int, default="auto"
        Prototypes per cluster, at most: crossed and plain sevens, say. In the end each cluster is
        divided into so many, and an image belongs to the cluster of its nearest prototype; see
        `dikmeans.kmeans.prototypes`. Clusters with fewer than five members per prototype get fewer.
        "auto" is up to 4, one for every 25 members in the sample of the search, and 1 with
        ``warp="none"``.
    outliers : None, "auto" or float, default=None
        Whether images may belong to no cluster: None of them; those that fit far worse than is
        usual in their cluster; or this share of the images, at most a half. Outliers have the label
        -1 and pull no centroid. See `outlier_scores_`, `set_outlier_threshold` and
        `dikmeans.kmeans.outliers`.
    init : {"k-means++", "random"} or array, default="k-means++"
        First centroids: k-means++ under the Euclidean distance, random images, or given pictures of
        shape (K, rows, columns[, channels]) (as they are, before preprocessing). Given centroids
        are used as given: one run without warm-up and swaps, and nothing random.
    n_init : "auto" or int, default="auto"
        Number of runs; the one with the lowest inertia, before clusters are divided into
        prototypes, is kept. "auto" is up to 4 on few images, where a single run ends in a bad
        optimum more often, and 1 from 1,500 images in ten clusters on, and with ``warp="none"``.
    max_iter : int, default=100
        Lloyd iterations on all images, at most. `Search.max_iter` bounds the phases before.
    search : Search, optional
        How a good optimum is looked for before all images are fitted: sample, warm-up, swaps,
        deformation prior, tolerance. By default ``Search()``.
    solver : {"quasi-newton", "adam"}, QuasiNewton or Adam, default="quasi-newton"
        How the best warp is found, and on which device.
    image_shape : tuple of int, optional
        (rows, columns) or (rows, columns, channels) of the pictures, if X is flat. A flat X
        without `image_shape` is taken as pictures of one row: signals; a warning says so if rows
        look like flattened pictures.
    random_state : int, RandomState instance or None, default=None
    n_jobs : int or None, default=-1
        Threads; -1 for all available cores: fewer in workers of joblib or Dask and beside other
        calls of the process, see `dikmeans.parallel.cores`. The result does not depend on it.
    verbose : int, default=0
        Show a line of progress on standard error. For progress bars see
        ``sklearn.callback.ProgressBar`` and `set_callbacks`.

    Attributes
    ----------
    cluster_centers_ : array of shape (K, rows, columns[, channels])
        The centroids: the prototype of each cluster that had most members when it was divided.
    prototypes_ : array of shape (M, rows, columns[, channels])
        The prototypes of all clusters, cluster by cluster, in the order of their size when the
        cluster was divided.
    prototype_clusters_ : int array of shape (M,)
        The cluster of each prototype.
    prototype_weights_ : array of shape (M,)
        Weight of the members of each prototype: their number, without sample weights.
    labels_ : int array of shape (N,)
        The cluster of each image, -1 for outliers; equal to ``predict(X)``, but where a person has
        decided.
    assignment_ : Assignment
        Cluster, prototype, cost, margin to the second choice, and warp of each image; after
        `partial_fit`, of the last batch.
    cluster_names_ : tuple of str or None
        The name of each cluster, where a person has given one.
    cluster_ids_ : tuple of str
        What identifies each cluster from one refinement to the next, whatever it is called.
    decided_ : int array of shape (N,)
        What a person has decided for each image: its cluster, -1 that it has none, -2 nothing.
    cluster_surcharges_ : array of shape (K,)
        What each cluster costs beyond the measure when the nearest is chosen: 0, unless a
        refinement has given clusters weights (`Corrections.weights`).
    outlier_rule_ : OutlierRule
        How badly an image must fit to be an outlier; see `outlier_scores_`.
    cluster_weights_ : array of shape (K,)
        Weight of the members of each cluster: their number, without sample weights.
    inertia_ : float
        The (weighted) sum of the images' costs to their nearest prototypes, aligned from scratch as
        `predict` does; the paper calls it distortion.
    deformation_precision_ : array of shape (K, 2 n_basis, 2 n_basis) or None
        Learned deformation prior of each cluster: the matrix that penalizes its warps. None if they
        are penalized by their bending.
    n_iter_ : int
        Lloyd iterations on all images.
    history_ : History
        Of the run that was kept: phase, inertia, moved images and seconds of each iteration, and
        why it stopped. The inertias of a phase belong to its own measure and fall monotonically.
    init_centers_ : array of shape (K, rows, columns[, channels])
        The first centroids of that run.
    image_shape_ : tuple of int
        Shape of the pictures.
    preprocessing_ : Preprocessor
        What was done to the images, with what it has learned from them.
    choices_ : dict of str to Choice
        What "auto" decided, and why, for each parameter that was "auto".
    measure_ : MeasureSpec
        The measure that images were compared by, apart from the learned prior.
    n_features_in_ : int
        Pixels times channels.

    See Also
    --------
    dikmeans.pairwise_cost : The measure without the clustering.

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

    constraints: ClassVar[Mapping[str, Sequence[Constraint]]] = {
        "n_clusters": [Whole(1)],
        "warp": [OneOf(WARPS)],
        "landmarks": [OneOf(("auto",)), Whole(2), ARRAY_LIKE],
        "smoothness": [Number(0)],
        "direction": [OneOf(DIRECTIONS)],
        "preprocessing": [
            OneOf(("auto", *PREPROCESSORS)),
            Instance((*PREPROCESSORS.values(), Chain), "a preprocessor of dikmeans.preprocessing"),
        ],
        "intensity": [OneOf(("auto", *INTENSITIES))],
        "orientation": [OneOf(ORIENTATIONS)],
        "n_prototypes": [OneOf(("auto",)), Whole(1)],
        "outliers": [OneOf((None, "auto")), Number(0, 0.5, with_low=False)],
        "init": [OneOf(tuple(SEEDINGS)), ARRAY_LIKE],
        "n_init": [OneOf(("auto",)), Whole(1)],
        "max_iter": [Whole(1)],
        "search": [Instance((Search, type(None)), "None or Search(...)")],
        "solver": [OneOf(tuple(SOLVERS)), Instance(Solver, "QuasiNewton(...) or Adam(...)")],
        "image_shape": [OneOf((None,)), ARRAY_LIKE],
        "n_jobs": [OneOf((None,)), Whole(nonzero=True)],
        "verbose": [FLAG, Whole(0)],
    }

    # fitted attributes
    prototypes_: FloatArray
    prototype_clusters_: IntArray
    prototype_weights_: FloatArray
    labels_: IntArray
    assignment_: Assignment
    outlier_rule_: OutlierRule
    decided_: IntArray
    cluster_names_: tuple[str | None, ...]
    cluster_ids_: tuple[str, ...]
    cluster_surcharges_: FloatArray
    inertia_: float
    deformation_precision_: FloatArray | None
    n_iter_: int
    history_: History
    init_centers_: FloatArray
    image_shape_: ImageShape
    preprocessing_: Preprocessor
    choices_: dict[str, Choice]
    measure_: MeasureSpec
    n_features_in_: int
    _first_images: FirstImages | None = None

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        warp: WarpName = "tps",
        landmarks: Landmarks = "auto",
        smoothness: float = DEFAULT_SMOOTHNESS,
        direction: Direction = DEFAULT_DIRECTION,
        preprocessing: str | Preprocessor | None = "auto",
        intensity: Literal["auto", "fixed", "affine"] = "auto",
        orientation: Orientation = "upright",
        n_prototypes: int | str = "auto",
        outliers: Outliers = None,
        init: str | ArrayLike = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 100,
        search: Search | None = None,
        solver: str | Solver = "quasi-newton",
        image_shape: ImageShape | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.warp = warp
        self.landmarks = landmarks
        self.smoothness = smoothness
        self.direction = direction
        self.preprocessing = preprocessing
        self.intensity = intensity
        self.orientation = orientation
        self.n_prototypes = n_prototypes
        self.outliers = outliers
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.search = search
        self.solver = solver
        self.image_shape = image_shape
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def as_published(
        cls,
        n_clusters: int = 8,
        *,
        landmarks: Landmarks = 8,
        learning_rate: float = 0.001,
        steps: int = 50,
        affine_learning_rate: float = 0.005,
        low_pass: float = 1.5,
        max_iter: int = 25,
        **parameters: Any,
    ) -> Self:
        """The algorithm of the paper, as its text reads.

        k-means++ seeds, then Lloyd's algorithm (Algorithm 2): every iteration solves every pair of
        an image and a centroid from scratch, by Adam, with the affine map of the low-pass pictures
        first and the spline after it, without a penalty; a centroid is the mean of its warped
        members (Proposition 2), scaled to unit norm. ``warp="affine"`` is the paper's AI K-means.
        There is no warm-up, no search, no learned prior, and one prototype per cluster.

        What the text leaves open, and what is done here:

        - *How long Adam runs.* The paper names its learning rates, not its steps. Without a
          penalty this decides everything: with more of rate times steps anything fits onto
          anything, and the distortion falls all the same.
        - *The low-pass filter*: a Gaussian of `low_pass` pixels, after which every second pixel is
          left. With a filter twice as wide the distortion is higher in most runs.
        - *How the affine map is learned*: by Adam, 100 steps at a rate of 0.005, which bounds
          how far a map can go. The rate is on the paper's grid, and fixed: it was chosen with test
          accuracies on MNIST in view. There a larger one has the lower distortion and the lower
          accuracy; where pictures differ by large affine maps, a larger one is better at both.
        - *Images* have unit norm, as centroids do; outside of them are zeros.
        - *150 epochs in batches of 64.* Here an iteration uses all images, and there are at most
          25; a fit ends before if no image changes its cluster, or if the distortion falls by less
          than 1e-4 of it.
        - *Empty clusters* get the worst-fitting image. Seeds are drawn from at most 4,000 images.
        - A pair that costs more than twice the best of its image with its affine map keeps that
          map: the spline, at this rate, would not make it the best.

        Parameters
        ----------
        n_clusters : int
        landmarks : int, default=8
            The paper chooses among 3 to 8 by the distortion.
        learning_rate : float, default=0.001
            Of Adam, for the spline; the paper chooses among 1e-4, 5e-4, 1e-3, 5e-3, 1e-2 and 5e-2
            by the distortion.
        steps : int, default=50
            Adam's steps with the spline.
        affine_learning_rate : float, default=0.005
            Of Adam, for the affine map.
        low_pass : float, default=1.5
            Standard deviation of the low-pass filter, in pixels.
        max_iter : int, default=25
            Lloyd iterations, at most.
        **parameters
            Any other parameter of `DIKMeans`.
        """
        published: dict[str, Any] = {
            "smoothness": 0.0,
            "direction": "image-to-centroid",
            "preprocessing": "unit-norm",
            "intensity": "fixed",
            "solver": Adam(
                learning_rate,
                steps,
                affine_learning_rate=affine_learning_rate,
                low_pass=low_pass,
                warm_starts=False,
            ),
            "n_prototypes": 1,
            "init": "k-means++",
            "n_init": 1,
            "search": Search(n_swaps=0, warm_up=False, deformation_prior="bending"),
        }
        return cls(
            n_clusters, landmarks=landmarks, max_iter=max_iter, **{**published, **parameters}
        )

    # -- fitting -------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: ImagesLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        label_strength: float = np.inf,
        checkpoint: PathLike | None = None,
        progress: ProgressSink | None = None,
    ) -> Self:
        """Find centroids and labels.

        Ctrl-C, once the first iteration has ended, ends the search but not the call: the best
        centroids so far become the result.

        With a `checkpoint` the fit is kept in a folder after every iteration (less often if writing
        would take more than about 4 % of the time). The same call, after a crash, a kill or Ctrl-C,
        continues from there and ends with the result it would have had without; after the end it
        returns that result again at once. The folder is yours to delete. It is refused, and left as
        it is, if it was made with other images or parameters.

        Parameters
        ----------
        X : array of shape (N, rows, columns), (N, rows, columns, channels) or (N, features)
            May be larger than memory: a memory map, an array of zarr or h5py, or an iterator of
            arrays of images is read piece by piece, a Dask array by the workers of the cluster the
            program is connected to. See docs/scale.md.
        y : array of shape (N,), optional
            Partial labels: the class of some images (a number or a name), and -1, None or NaN for
            those whose class is not known. Every class gets the cluster that its images fit best;
            they stay in it, are prototypes of it, and it bears the name of the class. Classes
            without a label are found as always. One run is added that starts from the labels; see
            `dikmeans.kmeans.partial_labels`. A `y` in which every class is known is ignored, as by
            all clusterers of scikit-learn. Not for images that are larger than memory.
        sample_weight : array of shape (N,), optional
            Weight of each image.
        label_strength : float, default=inf
            How much less another cluster must cost a labeled image than that of its class for it
            to go there, in units of the cost. Infinity keeps it with its class.
        checkpoint : path-like, optional
            Folder to keep the fit in, or to continue from.
        progress : callable, optional
            Called with a `dikmeans.monitoring.events.ProgressEvent` after every iteration; returns
            True to stop the fit and keep the best centroids so far.

        Returns
        -------
        self : DIKMeans

        Raises
        ------
        CheckpointError
            `checkpoint` is damaged, of another fit, in use, or no checkpoint at all. (A
            ValueError.)
        CheckpointWriteError
            It cannot be written, for instance because the disk is full; the one before is intact.
            (An OSError.)
        """
        self._check_parameters()
        self._check_labels_fit_into_memory(X, y)
        with self._unchanged_on_error(), self._open(X, sample_weight) as dataset:
            labels = self._partial_labels(y, len(dataset), label_strength)
            schedule = self.schedule_for(len(dataset), self.image_shape_)
            spec, init = self.measure_for(self.preprocessing_), self._first_centroids()
            seeds = self._seeds(len(dataset), one_more=labels is not None)
            with (
                open_store(
                    checkpoint, seeds, lambda: self._fingerprint(dataset, seeds, labels)
                ) as store,
                Progress(self, schedule, len(seeds), progress) as reporter,
                single_blas_thread(),  # throughout: threads that wait for the next call keep busy
            ):
                finished, run, state = store.finished, None, None
                try:
                    for seed in store.seeds[finished.n_runs :]:
                        if labels is not None:  # they lead the last run
                            lead = finished.n_runs == len(seeds) - 1 and isinstance(init, str)
                            labels = labels._replace(lead=lead)
                        asked = self.outliers, labels
                        run = Run(dataset, self.image_shape_, spec, schedule, init, seed, *asked)
                        state = store.restore(run)
                        reporter.begin_run(finished.n_runs + 1, state)
                        # first centroids, phases, prototypes
                        to_beat = finished.inertia_to_beat
                        for state in run.states(state, to_beat):  # noqa: B020 -- each continues the last
                            store.save(run, state)
                            reporter.report(state)
                        assert state is not None
                        assert state.clustering is not None
                        if state.clustering.inertia < to_beat:  # the assignment of all images
                            finished = finished.including(run.result(state))
                        else:
                            finished = finished.without(state)
                        state = None
                        store.save_finished(finished)
                except (KeyboardInterrupt, StopRequested) as stop:
                    finished = _keep_unfinished(finished, run, state, stop)
            assert finished.best is not None
            self._set_fitted(finished.best, labels)
            self._first_images = None
        return self

    def schedule_for(self, n_images: int, image_shape: ImageShape) -> Schedule:
        """What a run on so many images of that shape would do; nothing needs to be fitted.

        Parameters
        ----------
        n_images : int
        image_shape : tuple of int
            (rows, columns) or (rows, columns, channels).
        """
        self._check_parameters()
        self._warp_family(image_shape)  # refuses impossible landmarks
        return make_schedule(
            n_images=n_images,
            n_clusters=self.n_clusters,
            warp=self.warp,
            upright=self.orientation == "upright",
            smoothness=self.smoothness,
            n_prototypes=self.n_prototypes,
            max_iter=self.max_iter,
            search=self.search or Search(),
            given_centroids=not isinstance(self.init, str),
        )

    def partial_fit(
        self, X: ImagesLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Let a batch of images move the centroids: for streams.

        The first images, `Search.sample_size` of them, are collected over as many calls as it
        takes, and a search is made whenever their number has doubled; after that every batch moves
        the centroids a little, against the weight of all images before it. After `fit`, or on a
        loaded model, the batches continue from there. See `dikmeans.outofcore.minibatch`. The
        preprocessing is learned from the first batch, which should be more than a handful.

        Afterwards `labels_`, `assignment_` and `inertia_` are those of this batch;
        `cluster_weights_` counts all.

        Parameters
        ----------
        X : array of shape (n, rows, columns), (n, rows, columns, channels) or (n, features)
            The first batch must have at least `n_clusters` images.
        y : ignored
        sample_weight : array of shape (n,), optional
            Weight of each image.

        Returns
        -------
        self : DIKMeans

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from dikmeans import DIKMeans, Search
        >>> X = load_digits().images
        >>> model = DIKMeans(10, search=Search(sample_size=300), random_state=0)
        >>> for first in range(0, 1000, 100):
        ...     model = model.partial_fit(X[first : first + 100])
        >>> float(model.cluster_weights_.sum())
        1000.0
        """
        self._check_parameters()
        with self._unchanged_on_error():
            is_first = not hasattr(self, "prototypes_")
            images, weights = self._check_images(X, sample_weight, reset=is_first)
            batch = Dataset.in_memory(images, weights, self.n_jobs)
            if is_first:
                self._check_enough(weights, " in the first call of partial_fit")
                search = self.search or Search()
                self._first_images = FirstImages(resolve_sample_size(search, self.n_clusters))
            if self._first_images is not None:
                self._first_images = self._first_images.with_batch(batch.local())
            if self._first_images is not None and self._first_images.needs_search:
                self._search(self._first_images.joined(), len(images))
                self._first_images = self._first_images.after_search()
            else:
                self._absorb(batch)
        return self

    def _search(self, collected: Shard, n_new: int) -> None:
        """Search the first images, the last `n_new` of which are the current batch."""
        dataset = Dataset.in_memory(collected.images, collected.weights, self.n_jobs)
        schedule = self.schedule_for(len(dataset), self.image_shape_)
        spec, init = self.measure_for(self.preprocessing_), self._first_centroids()
        finished = FinishedRuns()
        for seed in self._seeds(len(dataset)):
            run = Run(dataset, self.image_shape_, spec, schedule, init, seed, self.outliers)
            *_, state = run.states()
            finished = finished.including(run.result(state))
        assert finished.best is not None
        self._set_fitted(finished.best)
        columns = [None if column is None else column[-n_new:] for column in self.assignment_]
        self.assignment_ = Assignment(*columns)  # type: ignore[arg-type]  # None: only warps
        self.labels_ = self.assignment_.labels
        self.decided_ = np.full(len(self.labels_), FREE)
        self.inertia_ = float(collected.weights[-n_new:] @ self.assignment_.costs)

    def _absorb(self, batch: Dataset) -> None:
        """Let a batch move the prototypes, under the measure that has been found."""
        measure = self._fitted_measure()
        pictures, clusters = self._prototype_pictures(), self.prototype_clusters_
        after = absorb(
            batch,
            measure,
            pictures,
            clusters,
            self.prototype_weights_,
            self.outlier_rule_,
            self.cluster_surcharges_,
        )
        self.prototypes_ = from_channels_first(after.prototypes, self.compared_shape_)
        self.prototype_weights_ = after.weights
        self.assignment_, self.inertia_ = after.assignment, after.inertia
        self.labels_ = self.assignment_.labels
        self.decided_ = np.full(len(self.labels_), FREE)

    def fit_transform(
        self, X: ImagesLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> FloatArray:
        """Fit, then the cost of each image to each cluster; X is read twice."""
        if isinstance(X, Iterator):
            raise ValueError(
                "X is an iterator, which can be read only once: call fit, then transform with a "
                "new iterator over the images."
            )
        costs: FloatArray = self.fit(X, y, sample_weight=sample_weight).transform(X)
        return costs

    def fit_predict(
        self, X: ImagesLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> IntArray:
        """Fit, then the cluster of each image."""
        return self.fit(X, y, sample_weight=sample_weight).labels_

    # -- new images ----------------------------------------------------------------------------

    @property
    def compared_shape_(self) -> ImageShape:
        """Shape (rows, columns[, channels]) of images after preprocessing, and of centroids."""
        return self.preprocessing_.output_shape(self.image_shape_)

    @property
    def cluster_centers_(self) -> FloatArray:
        """The centroids (K, rows, columns[, channels]): the first prototype of each cluster."""
        _, first = np.unique(self.prototype_clusters_, return_index=True)
        return self.prototypes_[first]

    @property
    def cluster_weights_(self) -> FloatArray:
        """Weight of the members of each cluster (K,): their number, without sample weights."""
        return weight_per_cluster(
            self.prototype_clusters_, self.prototype_weights_, self.n_clusters
        )

    @property
    def outlier_scores_(self) -> FloatArray:
        """How badly each image of the fit fits, in spreads of the log costs of its cluster: (N,).

        Normal quantiles, nearly: 2 % of the members of a cluster score above 2.
        """
        nearest = self.prototype_clusters_[self.assignment_.prototypes]
        return self.outlier_rule_.scores(self.assignment_.costs, nearest)

    @property
    def outlier_threshold_(self) -> float:
        """The score above which images are outliers; infinity if there are none."""
        return self.outlier_rule_.threshold

    def set_outlier_threshold(self, threshold: float) -> Self:
        """Move the score above which images are outliers; centroids stay where they are.

        Labels change at once, of the fit (but where a person has decided) and of new images.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from dikmeans import DIKMeans
        >>> X = load_digits().images[:100]
        >>> model = DIKMeans(5, random_state=0).fit(X).set_outlier_threshold(1.0)
        >>> bool(((model.labels_ == -1) == (model.outlier_scores_ > 1)).all())
        True
        """
        check_is_fitted(self)
        if np.isnan(threshold):
            raise InvalidParameterError("threshold", threshold, "a number, or infinity")
        self.outlier_rule_ = self.outlier_rule_._replace(threshold=float(threshold))
        nearest = self.prototype_clusters_[self.assignment_.prototypes].astype(np.int32)
        outliers = self.outlier_scores_ > threshold
        outliers = np.where(self.decided_ == FREE, outliers, self.decided_ == REJECTED)
        self.assignment_ = self.assignment_._replace(labels=nearest).without(outliers)
        self.labels_ = self.assignment_.labels
        return self

    @property
    def temperature_(self) -> float:
        """The temperature of `membership`, from the costs of the fit; outliers do not count."""
        return learn_temperature(self.assignment_.costs[self.labels_ >= 0])

    @property
    def confidence_(self) -> FloatArray:
        """How sure each label of the fit is, from 0 to 1: its cluster against the second-best."""
        return confidence(self.assignment_.margins, self.temperature_)

    def membership(self, X: ImagesLike) -> FloatArray:
        """How far each image belongs to each cluster, shape (N, K); rows sum to one.

        ``softmax(-(transform(X) + cluster_surcharges_) / temperature_)``; see
        `dikmeans.kmeans.membership`. Whether an image belongs to any cluster at all is another
        question: see `outlier_rule_`.
        """
        costs = np.asarray(self.transform(X), dtype=np.float64) + self.cluster_surcharges_
        return membership(costs, self.temperature_)

    def predict(self, X: ImagesLike) -> IntArray:
        """The cluster of each image, an int array of shape (N,); -1 for outliers."""
        return self.assign(X).labels

    def assign(self, X: ImagesLike) -> Assignment:
        """Cluster, prototype, cost, margin and warp of each image, as `predict` decides.

        Hopeless pairs are not refined, which saves time; margins to them are upper bounds.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from dikmeans import DIKMeans
        >>> X = load_digits().images[:60]
        >>> model = DIKMeans(3, random_state=0).fit(X)
        >>> assignment = model.assign(X[:5])
        >>> bool((assignment.margins >= 0).all())
        True
        """
        with self._open_new(X) as dataset:
            nearest = dataset.evaluate(
                self._fitted_measure(),
                self._prototype_pictures(),
                self.prototype_clusters_,
                self.cluster_surcharges_,
            )
        outliers = self.outlier_rule_.are_outliers(nearest.costs, nearest.labels)
        return nearest.without(outliers)

    def transform(self, X: ImagesLike) -> FloatArray:
        """The cost of each image to each cluster, shape (N, K): to its cheapest prototype.

        Every pair is refined to the end, whereas `predict` gives up on hopeless ones early: in rare
        near-ties the cheapest cluster here is another than the predicted one.
        """
        with self._open_new(X) as dataset:
            costs = dataset.costs(
                self._fitted_measure(), self._prototype_pictures(), self.prototype_clusters_
            )
            return costs.astype(dataset.dtype, copy=False)

    def score(
        self, X: ImagesLike, y: object = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Minus the inertia of X: the higher, the better the prototypes fit."""
        costs = self.assign(X).costs
        return -float(check_weights(sample_weight, len(costs)) @ costs)

    def align(self, X: ImagesLike, labels: ArrayLike | None = None) -> Alignments:
        """Each image's alignment with its prototype: warped picture, grid, residual, costs.

        Parameters
        ----------
        X : array of images
        labels : int array of shape (N,), optional
            The cluster each image is aligned with, by its cheapest prototype, to see how it would
            fit elsewhere; by default the one it is assigned to.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from dikmeans import DIKMeans
        >>> X = load_digits().images[:60]
        >>> alignment = DIKMeans(3, random_state=0).fit(X).align(X[:5])[0]
        >>> alignment.warped.shape, alignment.grid.shape
        ((8, 8), (8, 8, 2))
        """
        with self._open_new(X) as dataset:
            images = dataset.local().images  # alignments are pictures, all of them
        alignments = align_to_nearest(
            self._fitted_measure(),
            images,
            self._prototype_pictures(),
            self.compared_shape_,
            clusters=self.prototype_clusters_,
            prune=PRUNE_COLD,  # as `predict` does, so that both name the same cluster
            n_jobs=self.n_jobs,
        )
        return alignments if labels is None else alignments.onto(labels, n_jobs=self.n_jobs)

    def align_assigned(
        self, X: Array, assignment: Assignment, costs: FloatArray | None = None
    ) -> Alignments:
        """Alignments of images whose assignment, with its warps, is known: nothing is searched.

        Parameters
        ----------
        X : array of images
        assignment : Assignment
            Of these images, from `assign` or `assignment_`.
        costs : array of shape (N, K), optional
            Costs to all clusters, as `transform` returns them. By default only those to the
            assigned clusters are known, and all others NaN.
        """
        if assignment.warps is None or len(assignment.labels) != len(X):
            raise ValueError("assignment must hold the warps of the images in X, one each.")
        with self._open_new(X) as dataset:
            images = dataset.local().images
        if costs is None:
            costs = np.full((len(images), self.n_clusters), np.nan)
            nearest = self.prototype_clusters_[assignment.prototypes]
            costs[np.arange(len(images)), nearest] = assignment.costs
        measure = self._fitted_measure()
        warps = np.swapaxes(assignment.warps, 1, 2)
        return Alignments(
            prototypes=assignment.prototypes,
            cost=assignment.costs,
            costs=costs,
            parameters=measure.warp.identity + warps,
            orientations=assignment.orientations,
            status=np.full(len(images), Status.UNKNOWN, np.int8),
            _images=images.astype(measure.dtype),
            _centroids=self._prototype_pictures().astype(measure.dtype),
            _clusters=self.prototype_clusters_,
            _measure=measure,
            _shape=self.compared_shape_,
        )

    def average_originals(
        self,
        X: Array | list[Array],
        originals: Originals | None = None,
        *,
        assignment: Assignment | None = None,
        size: tuple[int, int] | None = None,
        max_members: int | None = MAX_MEMBERS,
        frame: Frame = "stretch",
    ) -> Averages:
        """What each prototype looks like in pictures registered with the images.

        The warps found on X are applied to `originals`: the same pictures in color or in full
        resolution, another channel, a mask, an annotation. Each is carried into the frame of its
        prototype, what preprocessing has moved or scaled included, and a robust mean is taken.

        Parameters
        ----------
        X : array of images
            As passed to `fit`, or new ones: they tell where preprocessing has moved each.
        originals : sequence of arrays of shape (H, W[, C]), or callable, optional
            One for each image in X; they may differ in size, but not in channels. A callable is
            called with the number of an image, so that they need not be in memory, possibly from
            several threads. By default X itself.
        assignment : Assignment, optional
            Of X; by default ``assign(X)``. For the fitted images pass ``assignment_``, and nothing
            is aligned again.
        size : (int, int), optional
            Rows and columns of the result. By default those of the first original, up to 512
            pixels, in the proportions of the images.
        max_members : int or None, default=60
            So many members of each prototype, those that fit best, are averaged; None for all.
        frame : {"stretch", "fit"}, default="stretch"
            How the images were made from originals of another size: stretched to it, or scaled to
            fit and centered between equal margins.

        Returns
        -------
        averages : Averages
            `mean`, `spread` (what varies), `typical` (the member that fits best), each of shape
            (M, H, W[, C]) with one picture for each of the M prototypes; `contrast`, `counts`.

        Examples
        --------
        Digits found on 8 x 8 pixels, looked at in four times that resolution:

        >>> import numpy as np
        >>> from sklearn.datasets import load_digits
        >>> from dikmeans import DIKMeans
        >>> X = load_digits().images[:60]
        >>> model = DIKMeans(3, random_state=0).fit(X)
        >>> large = np.kron(X, np.ones((1, 4, 4)))
        >>> averages = model.average_originals(X, large, assignment=model.assignment_)
        >>> averages.mean.shape == (len(model.prototypes_), 32, 32)
        True
        """
        check_is_fitted(self)
        # anything else may lie on a disk
        images = stack(X) if isinstance(X, list | tuple) else X
        assignment = self.assign(images) if assignment is None else assignment
        n_prototypes = len(self.prototypes_)

        def image(number: int) -> FloatArray:
            return np.reshape(images[number], self.image_shape_)

        def maps(numbers: IntArray) -> CarriedMaps:
            return self.maps_to_prototypes(images, assignment, numbers)

        read = _reader(image if originals is None else originals, len(assignment.labels))
        # outliers are in no mean
        owners = np.where(assignment.labels < 0, -1, assignment.prototypes)
        members = best_members(owners, assignment.costs, n_prototypes, max_members)
        return average_members(members, maps, read, size, frame, self.n_jobs)

    def maps_to_prototypes(
        self, X: Array, assignment: Assignment, numbers: IntArray
    ) -> CarriedMaps:
        """Where some of the images are read to bring them into the frames of their prototypes."""
        if len(assignment.labels) != len(X):
            raise ValueError(
                f"assignment is of {len(assignment.labels)} images, but X has {len(X)}."
            )
        chosen = np.asarray(X[numbers])
        # warps of images that were not in memory have not been kept
        if assignment.warps is None:
            again = self.assign(chosen)
            warps, orientations = again.warps, again.orientations
        else:
            warps, orientations = assignment.warps[numbers], assignment.orientations[numbers]
        assert warps is not None
        pictures, _ = as_pictures(chosen, self.image_shape_)
        warp = self._warp_family(self.image_shape_)
        parameters = warp.identity + np.swapaxes(warps, 1, 2)
        crops = self.preprocessing_.crops(pictures)
        matrices = orientation_matrices(self.measure_.orientation)[orientations]
        return carried_maps(warp, parameters, self.measure_.direction, crops, matrices)

    # -- files and scikit-learn ----------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the fitted model to one safetensors file; see `dikmeans.model_file`."""
        check_is_fitted(self)
        save_model(self, path)

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Read a model written by `save`. Anything else is refused; no code is ever executed."""
        return load_model(cls, path)

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, str]:
        """What notebooks show: scikit-learn's diagram, and the centroids once there are any."""
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle and hasattr(self, "prototypes_"):
            bundle["text/html"] += centroids_html(self.cluster_centers_, self.cluster_weights_)
        return bundle

    def _repr_html_(self) -> str | None:
        """The same for front ends that ask for HTML only."""
        return self._repr_mimebundle_().get("text/html")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.three_d_array = True
        return tags

    # -- parameters ----------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_parameters(self, self.constraints)
        check_random_state(self.random_state)
        if self.search is not None:
            self.search.check()
        resolve_solver(self.solver)

    def measure_for(self, preprocessing: Preprocessor) -> MeasureSpec:
        """The measure that the parameters name, after that fitted preprocessing."""
        intensity = self.intensity
        if intensity == "auto":
            intensity, _ = choose_intensity(preprocessing, self.warp)
        return MeasureSpec(
            warp=self.warp,
            landmarks=self.landmarks,
            smoothness=self.smoothness,
            direction=self.direction,
            border=preprocessing.border,
            intensity=intensity,
            orientation=self.orientation,
            solver=self.solver,
            unit_norm=self.direction == "image-to-centroid" and preprocessing.unit_norm,
        )

    def _warp_family(self, image_shape: ImageShape) -> Warp:
        return make_warp(self.warp, (image_shape[0], image_shape[1]), self.landmarks)

    def n_runs_for(self, n_images: int) -> int:
        """Runs of a fit on so many images; with given centroids nothing is random: one."""
        if not isinstance(self.init, str):
            return 1
        return resolve_n_init(self.n_init, n_images, self.n_clusters, self.warp)

    def _seeds(self, n_images: int, *, one_more: bool = False) -> list[int]:
        """One seed per run; with one more, for the run that partial labels lead."""
        n_runs = self.n_runs_for(n_images)
        if self.n_init == "auto":
            reason = "several if images are few: a run may end in a bad optimum, and costs little"
            self._choose("n_init", Choice(n_runs, reason))
        rng, highest = check_random_state(self.random_state), np.iinfo(np.int32).max
        n_seeds = n_runs + (one_more and isinstance(self.init, str))
        seeds: list[int] = rng.randint(highest, size=n_seeds).tolist()
        return seeds

    def _first_centroids(self) -> str | FloatArray:
        """How the first centroids are drawn, or the given ones, checked and preprocessed."""
        if isinstance(self.init, str):
            return self.init
        given = stack(self.init)
        shape = self.image_shape_ if given.ndim == 2 else None
        centroids, shape = as_pictures(given, shape, "init")
        if len(centroids) != self.n_clusters or shape != self.image_shape_:
            raise ValueError(
                f"init has {len(centroids)} centroids of shape {shape}, but n_clusters="
                f"{self.n_clusters} of shape {self.image_shape_} are needed."
            )
        return self.preprocessing_.apply(centroids)

    def _fingerprint(
        self, dataset: Dataset, seeds: Sequence[int], labels: PartialLabels | None
    ) -> JSON:
        """What tells this fit from others."""
        parameters = encode_parameters(self)
        for name in IRRELEVANT_PARAMETERS:
            del parameters[name]
        if not isinstance(self.init, str):
            parameters["init"] = f"pictures {digest(np.asarray(self.init))}"
        if isinstance(self.random_state, np.random.RandomState):
            parameters["random_state"] = f"a generator, about to draw {seeds[0]}"
        if labels is not None:
            parameters["y"] = f"labels {digest(labels.numbers)} {digest(labels.classes)}"
            parameters["label_strength"] = str(labels.strength)
        return fingerprint_of(parameters, self.image_shape_, dataset)

    def _partial_labels(
        self, y: ArrayLike | None, n_images: int, strength: float
    ) -> PartialLabels | None:
        """The labels of a fit, checked."""
        if not strength > 0:
            raise InvalidParameterError("label_strength", strength, "a number above 0")
        return parse_labels(y, n_images, self.n_clusters, strength)

    def _check_labels_fit_into_memory(self, X: ImagesLike, y: ArrayLike | None) -> None:
        """Refuse labels of images that are read in pieces, before any is read."""
        if y is None or not is_read_in_pieces(X):
            return
        if parse_labels(y, len(np.asarray(y, dtype=object)), self.n_clusters) is not None:
            raise ValueError(
                "y has labels for some of the images, but X is not in memory: partial labels can "
                "only be used with images in memory. Pass X as one array if it fits; or fit a part "
                "of the images with their labels, and use `predict` for the rest."
            )

    # -- images --------------------------------------------------------------------------------

    def _open(self, X: ImagesLike, sample_weight: ArrayLike | None) -> Dataset:
        """The images of a fit, all checked; shape and preprocessing are learned from them."""
        source = open_source(X, flat=self.image_shape is not None)
        if source is None:
            images, weights = self._check_images(X, sample_weight, reset=True)
            self._check_enough(weights)
            return Dataset.in_memory(images, weights, self.n_jobs)
        with _closed_on_error(source):
            given = None if sample_weight is None else check_weights(sample_weight, len(source))
            numbers = _learning_numbers(len(source), given)
            few, _ = self._check_images(source.take(numbers), None, reset=True, numbers=numbers)
            self._check_enough(np.broadcast_to(1.0, len(source)) if given is None else given)
            return self._open_source(source, given, few.dtype)

    def _open_new(self, X: ImagesLike) -> Dataset:
        """Images for a fitted estimator, all checked."""
        check_is_fitted(self)
        source = open_source(X)
        if source is None:
            images, _ = self._check_images(X, None, reset=False)
            return Dataset.in_memory(images, n_jobs=self.n_jobs)
        with _closed_on_error(source):
            row = source.read(slice(0, 1))
            first, _ = self._check_images(row, None, reset=False, numbers=np.arange(1))
            return self._open_source(source, None, first.dtype)

    def _open_source(self, source: Source, weights: FloatArray | None, dtype: DType) -> Dataset:
        """The images of a source, read once to check all of them."""
        n_basis = self._warp_family(self.image_shape_).n_basis
        dataset = open_dataset(
            source,
            weights,
            shape=self.image_shape_,
            dtype=dtype,
            preprocessing=self.preprocessing_,
            images_per_shard=images_per_shard(self.image_shape_, self.n_clusters, n_basis),
            n_jobs=self.n_jobs,
        )
        with _closed_on_error(dataset.workers):
            dataset.check()
        return dataset

    def _check_enough(self, weights: FloatArray, where: str = "") -> None:
        n_heavy = int((weights > 0).sum())
        if n_heavy == 0 and len(weights):
            raise ValueError("sample_weight is zero for all images: there is nothing to fit.")
        if n_heavy < self.n_clusters:
            heavy = "" if n_heavy == len(weights) else " with positive sample_weight"
            raise ValueError(
                f"n_samples={n_heavy}{heavy} should be >= n_clusters={self.n_clusters}{where}: "
                "every cluster needs an image to start from."
            )

    def _check_images(
        self,
        X: ImagesLike,
        sample_weight: ArrayLike | None,
        *,
        reset: bool,
        numbers: IntArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """X, checked, as preprocessed pictures (N, C, rows, columns), and weights (N,).

        With `reset` shape and preprocessing are learned from them; images of weight zero do not
        take part. `numbers` are those of the images, if X is only a part of them.
        """
        stacked = stack(X)
        expected = self.image_shape if reset else self._expected_shape(stacked.shape)
        table, shape = flatten(stacked, expected)
        if reset and self.image_shape is None:
            warn_if_misread(stacked.shape, stacklevel=4)
        table = validate_data(self, table, reset=reset, **table_rules(table))
        refuse_non_finite(table, numbers=numbers)
        weights = check_weights(sample_weight, len(table))
        images = to_channels_first(table, shape)
        if reset:
            self.image_shape_ = shape
            self._learn(images[_learning_numbers(len(images), weights)])
        return self.preprocessing_.apply(images), weights

    def _learn(self, pictures: FloatArray) -> None:
        """Decide everything that was left to "auto", keep and log why; learn the preprocessing."""
        self.choices_ = {}
        self.preprocessing_, why = resolve_preprocessing(self.preprocessing, pictures)
        if why is not None:
            names = [step.name for step in steps_of(self.preprocessing_)]
            self._choose("preprocessing", Choice(" + ".join(map(str, names)), why))
        if self.intensity == "auto":
            self._choose("intensity", Choice(*choose_intensity(self.preprocessing_, self.warp)))
        search, family = self.search or Search(), self._warp_family(self.image_shape_)
        if isinstance(family, ThinPlate) and self.landmarks == "auto":
            reason = "enough to bend a stroke, too few to move single pixels"
            self._choose("landmarks", Choice(family.landmarks, reason))
        if self.n_prototypes == "auto":
            most = prototype_rule("auto", self.warp).most
            reason = "fewer in small clusters" if most > 1 else "as in K-means"
            self._choose("n_prototypes", Choice(most, reason))
        if search.n_swaps == "auto":
            trials = resolve_n_swaps(search, self.n_clusters, self.warp)
            reason = "one trial per cluster, ten to forty" if trials else "as in K-means"
            self._choose("search__n_swaps", Choice(trials, reason))
        if search.sample_size == "auto":
            size = resolve_sample_size(search, self.n_clusters)
            reason = "at most so many images: enough of each cluster to find its shape"
            self._choose("search__sample_size", Choice(size, reason))

    def _choose(self, parameter: str, choice: Choice) -> None:
        """Keep and log what "auto" is for a parameter."""
        self.choices_[parameter] = choice
        logger.info("%s='auto' is %r: %s", parameter, choice.value, choice.reason)

    def _expected_shape(self, shape: tuple[int, ...]) -> ImageShape | None:
        """The shape that images of an X of `shape` must have; pictures of another are refused."""
        check_is_fitted(self)
        if shape == self.image_shape_ and shape[0] > 1:
            raise ValueError(
                f"X is one picture of shape {shape}; expected an array of pictures. Pass X[None]."
            )
        shape = shape[1:]
        if len(shape) in (2, 3) and shape != self.image_shape_:
            raise ValueError(
                f"X has images of shape {shape}, but this {type(self).__name__} was fitted on "
                f"images of shape {self.image_shape_}. Resize the images, or fit again."
            )
        # a flat X of the wrong width is left to scikit-learn's validation and its usual words
        is_misfit = len(shape) == 1 and shape[0] != self.n_features_in_
        return None if is_misfit else self.image_shape_

    # -- fitted state --------------------------------------------------------------------------

    def _set_fitted(self, result: RunResult, labels: PartialLabels | None = None) -> None:
        """Turn the result of a run into fitted attributes."""
        self.prototypes_ = from_channels_first(result.prototypes.pictures, self.compared_shape_)
        self.prototype_clusters_ = result.prototypes.clusters
        self.prototype_weights_ = result.prototype_weights
        self.init_centers_ = from_channels_first(result.init_centroids, self.compared_shape_)
        self.assignment_ = result.assignment
        self.outlier_rule_ = result.outlier_rule
        self.labels_ = result.assignment.labels
        self.inertia_ = result.inertia
        self.deformation_precision_ = result.precision
        self.history_ = result.history
        final = PhaseKind.ALL_IMAGES.value
        self.n_iter_ = sum(record.phase == final for record in result.history.iterations)
        self.measure_ = self.measure_for(self.preprocessing_)
        self._n_features_out = self.n_clusters
        self.cluster_ids_ = tuple(f"c{k}" for k in range(self.n_clusters))
        self.cluster_surcharges_ = np.zeros(self.n_clusters)
        self.decided_ = np.full(len(self.labels_), FREE)
        names: list[str | None] = [None] * self.n_clusters
        if labels is not None and result.class_clusters is not None:
            self.decided_[labels.numbers] = result.class_clusters[labels.classes]
            for cluster, name in zip(result.class_clusters, labels.names, strict=True):
                names[cluster] = name
        self.cluster_names_ = tuple(names)
        n_filled = len(np.unique(self.labels_[self.labels_ >= 0]))
        if n_filled < self.n_clusters:
            warnings.warn(
                f"Only {n_filled} of {self.n_clusters} clusters have members: there may be fewer "
                "distinct shapes than clusters.",
                ConvergenceWarning,
                stacklevel=3,
            )

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """A fit that fails leaves the estimator as it was."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def preprocess(self, X: ImagesLike) -> FloatArray:
        """Images as they are compared: preprocessed, of shape (N, channels, rows, columns)."""
        with self._open_new(X) as dataset:
            return dataset.local().images

    def _prototype_pictures(self) -> FloatArray:
        flat = self.prototypes_.reshape(len(self.prototypes_), -1)
        return to_channels_first(flat, self.compared_shape_)

    def _fitted_measure(self) -> Measure:
        """The measure that was found: all prototypes of a cluster share its prior.

        Of the parameters only the solver may have been changed since the fit.
        """
        precision = self.deformation_precision_
        if precision is not None:
            precision = precision[self.prototype_clusters_]
        return replace(self.measure_, solver=self.solver).build(self.image_shape_, precision)


@contextmanager
def _closed_on_error(resource: Source | Workers) -> Iterator[None]:
    """A block that closes a resource if it fails."""
    try:
        yield
    except BaseException:
        resource.close()
        raise


def _reader(originals: Originals, n_images: int) -> Callable[[int], FloatArray]:
    """Originals as a function of the number of an image; ValueError if there are not as many."""
    if callable(originals):
        return originals
    if len(originals) != n_images:
        raise ValueError(f"There are {len(originals)} originals of {n_images} images.")
    return lambda number: np.asarray(originals[number])


def _learning_numbers(n: int, weights: FloatArray | None) -> IntArray:
    """Numbers of the images, among `n`, that preprocessing is learned from."""
    if weights is None or not (weights > 0).any():
        return learning_indices(n)
    heavy = np.flatnonzero(weights > 0)
    return heavy[learning_indices(len(heavy))]


def _keep_unfinished(
    finished: FinishedRuns,
    run: Run | None,
    state: RunState | None,
    stop: KeyboardInterrupt | StopRequested,
) -> FinishedRuns:
    """The runs after an early stop: with the unfinished one, if it can be compared.

    Before its fit on all images a run has another measure than a finished one: it is left out if
    another run has finished. Without anything to keep, the interruption is raised again.
    """
    stopped = "stopped by a callback" if isinstance(stop, StopRequested) else "interrupted"
    if run is not None and state is not None and state.clustering is not None:
        is_comparable = not run.schedule.phases[state.phase].on_sample
        if is_comparable or finished.best is None:
            finished = finished.including(run.result(state, stopped))
    if finished.best is None:
        raise stop
    warnings.warn(
        f"The fit was {stopped} after {finished.n_iterations} iterations; the estimator keeps the "
        "best centroids so far.",
        ConvergenceWarning,
        stacklevel=3,
    )
    return finished
