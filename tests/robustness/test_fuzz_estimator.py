"""Whatever is passed as X or as weights: a fit that makes sense, or a clear error."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.exceptions import ConvergenceWarning

from dikmeans.preprocessing import PREPROCESSORS
from tests.helpers import quick
from tests.robustness.fuzzing import fuzz, result_or_error

KINDS = st.sampled_from(
    [
        np.float64,
        np.float32,
        np.float16,
        np.uint8,
        np.int16,
        np.int64,
        np.uint64,
        bool,
        np.complex64,
        "U3",
        object,
    ]
)
SHAPES = arrays.array_shapes(min_dims=1, max_dims=5, min_side=0, max_side=7)


@st.composite
def inputs(draw):
    """An array of any kind and shape, of numbers near zero, huge, tiny, equal, or none at all."""
    kind, shape = draw(KINDS), draw(SHAPES)
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    numbers = rng.uniform(0, 1, shape)
    numbers *= draw(st.sampled_from([1.0, 255.0, 0.0, -1.0, 1e-30, 1e-320, 1e14, 1e20, 1e300]))
    numbers += draw(st.sampled_from([0.0, 0.0, 1.0, -0.5, 1e9]))
    if draw(st.booleans()) and len(shape) and shape[0]:
        numbers = numbers[rng.integers(0, min(shape[0], 2), shape[0])]  # duplicates
    if numbers.size and draw(st.integers(0, 4)) == 0:
        numbers.flat[rng.integers(numbers.size)] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = numbers.astype(kind)
    if draw(st.booleans()):
        array = np.asfortranarray(array)
    if draw(st.booleans()) and array.ndim:
        array = array[::-1]
    if draw(st.booleans()):
        array.flags.writeable = False
    return array.tolist() if draw(st.integers(0, 5)) == 0 else array


@st.composite
def pictures(draw):
    """Pictures that can be clustered: of any small shape, some of them equal, constant or black."""
    shape = draw(
        st.sampled_from([(1, 1), (1, 6), (6, 1), (2, 2), (3, 5), (5, 4, 3), (8, 8), (1, 1, 2)])
    )
    n = draw(st.integers(2, 8))
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    X = rng.uniform(size=(n, *shape))
    X *= draw(st.sampled_from([1.0, 255.0, 1e-12, 1e-25, 1e12]))
    X[rng.uniform(size=n) < 0.2] = draw(st.sampled_from([0.0, 1.0]))
    X[rng.uniform(size=n) < 0.2] = X[0]
    return X.astype(draw(st.sampled_from([np.float64, np.float32])))


def small(**parameters):
    return quick(search__n_swaps=1, max_iter=2, **parameters)


def fit(X, sample_weight=None, **parameters):
    """A fit and a prediction, with the warning about clusters without members kept quiet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = small(**parameters).fit(X, sample_weight=sample_weight)
    return model, model.predict(X)


def check(found, n_clusters):
    model, labels = found
    assert np.isfinite(model.cluster_centers_).all()
    assert np.isfinite(model.inertia_)
    assert model.inertia_ >= 0
    np.testing.assert_array_equal(labels, model.labels_)
    assert ((labels >= 0) & (labels < n_clusters)).all()


@fuzz
@given(X=inputs(), n_clusters=st.integers(1, 3), warp=st.sampled_from(["tps", "affine", "none"]))
def test_any_array(X, n_clusters, warp):
    kept = np.array(X, copy=True)
    found = result_or_error(lambda: fit(X, n_clusters=n_clusters, warp=warp))
    if found is not None:
        check(found, n_clusters)
    np.testing.assert_array_equal(np.asarray(X), kept)  # it is the caller's


@fuzz
@given(
    X=pictures(),
    n_clusters=st.integers(1, 3),
    parameters=st.fixed_dictionaries(
        {
            "warp": st.sampled_from(["tps", "affine", "none"]),
            "direction": st.sampled_from(["centroid-to-image", "image-to-centroid"]),
            "preprocessing": st.sampled_from(["auto", *PREPROCESSORS])
            | st.sampled_from([kind(border="edge") for kind in PREPROCESSORS.values()]),
            "smoothness": st.sampled_from([0.0, 0.3, 100.0]),
        }
    ),
)
def test_pictures_are_clustered(X, n_clusters, parameters):
    if len(X) >= n_clusters:
        check(fit(X, n_clusters=n_clusters, **parameters), n_clusters)


@fuzz
@given(data=st.data(), warp=st.sampled_from(["tps", "none"]))
def test_weights(data, warp):
    X = np.random.default_rng(0).uniform(size=(6, 4, 4))
    weights = data.draw(
        arrays.arrays(
            np.float64,
            data.draw(st.sampled_from([6, 6, 6, 5, (6, 1), 0])),
            elements=st.sampled_from([0.0, 0.0, 1.0, 0.5, 1e-300, 1e12, -1.0, np.nan, np.inf]),
        )
    )
    found = result_or_error(lambda: fit(X, sample_weight=weights, n_clusters=2, warp=warp))
    if found is not None:
        assert (weights >= 0).all()
        check(found, 2)


@pytest.fixture(scope="module")
def fitted():
    return small(n_clusters=2).fit(np.random.default_rng(0).uniform(size=(6, 3, 4)))


@fuzz
@given(X=inputs())
def test_any_array_after_a_fit(X, fitted):
    found = result_or_error(lambda: (fitted.predict(X), fitted.transform(X), fitted.score(X)))
    if found is not None:
        labels, costs, score = found
        assert labels.shape == (len(X),)
        assert costs.shape == (len(X), 2)
        assert np.isfinite(costs).all()
        assert np.isfinite(score)
