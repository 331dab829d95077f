"""Specify a model and fit it."""

from __future__ import annotations

import warnings
from typing import Any, Callable

from . import _levytilt
from ._data import record
from ._fit import Fit
from ._keywords import packed, refuse_unknown
from ._progress import learning


class FitWarning(UserWarning):
    """Something that a reader of a fit should know; also in ``fit.summary["warnings"]``."""


class Model:
    """Drift, noise, observation noise and initial state. Given parameters are held fixed; the others are learned.

    >>> model = Model("ou", "student", mu=0.0)
    >>> fit = model.fit(times, values, seed=1)                                # doctest: +SKIP

    Rates are per unit of time of the record, per day for timestamps; scales have the unit of the values.

    drift: "ou" (theta, mu), "double-well" (theta1, theta2), "linear" (slope, offset), "neural" (width, depth), "none", or a
    formula for the state x, such as "theta*(mu - x)": every other name in it is a parameter.
    season: periods of Fourier terms in the drift, such as ["24h", "7d"]; harmonics: terms of each.
    inputs: columns that drive the drift and are not observed, such as ["wind"]: a formula uses them by name, other drifts gain
    a term ``gain[wind]*wind``. ``{"wind": {"column": "wind speed", "between": "linear"}}`` renames or interpolates one.
    noise: "stable" (alpha, scale), "truncated-stable", "tempered-stable", "variance-gamma", "nig", "student",
    "compound-poisson", "gaussian", "skewed-stable", "skewed-tempered-stable", "skewed-variance-gamma", "skewed-nig" (skew),
    "skewed-compound-poisson" (jump_mean), or "auto", which fits them all and keeps the one with the highest evidence.
    errors: law of the observation errors: "gaussian", "student" (error_dof), "outliers" (outlier_probability,
    outlier_size); observation_std is their scale, or a factor of an error column.
    size: what increments are multiplied by, a formula of the state x such as "1 + s*abs(x)"; must be positive.
    brownian: size of a diffusion beside the jumps, or "learn"; ``fit.summary["brownian_evidence"]`` has the log evidence with
    and without it.
    clock: "business" for trading time, in which hours of the day and closed-market gaps have learned lengths; volatility:
    "recent" for time that runs faster after large moves. Forecasts are at calendar times.
    Further parameters: observation_std, x0, x0_std. `parameters` holds values for single dimensions, such as
    ``{"theta[NVDA]": 3.0}``, and what is known of parameters of a formula: ``{"k": {"guess": 1.0, "low": 0.0}}``. Names and meanings are those of ``levytilt fit --help``.
    """

    def __init__(
        self,
        drift: str = "ou",
        noise: str = "stable",
        *,
        parameters: dict[str, Any] | None = None,
        inputs: list[str] | dict[str, Any] | None = None,
        **fixed: float | str,
    ):
        self.drift = drift
        self.noise = noise
        self.parameters = dict(parameters or {})
        named = [inputs] if isinstance(inputs, str) else inputs or []
        self.inputs = dict(named) if isinstance(named, dict) else {name: {} for name in named}
        self.fixed = fixed
        named = [*_levytilt.formula_parameters(drift), *_levytilt.formula_parameters(str(fixed.get("size", "")))]
        refuse_unknown("Model", fixed, ["model", "drift"], named)
        _levytilt.check(packed(**self._keywords()))

    def _keywords(self) -> dict[str, Any]:
        given = {"parameters": self.parameters or None, "inputs": self.inputs or None}
        return {"drift": self.drift, "noise": self.noise, **given, **self.fixed}

    def _with_inputs(self, columns: list[str]) -> list[str]:
        """Columns to read: these, and those of the inputs."""
        more = [(how or {}).get("column") or name for name, how in self.inputs.items()]
        return columns + [column for column in more if column not in columns]

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
        error_column: str | None = None,
        time_column: str | None = None,
        date_format: str | None = None,
        separator: str | None = None,
        decimal: str | None = None,
        direction: str | None = None,
        progress: bool | Callable[[int, int, float, float], None] | None = None,
        **options: Any,
    ) -> Fit:
        """Learn the free parameters and the hidden path.

        Pass times and values as arrays; or times alone as a pandas Series or DataFrame (index = time), a polars DataFrame
        (first column = time), or the path of a CSV or Parquet file. NaN is a missing value. Results are the same for any
        number of threads (0 = all cores). steps: latent steps over the span; needed only for a nonlinear drift with long gaps.
        error_column: name of the column of known standard deviations of the values, which observation_std then multiplies.
        time_column names the column of times of a file or DataFrame; date_format ("%d.%m.%Y", "seconds"), separator
        ("semicolon") and decimal ("comma") say how a file is written, where it does not show. direction: "backward" if times are
        ages, so that the largest is the oldest; "forward" if decreasing times are to be sorted.
        progress: True for a bar, False for none, or a function of (iteration, maximum, ELBO, its standard error). Further
        options, such as init or iterations, are those of ``levytilt fit``.
        """
        refuse_unknown("fit", options, ["solve", "paper", "model", "drift"], ["config"])
        if error_column and (column or columns):
            column, columns = None, [column] if column else list(columns or [])
            columns.append(error_column)
        if self.inputs and (column or columns):
            column, columns = None, self._with_inputs([column] if column else list(columns or []))
        written = {"time_column": time_column, "date_format": date_format, "separator": separator, "decimal": decimal}
        found = record(times, values, column, columns, direction=direction, **written)
        chosen = {"column": column, "columns": columns} if isinstance(times, str) and values is None else {}
        keywords = packed(
            **{**self._keywords(), **options},
            **chosen,
            seed=seed,
            paths=paths,
            method=method,
            threads=threads or None,
            steps=steps,
            error_column=error_column,
        )
        tell, bar = learning(progress)
        try:
            fit = Fit(_levytilt.fit(found.table, keywords, tell), found.clock)
        finally:
            bar.close()
        for note in fit.summary["warnings"]:
            warnings.warn(note, FitWarning, stacklevel=2)
        return fit

    def __repr__(self) -> str:
        given = [f"drift={self.drift!r}", f"noise={self.noise!r}"] + [f"{k}={v!r}" for k, v in self.fixed.items()]
        if self.inputs:
            given.append(f"inputs={self.inputs!r}")
        if self.parameters:
            given.append(f"parameters={self.parameters!r}")
        return f"Model({', '.join(given)})"
