"""Inference for systems that jump: dX = f(X) dt + dL with heavy-tailed noise L, observed with noise.

>>> import levytilt as lt
>>> fit = lt.Model(drift="ou", noise="stable").fit(times, values, seed=1)      # doctest: +SKIP
>>> fit.forecast(horizon=2.5).quantile([0.05, 0.5, 0.95])                      # doctest: +SKIP

The engine is that of the program `levytilt`: the same seed gives bit-identical results.
"""

from ._backtest import Scores, backtest
from ._compare import Comparison, compare
from ._fit import Fit, load
from ._forecast import Forecast
from ._levytilt import VERSION as __version__
from ._levytilt import ComputationError, InputError
from ._model import FitWarning, Model
from ._once import Exact, Simulation, exact, simulate
from ._panel import PanelFit, fit_panel
from ._scores import crps, energy_score, k_hat, stable_cdf, stable_pdf, tail_crps, variogram_score
from .forecaster import LevyTiltForecaster

__all__ = [
    "Comparison",
    "ComputationError",
    "Exact",
    "Fit",
    "FitWarning",
    "Forecast",
    "InputError",
    "LevyTiltForecaster",
    "Model",
    "PanelFit",
    "Scores",
    "Simulation",
    "__version__",
    "backtest",
    "compare",
    "crps",
    "energy_score",
    "exact",
    "fit_panel",
    "k_hat",
    "load",
    "simulate",
    "stable_cdf",
    "stable_pdf",
    "tail_crps",
    "variogram_score",
]
