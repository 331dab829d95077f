"""The result of a fit, in memory or loaded from its directory."""

from __future__ import annotations

import csv
import html
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from ._data import Clock, rows
from ._forecast import Forecast
from ._keep import packed_directory, read_clock, unpacked_directory, write_clock
from ._keywords import length, packed
from ._levytilt import InputError, Run, SavedRun, WrittenRun
from ._written import loadings, sees

STATISTICS = ("mean", "sd", "q05", "q25", "q50", "q75", "q95", "jump_probability")


class Fit:
    """A fitted model, as `Model.fit` and `load` return it: summary, posterior, paths and forecasts.

    Rates and scales are per unit of time of the record: per day for timestamps. Fits can be pickled and copied.

    Examples
    --------
    >>> fit = lt.Model("ou", "student").fit(series)                           # doctest: +SKIP
    >>> fit.parameters["theta"], fit.summary["log_evidence"]                  # doctest: +SKIP
    """

    def __init__(self, run: Run | WrittenRun | Saved, clock: Clock):
        self._run = run
        self._clock = clock
        self._updated: Saved | None = None
        self._seen: tuple[np.ndarray, list[np.ndarray]] | None = None

    @property
    def summary(self) -> dict[str, Any]:
        """The contents of summary.json."""
        return json.loads(self._run.summary_json())

    @property
    def parameters(self) -> dict[str, float]:
        """Values of all parameters, fixed or learned."""
        return {name: found["estimate"] for name, found in self.summary["parameters"].items()}

    @property
    def log_evidence(self) -> float:
        """Log marginal likelihood of the observations; `summary` has its standard error."""
        return self.summary["log_evidence"]

    @property
    def loadings(self) -> dict[str, dict[str, float]]:
        """Of a model with states written out: what a jump of size 1 of each noise source adds to each state."""
        return loadings(self._model(), self.parameters)

    @property
    def settings(self) -> str:
        """The contents of settings.toml."""
        return self._run.settings()

    @property
    def names(self) -> list[str]:
        """Names of the observed columns."""
        return self._run.names if isinstance(self._run, Saved) else self._run.table.names

    @property
    def states(self) -> list[str]:
        """Names of the states: the columns, unless the model writes its states out."""
        return self._run.states

    def _model(self) -> str:
        """The contents of model.toml."""
        if isinstance(self._run, Run):
            raise InputError("loadings and simulate are of models with states written out; in this one every column is a state")
        return self._run.model()

    def _column_of(self) -> dict[str, str]:
        """The observed column of each state that one sees alone."""
        if self.states == self.names and isinstance(self._run, Run):
            return {name: name for name in self.names}
        return sees(self._model()) if self._is_written() else {name: name for name in self.names}

    def _is_written(self) -> bool:
        return "states" in self.summary

    def simulate(self, *, steps: int | None = None, span: float | None = None, every: int | None = None, seed: int = 1) -> Any:
        """A new record of a model with states written out, with the parameters found; see `Model.simulate`.
        """
        from ._model import Model

        return Model.from_toml(self._model()).simulate(steps=steps, span=span, every=every, seed=seed)

    def posterior(self) -> Any:
        """Posterior of the state at every latent time: mean, sd, quantiles q05 to q95, and jump_probability.

        jump_probability is the probability that the step *to* this time was a jump: that its variance lies in the upper 1% of the
        noise, or with `jump_above` that it moved by more than this.

        A DataFrame if the data were one; for arrays and files a dictionary of arrays, (time) or (time, dimension).
        """
        found = dict(self._run.posterior())
        return self._clock.frame(found.pop("time"), self._origin(), self.states, found)

    def outliers(self) -> Any:
        """Every observed value with the probability that it is wrong: time, column, value, probability.

        Empty unless the model has errors="student" or errors="outliers". A DataFrame if the data were one, else a dictionary
        of arrays.
        """
        found = dict(self._run.outliers())
        return self._clock.rows(found.pop("time"), self._origin(), found)

    def jumps(self) -> Any:
        """Jumps of at least 10% probability: time, dimension, probability, and size with its 90% interval.

        One row per jump, however many latent steps it may lie in; the table of jumps.csv. A DataFrame if the data were one,
        else a dictionary of arrays. Fit with `jump_above=X` to list the moves larger than X in the unit of the data.
        """
        found = dict(self._run.jumps())
        return self._clock.rows(found.pop("time"), self._origin(), found)

    def no_jump(self, start: Any, end: Any) -> Any:
        """Probability that nothing jumped after `start` and up to `end`, by the definition of a jump that the fit used.

        A number; of several columns, or noise sources of a model with states, a dictionary by name.

        >>> fit.no_jump(2.0, 3.0)                                             # doctest: +SKIP
        >>> fit.no_jump("2024-03-01", "2024-04-01")                           # doctest: +SKIP
        """
        first, last = (start, end) if self._clock.sign > 0 else (end, start)
        found = dict(self._saved().engine.no_jump(*(str(self._clock.engine(time)[0]) for time in (first, last))))
        return found if len(found) > 1 else next(iter(found.values()))

    def residuals(self) -> Any:
        """One-step residuals: every value given the earlier ones, as a standard normal number under the true model.

        With the log evidence of the value and the probability of a jump, both without looking ahead; the table of
        residuals.csv. `summary["residuals"]` says which checks they fail. Not available for interacting columns.
        """
        found = self._run.residuals()
        if found is None:
            raise InputError("no residuals: the columns interact, or the filter failed; see summary['warnings']")
        found = dict(found)
        return self._clock.rows(found.pop("time"), self._origin(), found)

    def update(
        self,
        times: Any,
        values: Any = None,
        *,
        alarm: float = 0.001,
        lag: int = 0,
        jump_above: float | None = None,
    ) -> Any:
        """Filter new rows at the learned parameters: how surprising each value is given all earlier ones.

        Forecasts then start from the new end. Rows that the run already has are skipped. A run directory that was loaded is updated
        in place.

        Parameters
        ----------
        times, values
            Rows as for `Model.fit`, with the columns of the fit; a DataFrame where the model has inputs or known errors, whose columns
            are needed too.
        alarm : float, default 0.001
            p-value below which a row is an alarm: the rate of false alarms under the true model.
        lag : int, default 0
            Evaluate every row again that many rows later. The results stand in the later row, so that rows can be sent one by one;
            pending rows are kept between calls.
        jump_above : float, optional
            Count an increment beyond this as a jump, in the unit of the values; by default as in the fit.

        Returns
        -------
        DataFrame or dict of arrays
            Per row: value, log_evidence, two-sided p_value, jump_probability, mean and sd of the state, alarm. Models with outliers or
            Student errors add outlier_probability. With `lag`, revised_p_value is that of the earlier value given all others so far,
            and revised_jump_probability (revised_outlier_probability) uses the later rows too; NaN where no row is due.

        Examples
        --------
        >>> seen = fit.update([3.01, 3.02], [0.9, 25.0], alarm=0.001)             # doctest: +SKIP
        >>> seen["p_value"], seen["alarm"]                                        # doctest: +SKIP
        """
        if lag != int(lag) or lag < 0:
            raise InputError(f"lag={lag!r}: expected a whole number of rows, 0 or greater")
        names, when, columns = rows(times, values, self.names)
        when = when * self._clock.sign if isinstance(when, np.ndarray) else when
        saved = self._saved()
        found = dict(saved.engine.update(names, when, columns, (alarm, int(lag), jump_above)))
        saved.engine = SavedRun(saved.path)
        taken = found.pop("time")
        with np.errstate(invalid="ignore"):
            found["alarm"] = found["p_value"] < alarm
        return self._clock.frame(taken, self._origin(), self.names, found)

    def _saved(self) -> Saved:
        """The run directory to update: its own, or a temporary one for a fit that was not saved."""
        if isinstance(self._run, Saved):
            return self._run
        if self._updated is None:
            self._place = tempfile.TemporaryDirectory(prefix="levytilt-")
            self._run.save(self._place.name)
            self._updated = Saved(self._place.name)
        return self._updated

    def paths(self) -> np.ndarray:
        """Posterior paths (path, time, dimension), with weights `weights` and the times of `posterior`."""
        return self._run.paths()

    @property
    def weights(self) -> np.ndarray:
        """Weights of the paths; they sum to 1."""
        return self._run.weights()

    @property
    def times(self) -> Any:
        """Latent times: an array; for pandas an index and for polars a Series, with the time zone of the data."""
        return self._clock.stamps(self._run.posterior()["time"], self._origin())

    def forecast(
        self,
        horizon: Any = None,
        *,
        at: Any = None,
        seed: int | None = None,
        paths: int | None = None,
        threads: int = 0,
        fixed_parameters: bool = False,
        state: bool = False,
        inputs: Any = None,
    ) -> Forecast:
        """Draw predictive paths up to a horizon or at given times.

        Parameters
        ----------
        horizon : float, str, timedelta or offset, optional
            2.5 (units of time of the record), "2D", "1h30min", a timedelta or an offset of pandas. A pandas record at business days,
            months or another offset of the calendar is forecast at such times.
        at : time or sequence of times, optional
            Times to forecast, instead of a horizon; without a time zone they are local times in the zone of the record.
        seed, paths : int, optional
            By default those of the fit.
        threads : int, default 0
            0 uses all cores.
        fixed_parameters : bool, default False
            Hold learned parameters at their estimates instead of drawing them from their approximate posterior.
        state : bool, default False
            Forecast the state, without observation noise, instead of observations.
        inputs : DataFrame, optional
            For a model with inputs: rows after the record with the columns of the inputs, up to the last time of the forecast.

        Returns
        -------
        Forecast

        Examples
        --------
        >>> fit.forecast("2D").quantile([0.05, 0.5, 0.95])                        # doctest: +SKIP
        >>> fit.forecast(at=["2024-07-03 12:00"], state=True).mean()              # doctest: +SKIP
        """
        if (horizon is None) == (at is None):
            raise InputError("forecast needs a horizon or the times to look at, and not both")
        if horizon is not None:
            horizon, at = self._clock.ahead(horizon)
        keywords = packed(
            horizon=length(horizon),
            seed=seed,
            paths=paths,
            threads=threads or None,
            fixed_parameters=fixed_parameters,
            state=state,
        )
        run = self._updated or self._run
        ahead = None if inputs is None else self._inputs(inputs)
        return Forecast(run.forecast(keywords, None if at is None else self._clock.engine(at), ahead), self._clock)

    def _inputs(self, inputs: Any) -> tuple[list[str], Any, list[np.ndarray]]:
        """Rows of inputs for the engine."""
        names, when, columns = rows(inputs, None, ["value"])
        return names, when * self._clock.sign if isinstance(when, np.ndarray) else when, columns

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run directory of the program: summary.json, posterior.csv, paths.npz, report.html and more."""
        (self._updated or self._run).save(os.fspath(path))
        write_clock(os.fspath(path), self._clock)

    def parameter_draws(self) -> dict[str, np.ndarray]:
        """Weighted posterior draws of a fit with `bayes=True`: `weight`, one array per learned parameter, `log_evidence`.

        The columns of parameters.csv. Weights sum to 1; `log_evidence` is NaN where a draw has none, and weight 0.
        """
        found = self._run.parameter_posterior()
        if found is None:
            raise InputError("the fit has no posterior draws of its parameters; fit with bayes=True")
        return found

    def to_arviz(self, chains: int = 4) -> Any:
        """ArviZ InferenceData: posterior, posterior_predictive, log_likelihood, observed_data; settings in attrs.

        `posterior["x"]` holds independent posterior paths at the estimated parameters.

        Parameters
        ----------
        chains : int, default 4
            Draws are independent; they are split into chains for diagnostics that compare chains.
        """
        if self._is_written():
            raise InputError("to_arviz is not possible for a model with states written out; paths() and parameters have the same")
        from ._arviz import to_arviz

        return to_arviz(self, chains)

    def plot(self, ax: Any = None) -> Any:
        """Plot data, posterior, probable jumps and parameters with matplotlib.

        Parameters
        ----------
        ax : Axes or sequence of Axes, optional
            One per dimension. Parameters are drawn only on a new figure, each on its own axis.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from ._plot import plot

        return plot(self, ax)

    def __getstate__(self) -> dict[str, Any]:
        files = packed_directory((self._updated or self._run).save)
        return {"files": files, "clock": self._clock, "seen": self._observations()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="levytilt-")
        unpacked_directory(state["files"], self._place.name)
        self.__init__(Saved(self._place.name), state["clock"])  # type: ignore[misc]
        self._seen = state["seen"]

    def _repr_html_(self) -> str:
        """The estimates as a table, for notebooks."""
        found = self.summary
        row = "<tr><td>{}</td><td>{:.5g}</td><td>{}</td></tr>".format

        def error(parameter: dict[str, Any]) -> str:
            return "fixed" if parameter["fixed"] else "" if parameter["std_error"] is None else f"± {parameter['std_error']:.2g}"

        rows = "".join(row(html.escape(name), p["estimate"], error(p)) for name, p in found["parameters"].items())
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in found["warnings"])
        kind = f"states {', '.join(found['states'])}" if "states" in found else f"{found['drift']} drift, {found['noise']} noise"
        head = f"{kind}: log evidence {found['log_evidence']:.2f}"
        return f"<p>{html.escape(head)}</p><table>{rows}</table><ul>{notes}</ul>"

    def _origin(self) -> int | None:
        return self._run.origin if isinstance(self._run, Saved) else self._run.table.origin

    def _observations(self) -> tuple[np.ndarray, list[np.ndarray]] | None:
        """Times and columns of the data; None for a loaded run, whose directory does not contain them."""
        return self._seen if isinstance(self._run, Saved) else (self._run.table.times, self._run.table.columns)

    def __repr__(self) -> str:
        return self._run.text()


