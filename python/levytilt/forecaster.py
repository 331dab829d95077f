"""A forecaster with the scikit-learn interface."""

from __future__ import annotations

import inspect
from typing import Any, Sequence

import numpy as np

from ._data import rows
from ._fit import Fit
from ._model import Model
from ._scores import crps


class LevyTiltForecaster:
    """A forecaster with the interface of scikit-learn: fit a model to a time series, predict medians and quantiles.

    Parameters
    ----------
    drift, noise : str
        As for `Model`; the default noise is Student's.
    fixed : dict, optional
        Parameters of the model to hold fixed, such as ``{"mu": 0.0}``.
    seed, paths, method, threads
        As for `Model.fit`.

    Examples
    --------
    >>> forecaster = LevyTiltForecaster(drift="ou", noise="student", seed=1)
    >>> forecaster.fit(series).predict(horizon="2D")                          # doctest: +SKIP
    """

    def __init__(
        self,
        drift: str = "ou",
        noise: str = "student",
        fixed: dict[str, float] | None = None,
        seed: int = 1,
        paths: int = 500,
        method: str = "auto",
        threads: int = 0,
    ):
        # As scikit-learn requires, arguments are stored unchanged and checked by fit.
        self.drift = drift
        self.noise = noise
        self.fixed = fixed
        self.seed = seed
        self.paths = paths
        self.method = method
        self.threads = threads

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Constructor arguments, as in scikit-learn."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **params: Any) -> LevyTiltForecaster:
        """Set constructor arguments, as in scikit-learn."""
        for name, value in params.items():
            if name not in inspect.signature(type(self)).parameters:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}")
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: Any = None) -> LevyTiltForecaster:
        """Fit to times X and values y, or to a series X whose index is time."""
        fixed: dict[str, Any] = dict(self.fixed or {})
        model = Model(self.drift, self.noise, **fixed)
        self.fit_: Fit = model.fit(
            X, y, seed=self.seed, paths=self.paths, method=self.method, threads=self.threads, progress=False
        )
        return self

    def predict(self, horizon: Any = None, *, at: Any = None) -> Any:
        """Medians up to a horizon or at given times."""
        found = self.predict_quantiles([0.5], horizon, at=at)
        if isinstance(found, np.ndarray):
            return found[..., 0]
        names = self._fitted().names
        return found[0.5] if len(names) == 1 and hasattr(found, "index") else found

    def predict_quantiles(self, levels: Sequence[float] = (0.05, 0.5, 0.95), horizon: Any = None, *, at: Any = None) -> Any:
        """Quantiles up to a horizon or at given times, in the format of `Forecast.quantile`."""
        return self._fitted().forecast(horizon, at=at).quantile(levels)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the mean CRPS of forecasts at the times of X, which lie after the data; higher is better, as in scikit-learn."""
        fit = self._fitted()
        _, _, columns = rows(X, y, fit.names)
        at = X.index if hasattr(X, "iloc") else X.to_series(0) if hasattr(X, "to_series") else X
        draws = np.moveaxis(fit.forecast(at=at).paths(), 0, -1)
        truth = np.column_stack(columns)
        seen = ~np.isnan(truth)
        return -float(np.mean(crps(draws[seen], truth[seen])))

    def _fitted(self) -> Fit:
        if not hasattr(self, "fit_"):
            raise ValueError("this LevyTiltForecaster is not fitted yet: call fit first")
        return self.fit_

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
        return f"{type(self).__name__}({given})"
