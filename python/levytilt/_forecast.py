"""Forecasts: predictive paths and their summaries."""

from __future__ import annotations

import json
import os
from typing import Any, Sequence

import numpy as np

from ._data import Clock
from ._keep import KeptAhead
from ._levytilt import Ahead


class Forecast:
    """Predictive paths of observations, or of the state, from the end of the fitted data, as `Fit.forecast` returns them.

    Values have the unit of the data. Times and tables have the type of the data: pandas, polars, or arrays.

    Examples
    --------
    >>> ahead = fit.forecast(horizon="2D")                                    # doctest: +SKIP
    >>> ahead.quantile([0.05, 0.5, 0.95])                                     # doctest: +SKIP
    """

    def __init__(self, ahead: Ahead | KeptAhead, clock: Clock):
        self._ahead = ahead
        self._clock = clock

    @property
    def names(self) -> list[str]:
        """Names of the dimensions."""
        return self._ahead.names

    @property
    def times(self) -> Any:
        """Forecast times, in the format of the data."""
        return self._clock.stamps(self._ahead.times, self._ahead.origin)

    @property
    def summary(self) -> dict[str, Any]:
        """The contents of summary.json."""
        return json.loads(self._ahead.summary_json())

    @property
    def of(self) -> str:
        """What the paths are of: "observations" (state plus observation noise) or "states"."""
        return self.summary["of"]

    def paths(self) -> np.ndarray:
        """Paths (path, time, dimension) of what `of` says."""
        return self._ahead.paths()

    def mean(self) -> Any:
        """Means: an array (time) or (time, dimension), or the type of the data."""
        means = self._ahead.mean()
        if self._clock.kind == "numpy":
            return means[:, 0] if len(self.names) == 1 else means
        frame = self._frame({"mean": means})
        return frame["mean"] if self._clock.kind == "pandas" and len(self.names) == 1 else frame

    def quantile(self, levels: float | Sequence[float]) -> Any:
        """Quantiles of the predictive distribution at every time.

        Parameters
        ----------
        levels : float or sequence of float
            Between 0 and 1.

        Returns
        -------
        DataFrame or array
            One column per level; for arrays (time, level), or (time, dimension, level) with several columns.
        """
        wanted = [float(level) for level in np.atleast_1d(levels)]
        found = self._ahead.quantile(wanted)
        if self._clock.kind == "numpy":
            return found[:, 0, :] if len(self.names) == 1 else found
        return self._frame({level: found[:, :, k] for k, level in enumerate(wanted)})

    def plot(self, ax: Any = None) -> Any:
        """Plot the median and the 50% and 90% intervals with matplotlib.

        Parameters
        ----------
        ax : Axes or sequence of Axes, optional
            One per dimension; new ones by default.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from ._plot import plot_forecast

        return plot_forecast(self, ax)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what `levytilt forecast --out` writes: forecast.csv, paths.npz, summary.json, report.html."""
        self._ahead.save(os.fspath(path))

    def __getstate__(self) -> dict[str, Any]:
        kept = self._ahead if isinstance(self._ahead, KeptAhead) else KeptAhead(self._ahead)
        return {**self.__dict__, "_ahead": kept}

    def __repr__(self) -> str:
        found = self.summary
        span = f"from {found['from']} to {found['to']}"
        return f"Forecast of {', '.join(self.names)} {span}: {len(self.times)} times, {found['paths']} paths"

    def _origin(self) -> int | None:
        return self._ahead.origin

    def _frame(self, columns: dict[Any, np.ndarray]) -> Any:
        return self._clock.frame(self._ahead.times, self._ahead.origin, self.names, columns)
