"""Specify a model and fit it."""

from __future__ import annotations

from typing import Any, Callable

from . import _levytilt
from ._data import record
from ._fit import Fit
from ._keywords import packed, refuse_unknown
from ._progress import learning


class Model:
    """Drift, noise, observation noise and initial state. Given parameters are held fixed; the others are learned.

    drift: "ou" (theta, mu), "double-well" (theta1, theta2), "linear" (slope, offset), "neural" (width, depth), "none".
    noise: "stable" (alpha, scale), "truncated-stable", "tempered-stable", "variance-gamma", "nig", "student",
    "compound-poisson", "gaussian", or "auto", which fits them all and keeps the one with the highest evidence.
    Further parameters: observation_std, brownian, x0, x0_std. `parameters` holds values for single dimensions, such as
    ``{"theta[NVDA]": 3.0}``. Names and meanings are those of ``levytilt fit --help``.
    """

    def __init__(
        self,
        drift: str = "ou",
        noise: str = "stable",
        *,
        parameters: dict[str, float] | None = None,
        **fixed: float,
    ):
        self.drift = drift
        self.noise = noise
        self.parameters = dict(parameters or {})
        self.fixed = fixed
        refuse_unknown("Model", fixed, ["model", "drift"])
        _levytilt.check(packed(**self._keywords()))

    def _keywords(self) -> dict[str, Any]:
        return {"drift": self.drift, "noise": self.noise, "parameters": self.parameters or None, **self.fixed}

    def fit(
        self,
        times: Any,
        values: Any = None,
        *,
        seed: int = 1,
        paths: int | None = None,
        method: str | None = None,
        threads: int = 0,
        steps: int | None = None,
        column: str | None = None,
        columns: list[str] | None = None,
        progress: bool | Callable[[int, int, float, float], None] | None = None,
        **options: Any,
    ) -> Fit:
        """Learn the free parameters and the hidden path.

        Pass times and values as arrays; or times alone as a pandas Series or DataFrame (index = time), a polars DataFrame
        (first column = time), or the path of a CSV or Parquet file. NaN is a missing value. Results are the same for any
        number of threads (0 = all cores). steps: latent steps over the span; needed only for a nonlinear drift with long gaps.
        progress: True for a bar, False for none, or a function of (iteration, maximum, ELBO, its standard error). Further
        options, such as init or iterations, are those of ``levytilt fit``.
        """
        refuse_unknown("fit", options, ["solve", "paper", "model", "drift"], ["config"])
        found = record(times, values, column, columns)
        chosen = {"column": column, "columns": columns} if isinstance(times, str) and values is None else {}
        keywords = packed(
            **{**self._keywords(), **options},
            **chosen,
            seed=seed,
            paths=paths,
            method=method,
            threads=threads or None,
            steps=steps,
        )
        tell, bar = learning(progress)
        try:
            return Fit(_levytilt.fit(found.table, keywords, tell), found.clock)
        finally:
            bar.close()

    def __repr__(self) -> str:
        given = [f"drift={self.drift!r}", f"noise={self.noise!r}"] + [f"{k}={v!r}" for k, v in self.fixed.items()]
        if self.parameters:
            given.append(f"parameters={self.parameters!r}")
        return f"Model({', '.join(given)})"
