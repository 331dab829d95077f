"""Exact evidence and simulated data."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _levytilt
from ._data import record
from ._keywords import packed, refuse_unknown


class Exact:
    """Exact evidence and smoothing distribution of one-dimensional data."""

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
    """Evidence and posterior on a grid, without sampling; every parameter must be given."""
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
    """A simulated data set with its true path and parameters.

    For a model with states written out, `values` is (time, column) and `path` (time, state); `truth` names both.
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
    """Simulate a path and its observations; every parameter must be given."""
    known = ["config", "parameters", *_levytilt.formula_parameters(drift)]
    refuse_unknown("simulate", fixed, ["model", "drift"], known)
    keywords = packed(drift=drift, noise=noise, steps=steps, span=float(span), every=every, seed=seed, **fixed)
    truth, arrays = _levytilt.simulate(keywords)
    return Simulation(json.loads(truth), arrays)
