"""Exact evidence and simulated data."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _levytilt
from ._data import record
from ._keywords import packed, refuse_unknown


class Exact:
    """Exact evidence and posterior of one column, as `exact` returns them.

    Attributes
    ----------
    summary : dict
        The contents of summary.json.
    """

    def __init__(self, summary: dict[str, Any], posterior: Any):
        self.summary = summary
        self._posterior = posterior

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the observations."""
        return self.summary["log_evidence"]

    def posterior(self) -> Any:
        """Mean, standard deviation and quantiles of the state at every latent time, in the format of `Fit.posterior`."""
        return self._posterior


def exact(
    times: Any,
    values: Any = None,
    *,
    drift: str = "ou",
    noise: str = "stable",
    steps: int | None = None,
    column: str | None = None,
    **fixed: float,
) -> Exact:
    """Exact evidence and posterior of one column on a grid, without sampling; every parameter must be given.

    Parameters
    ----------
    times, values
        What `Model.fit` takes.
    drift, noise : str
        As for `Model`.
    steps : int, optional
        Latent steps over the span.
    column : str, optional
        Value column.
    **fixed : float
        Every parameter of drift and noise, observation_std, and x0, x0_std.

    Returns
    -------
    Exact

    Examples
    --------
    >>> made = simulate(theta=3.0, mu=1.0, alpha=1.5, scale=2.0, observation_std=0.1, steps=50, span=1.0)
    >>> found = exact(made.times, made.values, theta=3.0, mu=1.0, alpha=1.5, scale=2.0, observation_std=0.1)
    >>> found.log_evidence                                                    # doctest: +SKIP
    """
    known = ["config", "parameters", *_levytilt.formula_parameters(drift)]
    refuse_unknown("exact", fixed, ["model", "drift"], known)
    found = record(times, values, column)
    summary, columns = _levytilt.exact(found.table, packed(drift=drift, noise=noise, steps=steps, **fixed))
    times_found = columns.pop("time")
    frame = found.clock.frame(
        times_found, found.table.origin, found.table.names, {name: value[:, None] for name, value in columns.items()}
    )
    return Exact(json.loads(summary), frame)


class Simulation:
    """A simulated record with its true path, as `simulate` returns it.

    For a model with `states`, `values` is (time, column) and `path` (time, state).

    Attributes
    ----------
    times, values : array
        The record.
    latent_times, path : array
        The state at every latent time.
    truth : dict
        Parameters, names of states and columns.
    """

    def __init__(self, truth: dict[str, Any], arrays: dict[str, np.ndarray]):
        self.truth = truth
        self.times = arrays["times"]
        self.values = arrays["values"]
        self.latent_times = arrays["latent_times"]
        self.path = arrays["path"]


def simulate(
    drift: str = "ou",
    noise: str = "stable",
    *,
    steps: int = 1000,
    span: float = 10.0,
    every: int = 1,
    seed: int = 1,
    **fixed: float,
) -> Simulation:
    """Simulate a path and its observations; every parameter must be given.

    Parameters
    ----------
    drift, noise : str
        As for `Model`.
    steps : int, default 1000
        Latent steps.
    span : float, default 10
        Length of the record, from time 0.
    every : int, default 1
        Observe every N-th step.
    seed : int, default 1
        Seed of the random numbers.
    **fixed : float
        Every parameter of drift and noise, observation_std, and x0.

    Returns
    -------
    Simulation

    Examples
    --------
    >>> made = simulate(theta=3.0, mu=1.0, alpha=1.5, scale=2.0, observation_std=0.1, steps=300, span=3.0, seed=4)
    >>> made.values.shape
    (301,)
    """
    known = ["config", "parameters", *_levytilt.formula_parameters(drift)]
    refuse_unknown("simulate", fixed, ["model", "drift"], known)
    keywords = packed(drift=drift, noise=noise, steps=steps, span=float(span), every=every, seed=seed, **fixed)
    truth, arrays = _levytilt.simulate(keywords)
    return Simulation(json.loads(truth), arrays)
