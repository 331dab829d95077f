"""The result of a fit, in memory or loaded from its directory."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from ._data import Clock, engine_times
from ._forecast import Forecast
from ._keywords import length, packed
from ._levytilt import InputError, Run, SavedRun

STATISTICS = ("mean", "sd", "q05", "q25", "q50", "q75", "q95", "jump_probability")


class Fit:
    """A fitted model: summary, posterior, paths and forecasts."""

    def __init__(self, run: Run | Saved, clock: Clock):
        self._run = run
        self._clock = clock

    @property
    def summary(self) -> dict[str, Any]:
        """The contents of summary.json."""
        return json.loads(self._run.summary_json())

    @property
    def parameters(self) -> dict[str, float]:
        """Values of all parameters, fixed or learned."""
        return {name: found["estimate"] for name, found in self.summary["parameters"].items()}

    @property
    def settings(self) -> str:
        """The contents of settings.toml."""
        return self._run.settings()

    @property
    def names(self) -> list[str]:
        """Names of the dimensions."""
        return self._run.names if isinstance(self._run, Saved) else self._run.table.names

    def posterior(self) -> Any:
        """Posterior of the state at every latent time: mean, sd, quantiles, jump probability.

        A DataFrame if the data were one; for arrays and files a dictionary of arrays, (time) or (time, dimension).
        """
        found = dict(self._run.posterior())
        return self._clock.frame(found.pop("time"), self._origin(), self.names, found)

    def paths(self) -> np.ndarray:
        """Posterior paths (path, time, dimension), with weights `weights` and the times of `posterior`."""
        return self._run.paths()

    @property
    def weights(self) -> np.ndarray:
        """Weights of the paths; they sum to 1."""
        return self._run.weights()

    @property
    def times(self) -> np.ndarray:
        """Latent times."""
        return self._clock.times(self._run.posterior()["time"], self._origin())

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
    ) -> Forecast:
        """Predictive paths up to a horizon (2.5, "2D", a timedelta) or at given times.

        Number of paths and seed default to those of the fit. Learned parameters are drawn from their approximate posterior,
        unless `fixed_parameters` holds them at their estimates. The paths are of observations, or with `state=True` of
        the state without observation noise.
        """
        if (horizon is None) == (at is None):
            raise InputError("forecast needs a horizon or the times to look at, and not both")
        keywords = packed(
            horizon=length(horizon),
            seed=seed,
            paths=paths,
            threads=threads or None,
            fixed_parameters=fixed_parameters,
            state=state,
        )
        return Forecast(self._run.forecast(keywords, None if at is None else engine_times(at)), self._clock)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run directory of the program: summary.json, posterior.csv, paths.npz, report.html and more."""
        self._run.save(os.fspath(path))

    def parameter_draws(self) -> dict[str, np.ndarray]:
        """Weighted posterior draws of a fit with `bayes=True`: `weight`, one array per learned parameter, `log_evidence`.

        The columns of parameters.csv. Weights sum to 1; `log_evidence` is NaN where a draw has none, and weight 0.
        """
        found = self._run.parameter_posterior()
        if found is None:
            raise InputError("the fit has no posterior draws of its parameters; fit with bayes=True")
        return found

    def to_arviz(self, chains: int = 4) -> Any:
        """ArviZ InferenceData: posterior, posterior_predictive, log_likelihood, observed_data; settings in attrs."""
        from ._arviz import to_arviz

        return to_arviz(self, chains)

    def plot(self) -> Any:
        """Plot data, posterior, jumps and parameters with matplotlib; return the figure."""
        from ._plot import plot

        return plot(self)

    def _origin(self) -> int | None:
        return self._run.origin if isinstance(self._run, Saved) else self._run.table.origin

    def _observations(self) -> tuple[np.ndarray, list[np.ndarray]] | None:
        """Times and columns of the data; None for a loaded run, whose directory does not contain them."""
        return None if isinstance(self._run, Saved) else (self._run.table.times, self._run.table.columns)

    def __repr__(self) -> str:
        return self._run.text()


class Saved:
    """A run directory written by the program or by `Fit.save`."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self.engine = SavedRun(self.path)
        self.names = self.engine.names
        self.origin = self.engine.origin

    def summary_json(self) -> str:
        return (self.path / "summary.json").read_text(encoding="utf-8")

    def settings(self) -> str:
        return (self.path / "settings.toml").read_text(encoding="utf-8")

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
        arrays = table.reshape(-1, len(self.names), len(STATISTICS))
        with np.load(self.path / "paths.npz") as archive:
            times = archive["times"]
        return {"time": times, **{name: arrays[:, :, k] for k, name in enumerate(STATISTICS)}}

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

    def forecast(self, keywords: str, at: np.ndarray | list[str] | None) -> Any:
        return self.engine.forecast(keywords, at)

    def save(self, path: str) -> None:
        if Path(path).resolve() != self.path.resolve():
            shutil.copytree(self.path, path, dirs_exist_ok=True)


def load(path: str | os.PathLike[str]) -> Fit:
    """Load a run directory written by the program or by `Fit.save`."""
    return Fit(Saved(path), Clock())
