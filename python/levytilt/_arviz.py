"""Convert a fit to ArviZ InferenceData."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ._extras import need
from ._levytilt import InputError

if TYPE_CHECKING:
    from ._fit import Fit


def to_arviz(fit: Fit, chains: int = 4) -> Any:
    """InferenceData with independent posterior draws, equally weighted.

    `x` holds posterior paths at the estimated parameters, resampled if they are weighted. Learned parameters, named as in the
    summary, are resampled from the posterior draws of a fit with `bayes=True`; otherwise they are drawn from their Gaussian
    approximation on the unconstrained scale, where it is known. Paths do not depend on these draws. Draws are independent; they are split into chains only for diagnostics that compare chains. Observations have
    one dimension `observation`, with coordinates for their times and names.
    """
    arviz = need("arviz", "arviz")
    if not isinstance(chains, int) or chains < 1:
        raise InputError(f"chains = {chains!r}: expected a whole number of at least 1")
    seen = fit._observations()
    if seen is None:
        raise InputError("to_arviz needs the record, which a run read back does not hold: fit again, or use the arrays")
    generator = np.random.default_rng(fit.summary["seed"])
    latent = fit._run.posterior()["time"]
    times = fit._clock.times(latent, fit._origin())
    paths = _equal(fit.paths(), fit.weights, generator, chains)
    place, dimension, values = _flat(latent, *seen)
    errors = _errors(fit)[dimension]
    at = paths[:, :, place, dimension]
    log_likelihood = -0.5 * ((values - at) / errors) ** 2 - np.log(errors) - 0.5 * np.log(2 * np.pi)
    coords = {
        "time": times,
        "dimension": fit.names,
        "observation": np.arange(len(values)),
    }
    attrs = {
        "created_by": "levytilt",
        "settings": fit.settings,
        "summary": json.dumps(fit.summary),
    }
    found = arviz.from_dict(
        posterior={"x": paths, **_parameters(fit, paths.shape[:2], generator)},
        posterior_predictive={"y": at + errors * generator.standard_normal(at.shape)},
        log_likelihood={"y": log_likelihood},
        observed_data={"y": values},
        coords=coords,
        dims={"x": ["time", "dimension"], "y": ["observation"]},
        attrs=attrs,
    )
    labels = {"observation_time": ("observation", times[place])}
    labels["observation_dimension"] = ("observation", np.asarray(fit.names)[dimension])
    for group in ("posterior_predictive", "log_likelihood", "observed_data"):
        found[group] = found[group].assign_coords(labels)
    return found


def _equal(paths: np.ndarray, weights: np.ndarray, generator: np.random.Generator, chains: int) -> np.ndarray:
    """Paths (chain, draw, time, dimension) of equal weight."""
    count = len(weights) - len(weights) % chains
    if count == 0:
        raise InputError(f"{len(weights)} paths are too few for {chains} chains")
    if np.ptp(weights) > 0:
        # Systematic resampling; the order is shuffled so that copies of a path are not adjacent.
        places = (np.arange(count) + generator.uniform()) / count
        chosen = np.searchsorted(np.cumsum(weights), places).clip(max=len(weights) - 1)
        paths = paths[generator.permutation(chosen)]
    return paths[:count].reshape(chains, count // chains, *paths.shape[1:])


def _parameters(fit: Fit, shape: tuple[int, ...], generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Draws (chain, draw) of every learned parameter; empty where standard errors are unknown."""
    exact = fit._run.parameter_posterior()
    if exact is not None:
        chosen = generator.choice(len(exact["weight"]), size=shape, p=exact["weight"] / exact["weight"].sum())
        return {name: draws[chosen] for name, draws in exact.items() if name not in ("weight", "log_evidence")}
    draws = fit._run.parameter_draws(int(np.prod(shape)), fit.summary["seed"])
    given = {name for name, found in fit.summary["parameters"].items() if found["fixed"]}
    return {name: values.reshape(shape) for name, values in draws.items() if name not in given}


def _flat(latent: np.ndarray, times: np.ndarray, columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Latent time index, dimension and value of every observation."""
    table = np.column_stack(columns)
    row, dimension = np.nonzero(~np.isnan(table))
    return np.searchsorted(latent, times)[row], dimension, table[row, dimension]


def _errors(fit: Fit) -> np.ndarray:
    """Standard deviation of the observation noise in each dimension."""
    values = fit.parameters
    one = values.get("observation_std")
    return np.array([values.get(f"observation_std[{name}]", one) for name in fit.names], dtype=float)
