"""Specify a model and fit it."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any, Callable

from . import _levytilt
from ._data import record
from ._fit import Fit
from ._keywords import packed, refuse_unknown
from ._levytilt import InputError
from ._once import Simulation
from ._progress import learning
from ._written import MODEL, Written, read


class FitWarning(UserWarning):
    """Something that a reader of a fit should know; also in ``fit.summary["warnings"]``."""


class Model:
    """A model to fit, simulate or compare: drift, noise, observation noise and initial state.

    Parameters that are given are held fixed; the others are learned. Rates are per unit of time of the record, which for
    timestamps is a day; scales have the unit of the values.

    Parameters
    ----------
    drift : str, default "ou"
        "ou" (theta, mu), "double-well" (theta1, theta2), "linear" (slope, offset), "neural" (width, depth), "none", or a formula
        for the state x, such as "theta*(mu - x)": every other name in it is a parameter.
    noise : str or dict, default "stable"
        "stable" (alpha, scale), "truncated-stable", "tempered-stable", "variance-gamma", "nig", "student", "compound-poisson",
        "gaussian", "skewed-stable", "skewed-tempered-stable", "skewed-variance-gamma", "skewed-nig" (skew),
        "skewed-compound-poisson" (jump_mean), or "auto", which fits them all and keeps the one with the highest evidence.
        With `states`, a dictionary of sources by name: each has a `family`, the state it is `on` or loadings
        ``{"A": 1.0, "B": "load_b"}`` (a number is fixed, a name is learned), and the parameters of the family to hold fixed.
    states : dict of str, optional
        The drift of each hidden state, a formula of the states; names that are no states are parameters. Replaces `drift`.
    observe : dict, optional
        With `states`, by column: the state it is `of` or weights ``{"x": 1.0, "v": 0.5}``, and the `std` of its observation
        noise. By default every column is a state of its own name.
    start : dict, optional
        With `states`, the states at the first time: a number if known, or ``{"mean": 0.0, "std": 1.0}``.
    parameters : dict, optional
        Values of single dimensions, such as ``{"theta[NVDA]": 3.0}``, and what is known of parameters of a formula:
        ``{"k": {"guess": 1.0, "low": 0.0}}``.
    inputs : list of str or dict, optional
        Columns that drive the drift and are not observed, such as ["wind"]. A formula uses them by name; other drifts gain a term
        ``gain[wind]*wind``. ``{"wind": {"column": "wind speed", "between": "linear"}}`` renames or interpolates one.
    **fixed
        Parameters to hold fixed, such as theta, alpha, observation_std, x0 and x0_std, and these options:

        - errors: distribution of the observation errors, "gaussian", "student" (error_dof) or "outliers" (outlier_probability, outlier_size).
        - season: periods of Fourier terms in the drift, such as ["24h", "7d"]; harmonics: the number of terms of each.
        - size: formula of the state x that multiplies the increments, such as "1 + s*abs(x)"; must be positive.
        - brownian: standard deviation of a diffusion beside the jumps per square root of time, or "learn".
        - clock: "business" for trading time, in which hours of the day and closed-market gaps have learned lengths.
        - volatility: "recent" for time that runs faster after large moves.

        Names and meanings are those of ``levytilt fit --help``.

    Examples
    --------
    >>> model = Model("ou", "student", mu=0.0)
    >>> fit = model.fit(times, values, seed=1)                                # doctest: +SKIP

    A position that is seen, driven by a hidden velocity that is kicked:

    >>> tracking = Model(
    ...     states={"x": "v", "v": "-c*v"},
    ...     noise={"kick": {"family": "stable", "on": "v"}},
    ...     observe={"position": {"of": "x"}},
    ...     parameters={"c": {"guess": 1.0, "low": 0.0}},
    ... )
    >>> fit = tracking.fit(times, positions, seed=1)                          # doctest: +SKIP
    """

    def __init__(
        self,
        drift: str | None = None,
        noise: str | dict[str, Any] | None = None,
        *,
        states: dict[str, str] | None = None,
        observe: dict[str, Any] | None = None,
        start: dict[str, Any] | None = None,
        parameters: dict[str, Any] | None = None,
        inputs: list[str] | dict[str, Any] | None = None,
        **fixed: float | str,
    ):
        self.parameters = dict(parameters or {})
        named = [inputs] if isinstance(inputs, str) else inputs or []
        self.inputs = dict(named) if isinstance(named, dict) else {name: {} for name in named}
        self.fixed = fixed
        #: Keywords of `fit` that a settings file gave.
        self._usual: dict[str, Any] = {}
        self._written: Written | None = None
        if states is not None:
            self._write_out(drift, noise, {"states": states, "observe": observe, "start": start})
            return
        for name, value in (("observe", observe), ("start", start)):
            if value is not None:
                raise InputError(f"{name} is for models with states written out; give states, or leave it out")
        if isinstance(noise, dict):
            raise InputError("noise is a dictionary of sources only in models with states written out; give states, or a family")
        self.drift = drift or "ou"
        self.noise = noise or "stable"
        named = [*_levytilt.formula_parameters(self.drift), *_levytilt.formula_parameters(str(fixed.get("size", "")))]
        refuse_unknown("Model", fixed, ["model", "drift"], named)
        _levytilt.check(packed(**self._keywords()))

    def _write_out(self, drift: Any, noise: Any, sections: dict[str, Any]) -> None:
        """Be a model whose states are written out."""
        if drift is not None:
            raise InputError("drift does not go with states: each state has a formula of its own there")
        if self.inputs:
            raise InputError("inputs are not possible in models with states written out")
        if self.fixed:
            names = ", ".join(self.fixed)
            raise TypeError(
                f"Model with states: unknown keyword {names}; parameters of a noise stand in its entry of noise, others in parameters"
            )
        self.drift, self.noise = "states", noise
        self._written = Written({**sections, "noise": noise, "parameters": self.parameters})

    @classmethod
    def from_toml(cls, source: str | os.PathLike[str]) -> Model:
        """The model of a settings file of ``levytilt fit --config``.

        What it says about the data and the computation, such as seed or steps, holds for `fit` unless given there.

        Parameters
        ----------
        source : path or str
            The file, or its text.

        Examples
        --------
        >>> model = Model.from_toml("velocity.toml")                              # doctest: +SKIP
        >>> Model.from_toml('[model]\\ndrift = "ou"\\nalpha = 1.5\\n').fixed
        {'alpha': 1.5}
        """
        written, sections = read(source)
        if written:
            model = cls(**{name: sections[name] for name in MODEL if name in sections})
            assert model._written is not None
            model._written = Written(sections)
            return model
        own = {**sections.get("model", {}), **sections.get("drift", {})}
        model = cls(**own, parameters=sections.get("parameters"), inputs=sections.get("inputs"))
        for name in ("data", "grid", "solve", "simulate", "paper"):
            model._usual.update(sections.get(name, {}))
        return model

    def _keywords(self) -> dict[str, Any]:
        if self._written is not None:
            raise InputError("a model with states written out can be fitted, simulated and compared; here give drift and noise")
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
        seed: int | None = None,
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

        Parameters
        ----------
        times : array, Series, DataFrame or path
            Times, with `values`; or the whole record: a pandas Series or DataFrame (index = time), a polars DataFrame (first column =
            time), or the path of a CSV or Parquet file.
        values : array, optional
            Observed values, (time) or (time, column). NaN is a missing value.
        seed : int, default 1
            Seed of the random numbers. Results are the same for any number of threads.
        paths : int, default 500
            Number of posterior paths.
        method : str, default "auto"
            Solver: "auto", "grid", "sweep", "neural" or "paper".
        threads : int, default 0
            0 uses all cores.
        steps : int, optional
            Latent steps over the span; needed only for a nonlinear drift with long gaps.
        column, columns : str, list of str, optional
            Value columns to fit; all by default.
        error_column : str, optional
            Column of known standard deviations of the values, which `observation_std` then multiplies.
        time_column : str, optional
            Column of the times in a file or DataFrame.
        date_format, separator, decimal : str, optional
            How a file is written, where it does not show: "%d.%m.%Y" or "seconds", "semicolon", "comma".
        direction : {"backward", "forward"}, optional
            "backward" if times are ages, so that the largest is the oldest; "forward" to sort times that decrease.
        progress : bool or callable, optional
            True for a bar, False for none, or a function of (iteration, maximum, ELBO, its standard error).
        **options
            Further options of ``levytilt fit``, such as bayes, draws, jump_above, init or iterations.

        Returns
        -------
        Fit

        Raises
        ------
        InputError
            The record or an option is wrong; the message says where and what to do.
        ComputationError
            The fit failed.

        Examples
        --------
        >>> fit = lt.Model("ou", "student").fit(series, seed=1)                   # doctest: +SKIP
        >>> fit = lt.Model(noise="auto").fit("level.csv", decimal="comma")        # doctest: +SKIP
        """
        written = {"time_column": time_column, "date_format": date_format, "separator": separator, "decimal": decimal}
        if self._written is not None:
            others = {"column": column, "columns": columns, "error_column": error_column, "method": method, **options}
            keywords = {"seed": seed, "paths": paths, "threads": threads or None, "steps": steps}
            return self._fit_written((times, values), {**written, "direction": direction}, keywords, others, progress)
        refuse_unknown("fit", options, ["solve", "paper", "model", "drift"], ["config"])
        if self._usual:
            usual = dict(self._usual)
            column, columns = (column, columns) if column or columns else (usual.pop("column", None), usual.pop("columns", None))
            error_column = error_column or usual.pop("error_column", None)
            is_file = isinstance(times, (str, os.PathLike)) and values is None
            for key in written:
                found_there = usual.pop(key, None)
                written[key] = written[key] or (found_there if is_file or key == "time_column" else None)
            seed = usual.pop("seed", None) if seed is None else seed
            paths, method = paths or usual.pop("paths", None), method or usual.pop("method", None)
            threads, steps = threads or usual.pop("threads", 0), steps or usual.pop("steps", None)
            kept = {*_levytilt.known(["solve", "paper"])} - {"seed", "paths", "method", "threads"}
            options = {**{key: value for key, value in usual.items() if key in kept}, **options}
        if error_column and (column or columns):
            column, columns = None, [column] if column else list(columns or [])
            columns.append(error_column)
        if self.inputs and (column or columns):
            column, columns = None, self._with_inputs([column] if column else list(columns or []))
        found = record(times, values, column, columns, direction=direction, **written)
        chosen = {"column": column, "columns": columns} if isinstance(times, str) and values is None else {}
        keywords = packed(
            **{**self._keywords(), **options},
            **chosen,
            seed=1 if seed is None else seed,
            paths=paths,
            method=method,
            threads=threads or None,
            steps=steps,
            error_column=error_column,
        )
        return self._told(lambda tell: Fit(_levytilt.fit(found.table, keywords, tell), found.clock), progress)

    def _fit_written(self, data: Any, how: Any, keywords: Any, others: dict[str, Any], progress: Any) -> Fit:
        """Fit a model whose states are written out."""
        assert self._written is not None
        given = [name for name, value in others.items() if value is not None]
        if given:
            raise TypeError(
                f"fit of a model with states: unknown keyword {', '.join(given)}; observe says which columns are seen, and seed, "
                "paths, steps, threads how to compute"
            )
        found = self._written.record(*data, how)
        sections = self._written.packed(**keywords)
        return self._told(lambda tell: Fit(_levytilt.fit_written(found.table, sections, tell), found.clock), progress)

    def _told(self, work: Callable[[Any], Fit], progress: Any) -> Fit:
        """Fit with a progress bar, and warn of what a reader should know."""
        tell, bar = learning(progress)
        try:
            fit = work(tell)
        finally:
            bar.close()
        for note in fit.summary["warnings"]:
            warnings.warn(note, FitWarning, stacklevel=4)
        return fit

    def simulate(
        self, *, steps: int | None = None, span: float | None = None, every: int | None = None, seed: int | None = None
    ) -> Simulation:
        """Draw a record of this model and its true path; every parameter needs a value.

        Parameters
        ----------
        steps : int, default 1000
            Latent steps.
        span : float, default 10
            Length of the record.
        every : int, default 1
            Observe every N-th step.
        seed : int, default 1
            Seed of the random numbers.

        Returns
        -------
        Simulation
            For a model with `states`, `values` has a column per observed column and `path` one per state.
        """
        span = None if span is None else float(span)
        given = {"steps": steps, "span": span, "every": every, "seed": seed}
        if self._written is not None:
            truth, arrays = _levytilt.simulate_written(self._written.packed(**given))
        else:
            usual = {key: value for key, value in self._usual.items() if key in given}
            given = {**usual, **{key: value for key, value in given.items() if value is not None}}
            truth, arrays = _levytilt.simulate(packed(**{**self._keywords(), **given}))
        return Simulation(json.loads(truth), arrays)

    def __repr__(self) -> str:
        if self._written is not None:
            shown = {name: self._written.sections[name] for name in MODEL if name in self._written.sections}
            return f"Model({', '.join(f'{name}={value!r}' for name, value in shown.items())})"
        given = [f"drift={self.drift!r}", f"noise={self.noise!r}"] + [f"{k}={v!r}" for k, v in self.fixed.items()]
        if self.inputs:
            given.append(f"inputs={self.inputs!r}")
        if self.parameters:
            given.append(f"parameters={self.parameters!r}")
        return f"Model({', '.join(given)})"
