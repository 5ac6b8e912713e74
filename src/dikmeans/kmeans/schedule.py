"""The schedule of a run: its phases, as data.

A run walks it (`dikmeans.kmeans.run`); forecasts, progress, reports and checkpoints read it. With
default parameters the phases are

1. *warm-up*: K-means, affine maps, a stiff spline. A warp that is free from the start deforms
   everything into whatever the first centroids are; so K-means settles the layout, affine maps
   remove pose and slant, a stiff spline the coarse deformation;
2. *search*: Lloyd's algorithm under the full measure; at its end a deformation prior is learned
   that all clusters share;
3. *shared prior*: Lloyd's algorithm under that prior. Under the bending energy alone, good and bad
   clusterings have nearly the same inertia; typical deformations must be cheap to tell them apart;
4. *swaps*: centroids are moved elsewhere as long as the inertia falls;
5. *relearning*: a few iterations under the bending energy, from which a prior is learned for each
   cluster;
6. *all images*: Lloyd's algorithm on everything; up to here a sample is enough;
7. *prototypes*: each cluster is divided;
8. *assignment*: all images are assigned as `predict` assigns them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from sklearn.base import BaseEstimator

from dikmeans.kmeans.prototypes import PrototypeRule, prototype_rule
from dikmeans.kmeans.swaps import swaps_per_trial
from dikmeans.parameters import FLAG, Constraint, Number, OneOf, Whole, check_parameters
from dikmeans.registration.warps import WarpName

# Phases before the last need not converge: they end when the inertia falls by less than this share.
SEARCH_TOL = 1e-3
WARM_UP_ITERATIONS: dict[WarpName, int] = {"none": 10, "affine": 10, "tps": 5}
WARM_UP_STIFFNESS = 10.0
RELEARN_ITERATIONS = 3
# "auto": a sample of so many images, or so many per cluster if that is more, up to a number that
# only hundreds of clusters exceed, with so many images each.
AUTO_SAMPLE_SIZE, AUTO_SAMPLE_PER_CLUSTER = 4000, 200
MANY_IMAGES, MANY_CLUSTERS_SAMPLE = 20_000, 40
# "auto": as many trials of swaps as there are clusters, within these bounds; the lower one with
# many clusters, where a trial makes several swaps.
AUTO_MIN_SWAPS, AUTO_MAX_SWAPS = 10, 40
# "auto": as many runs as take the time of one with so many pairs of images and clusters, at most so
# many.
AUTO_RUN_PAIRS, AUTO_MAX_RUNS = 20_000, 4


class Search(BaseEstimator):
    """How `DIKMeans` looks for a good optimum before it fits all images.

    Parameters
    ----------
    n_swaps : "auto" or int, default="auto"
        Trials of moving a centroid from where it is missed least to a cluster worth splitting, kept
        if the inertia falls. With 80 clusters or more, each trial moves a tenth of them. "auto" is
        the number of clusters, at least 10 and at most 40; 10 with 80 clusters or more; 0 with
        ``warp="none"``.
    sample_size : "auto" or int, default="auto"
        Seeds are drawn from, and the search works on, a random sample of at most so many images.
        "auto" is 4,000, or 200 per cluster if that is more; above 20,000 it is 40 per cluster.
    warm_up : bool, default=True
        Let the warp become flexible step by step: none, affine, stiff spline, spline. Has no effect
        with ``warp="none"``.
    deformation_prior : {"learned", "bending"}, default="learned"
        What a warp costs in the end. "bending": smoothness times its bending energy, in all
        clusters alike. "learned": once a clustering has been found that way, untypical deformations
        cost more than typical ones, at first alike in all clusters, in the end cluster by cluster;
        see `dikmeans.kmeans.deformation_prior`. Has no effect if `smoothness` is 0.
    max_iter : int, default=100
        Lloyd iterations, at most, of each phase of the search.
    tol : float, default=1e-4
        The fit on all images has converged when the inertia falls by less than this share in an
        iteration, or by less than ten times that while no more than this share of the images change
        their cluster; without warp, when the centroids move less, as in scikit-learn's KMeans.

    Examples
    --------
    >>> from dikmeans import DIKMeans, Search
    >>> model = DIKMeans(10, search=Search(n_swaps=0))
    >>> model.set_params(search__sample_size=500).search
    Search(n_swaps=0, sample_size=500)
    """

    constraints: ClassVar[Mapping[str, Sequence[Constraint]]] = {
        "n_swaps": [OneOf(("auto",)), Whole(0)],
        "sample_size": [OneOf(("auto",)), Whole(1)],
        "warm_up": [FLAG],
        "deformation_prior": [OneOf(("learned", "bending"))],
        "max_iter": [Whole(1)],
        "tol": [Number(0)],
    }

    def __init__(
        self,
        n_swaps: int | str = "auto",
        sample_size: int | str = "auto",
        warm_up: bool = True,
        deformation_prior: str = "learned",
        max_iter: int = 100,
        tol: float = 1e-4,
    ):
        self.n_swaps = n_swaps
        self.sample_size = sample_size
        self.warm_up = warm_up
        self.deformation_prior = deformation_prior
        self.max_iter = max_iter
        self.tol = tol

    def check(self) -> None:
        """Raise `InvalidParameterError` for a parameter that cannot be used."""
        check_parameters(self, self.constraints)


class PhaseKind(Enum):
    """What a phase does."""

    WARM_UP = "warm-up"
    SEARCH = "search"
    SHARED_PRIOR = "shared prior"
    SWAPS = "swaps"
    RELEARNING = "relearning"
    ALL_IMAGES = "all images"
    PROTOTYPES = "prototypes"
    ASSIGNMENT = "assignment"


class Prior(Enum):
    """A deformation prior that is learned at the end of a phase."""

    SHARED = "shared"
    PER_CLUSTER = "per cluster"


@dataclass(frozen=True)
class Phase:
    """One phase of a run.

    Attributes
    ----------
    kind : PhaseKind
    warp : {"none", "affine", "tps"}
        Family of warps.
    max_iter : int
        Lloyd iterations, at most; of swaps: after each swap that is kept.
    tol : float
        Tolerance of Lloyd's algorithm.
    smoothness_factor : float
        Factor on the smoothness: a warm-up is stiffer.
    on_sample : bool
        Whether it works on the sample of the search.
    learned_prior : bool
        Whether warps are penalized by the prior learned so far, if any, or by their bending.
    learns : Prior or None
        What is learned from its clustering.
    max_trials : int
        Swaps, at most.
    """

    kind: PhaseKind
    warp: WarpName
    max_iter: int = 0
    tol: float = SEARCH_TOL
    smoothness_factor: float = 1.0
    on_sample: bool = True
    learned_prior: bool = True
    learns: Prior | None = None
    max_trials: int = 0

    @property
    def name(self) -> str:
        """For histories and messages.

        Examples
        --------
        >>> Phase(PhaseKind.WARM_UP, "tps", smoothness_factor=10.0).name
        'warm-up: tps, 10 x smoothness'
        """
        if self.kind is not PhaseKind.WARM_UP:
            return self.kind.value
        factor = self.smoothness_factor
        stiffer = "" if factor == 1 else f", {factor:g} x smoothness"
        return f"{self.kind.value}: {self.warp}{stiffer}"


@dataclass(frozen=True)
class Schedule:
    """What a run does.

    Attributes
    ----------
    n_clusters : int
    n_images : int
    sample_size : int
        Images in the sample of the search.
    phases : tuple of Phase
    prototypes : PrototypeRule
        How many prototypes a cluster gets.
    max_division_iter : int
        Lloyd iterations of the division of one cluster, at most.
    """

    n_clusters: int
    n_images: int
    sample_size: int
    phases: tuple[Phase, ...]
    prototypes: PrototypeRule
    max_division_iter: int

    def n_images_of(self, phase: Phase) -> int:
        """Images that a phase works on."""
        return self.sample_size if phase.on_sample else self.n_images

    def phase(self, kind: PhaseKind) -> Phase | None:
        """The first phase of a kind, if there is one."""
        return next((phase for phase in self.phases if phase.kind is kind), None)


def make_schedule(
    *,
    n_images: int,
    n_clusters: int,
    warp: WarpName,
    upright: bool = True,
    smoothness: float,
    n_prototypes: int | str,
    max_iter: int,
    search: Search,
    given_centroids: bool = False,
) -> Schedule:
    """The schedule for these parameters.

    Parameters
    ----------
    n_images : int
    n_clusters, warp, smoothness, n_prototypes, max_iter, search
        As in `DIKMeans`.
    upright : bool, default=True
        Whether images are compared as they are; otherwise K-means without a warp, which cannot turn
        them, is no warm-up.
    given_centroids : bool, default=False
        Whether the first centroids are given: they are used as given, without warm-up or swaps.

    Examples
    --------
    >>> schedule = make_schedule(n_images=500, n_clusters=10, warp="affine", smoothness=0.3,
    ...                          n_prototypes=1, max_iter=100, search=Search(n_swaps=0))
    >>> [phase.name for phase in schedule.phases]
    ['warm-up: none', 'search', 'all images', 'assignment']
    """
    sample_size = min(n_images, resolve_sample_size(search, n_clusters))
    trials = 0 if given_centroids else resolve_n_swaps(search, n_clusters, warp)
    swaps = trials > 0 and n_clusters > 1
    learns = search.deformation_prior == "learned" and warp != "none" and smoothness > 0
    warm_up = search.warm_up and not given_centroids

    phases = list(_warm_up(warp, upright, smoothness, search.max_iter)) if warm_up else []
    if swaps or learns or (phases and sample_size < n_images):
        per_cluster = Prior.PER_CLUSTER if learns else None
        prior = Prior.SHARED if learns and swaps else per_cluster
        phases.append(Phase(PhaseKind.SEARCH, warp, search.max_iter, learns=prior))
        if learns and swaps:
            phases.append(Phase(PhaseKind.SHARED_PRIOR, warp, search.max_iter))
        if swaps:
            phases.append(Phase(PhaseKind.SWAPS, warp, search.max_iter, max_trials=trials))
        if learns and swaps:
            few = min(RELEARN_ITERATIONS, search.max_iter)
            phases.append(
                Phase(PhaseKind.RELEARNING, warp, few, learned_prior=False, learns=per_cluster)
            )
    phases.append(Phase(PhaseKind.ALL_IMAGES, warp, max_iter, tol=search.tol, on_sample=False))
    rule = prototype_rule(n_prototypes, warp)
    if rule.most > 1:
        phases.append(Phase(PhaseKind.PROTOTYPES, warp))
    phases.append(Phase(PhaseKind.ASSIGNMENT, warp, on_sample=False))
    return Schedule(n_clusters, n_images, sample_size, tuple(phases), rule, search.max_iter)


def resolve_sample_size(search: Search, n_clusters: int) -> int:
    """Images in the sample of the search, if there are so many."""
    if search.sample_size == "auto":
        wanted = max(AUTO_SAMPLE_SIZE, AUTO_SAMPLE_PER_CLUSTER * n_clusters)
        return min(wanted, max(MANY_IMAGES, MANY_CLUSTERS_SAMPLE * n_clusters))
    return max(int(search.sample_size), n_clusters)


def resolve_n_init(n_init: int | str, n_images: int, n_clusters: int, warp: str) -> int:
    """Number of runs.

    A run on few images ends in a bad optimum more often, and costs little.

    Examples
    --------
    >>> [resolve_n_init("auto", n_images, 10, "tps") for n_images in (300, 1000, 2000, 60_000)]
    [4, 2, 1, 1]
    """
    if n_init != "auto":
        return int(n_init)
    n_runs = round(AUTO_RUN_PAIRS / (n_images * n_clusters))
    return 1 if warp == "none" else max(1, min(AUTO_MAX_RUNS, n_runs))


def resolve_n_swaps(search: Search, n_clusters: int, warp: str) -> int:
    """Trials of swaps, at most."""
    if search.n_swaps == "auto":
        if warp == "none":
            return 0
        if swaps_per_trial(n_clusters) > 1:
            return AUTO_MIN_SWAPS
        return min(max(AUTO_MIN_SWAPS, n_clusters), AUTO_MAX_SWAPS)
    return int(search.n_swaps)


def _warm_up(warp: WarpName, upright: bool, smoothness: float, max_iter: int) -> tuple[Phase, ...]:
    """Phases that prepare a fit with `warp`; without a penalty nothing can be stiffer."""
    families: tuple[WarpName, ...] = ("none", "affine", "tps")
    simpler = [
        Phase(PhaseKind.WARM_UP, family, min(WARM_UP_ITERATIONS[family], max_iter))
        for family in families[: families.index(warp)]
        if upright or family != "none"
    ]
    if warp == "tps" and smoothness > 0:
        few = min(WARM_UP_ITERATIONS[warp], max_iter)
        simpler.append(Phase(PhaseKind.WARM_UP, warp, few, smoothness_factor=WARM_UP_STIFFNESS))
    return tuple(simpler)