class Saved:
    """A run directory written by the program or by `Fit.save`."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self.engine = SavedRun(self.path)
        self.names = self.engine.names
        self.states = self.engine.states
        self.origin = self.engine.origin

    def summary_json(self) -> str:
        return (self.path / "summary.json").read_text(encoding="utf-8")

    def settings(self) -> str:
        return (self.path / "settings.toml").read_text(encoding="utf-8")

    def model(self) -> str:
        return (self.path / "model.toml").read_text(encoding="utf-8")

    def text(self) -> str:
        found = json.loads(self.summary_json())
        values = ", ".join(f"{name} {value['estimate']:.4g}" for name, value in found["parameters"].items())
        return f"Fit of {self.path}: log evidence {found['log_evidence']:.2f}, {values}"

    def posterior(self) -> dict[str, np.ndarray]:
        with open(self.path / "posterior.csv", newline="", encoding="utf-8") as file:
            rows = csv.reader(file)
            next(rows)
            # An empty field is an undefined value.
            table = np.array([[float(field or "nan") for field in row[2:]] for row in rows])
        arrays = table.reshape(-1, len(self.states), len(STATISTICS))
        with np.load(self.path / "paths.npz") as archive:
            times = archive["times"]
        return {"time": times, **{name: arrays[:, :, k] for k, name in enumerate(STATISTICS)}}

    def outliers(self) -> dict[str, Any]:
        table: list[dict[str, str]] = []
        if (self.path / "outliers.csv").exists():
            with open(self.path / "outliers.csv", newline="", encoding="utf-8") as file:
                table = list(csv.DictReader(file))
        return {
            "time": self.engine.read_times([row["time"] for row in table]),
            "column": [row["column"] for row in table],
            "value": np.array([float(row["value"]) for row in table]),
            "probability": np.array([float(row["probability"]) for row in table]),
        }

    def jumps(self) -> dict[str, Any]:
        with open(self.path / "jumps.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        found: dict[str, Any] = {"dimension": [row["dimension"] for row in rows]}
        for name in ("probability", "size", "size_q05", "size_q95"):
            found[name] = np.array([float(row[name]) for row in rows])
        return {"time": self.engine.read_times([row["time"] for row in rows]), **found}

    def residuals(self) -> dict[str, Any] | None:
        if not (self.path / "residuals.csv").exists():
            return None
        with open(self.path / "residuals.csv", newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        found: dict[str, Any] = {"dimension": [row["dimension"] for row in table]}
        for name in ("residual", "log_evidence", "jump_probability"):
            found[name] = np.array([float(row[name]) for row in table])
        return {"time": self.engine.read_times([row["time"] for row in table]), **found}

    def paths(self) -> np.ndarray:
        with np.load(self.path / "paths.npz") as archive:
            return archive["paths"]

    def weights(self) -> np.ndarray:
        with np.load(self.path / "paths.npz") as archive:
            return archive["weights"]

    def parameter_posterior(self) -> dict[str, np.ndarray] | None:
        path = self.path / "parameters.csv"
        if not path.is_file():
            return None
        with open(path, newline="", encoding="utf-8") as file:
            names, *rows = csv.reader(file)
        table = np.array([[float(field or "nan") for field in row] for row in rows])
        return {name: table[:, k] for k, name in enumerate(names) if name != "draw"}

    def forecast(self, keywords: str, at: np.ndarray | list[str] | None, inputs: Any = None) -> Any:
        return self.engine.forecast(keywords, at, inputs)

    def save(self, path: str) -> None:
        if Path(path).resolve() != self.path.resolve():
            shutil.copytree(self.path, path, dirs_exist_ok=True)


def load(path: str | os.PathLike[str]) -> Fit:
    """Load a run directory written by the program or by `Fit.save`."""
    return Fit(Saved(path), read_clock(path))
