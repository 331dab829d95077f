"""`LevyTiltForecaster` for sktime pipelines; requires sktime."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sktime.forecasting.base import BaseForecaster

from ._extras import need
from .forecaster import LevyTiltForecaster


class LevyTiltSktimeForecaster(BaseForecaster):
    """Point and quantile forecasts of one series; arguments are those of `LevyTiltForecaster`."""

    _tags = {
        "authors": ["levytilt"],
        "scitype:y": "univariate",
        "capability:exogenous": False,
        "capability:missing_values": True,
        "capability:pred_int": True,
        "capability:pred_int:insample": False,
        "capability:insample": False,
        "requires-fh-in-fit": False,
        "y_inner_mtype": "pd.Series",
        "python_dependencies": ["levytilt"],
    }

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
        # sktime inspects this signature; LevyTiltForecaster stores the arguments.
        LevyTiltForecaster.__init__(self, drift, noise, fixed, seed, paths, method, threads)  # type: ignore[arg-type]
        super().__init__()

    def _fit(self, y: pd.Series, X: Any = None, fh: Any = None) -> LevyTiltSktimeForecaster:
        self._name = y.name
        self._inner = LevyTiltForecaster(**self.get_params(deep=False)).fit(y)
        return self

    def _update(self, y: pd.Series, X: Any = None, update_params: bool = True) -> LevyTiltSktimeForecaster:
        """Fit again to all data, or take the new values in at the parameters as they are."""
        if update_params:
            return self._fit(self._y)
        self._inner.fit_.update(y)
        return self

    def _predict(self, fh: Any, X: Any = None) -> pd.Series:
        found = self._quantiles(fh, [0.5])
        return pd.Series(found[:, 0], index=self._index(fh), name=self._name)

    def _predict_quantiles(self, fh: Any, X: Any, alpha: list[float]) -> pd.DataFrame:
        names = self._get_varnames()
        columns = pd.MultiIndex.from_product([names, alpha])
        return pd.DataFrame(self._quantiles(fh, alpha), index=self._index(fh), columns=columns)

    def _predict_proba(self, fh: Any, X: Any = None, marginal: bool = True) -> Any:
        """The paths themselves as an empirical distribution of skpro; the Normal of sktime's default would lose the tails."""
        distributions = need("skpro.distributions", "sktime")
        index = self._index(fh)
        paths = self._inner.fit_.forecast(at=index).paths()[:, :, 0]
        rows = pd.MultiIndex.from_product([range(len(paths)), index])
        samples = pd.DataFrame(paths.reshape(-1, 1), index=rows, columns=self._get_varnames())
        return distributions.Empirical(samples, time_indep=marginal, index=index, columns=samples.columns)

    def _index(self, fh: Any) -> pd.Index:
        return fh.to_absolute_index(self.cutoff)

    def _quantiles(self, fh: Any, levels: list[float]) -> Any:
        return self._inner.predict_quantiles(levels, at=self._index(fh)).to_numpy()

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:
        """Small settings for sktime's estimator checks."""
        return {"drift": "none", "noise": "gaussian", "fixed": {"observation_std": 0.1}, "paths": 20}
