"""An estimator's parameters as JSON, for files, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from dikmeans.registration.solvers import SOLVERS, Solver


def parameters_as_json(model: Any) -> dict[str, Any]:
    """A model's parameters as JSON knows them, but for NumPy's values, which `plain` is for."""
    parameters = model.get_params(deep=False)
    return {name: _to_json(name, value) for name, value in parameters.items()}


def parameter_from_json(name: str, value: Any) -> Any:
    """A parameter as `DIKMeans` wants it."""
    if name == "solver" and isinstance(value, dict):
        settings = dict(value)
        return SOLVERS[settings.pop("solver")](**settings)
    return tuple(value) if isinstance(value, list) else value


def plain(value: Any) -> Any:
    """NumPy's scalars and arrays as JSON knows them: the `default` of ``json.dumps``."""
    return value.tolist()


def _to_json(name: str, value: Any) -> Any:
    """A parameter as JSON; given first centroids are a tensor, a random generator is not kept."""
    if isinstance(value, Solver):
        names = {kind: key for key, kind in SOLVERS.items()}
        if type(value) not in names:
            raise ValueError(f"solver={value!r} is not one of dikmeans' own and cannot be saved.")
        return {"solver": names[type(value)], **value.get_params()}
    if name == "init" and not isinstance(value, str):
        return None
    if isinstance(value, np.random.RandomState):
        return None
    return value
