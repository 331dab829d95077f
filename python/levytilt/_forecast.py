"""Forecasts: predictive paths and their summaries."""

from __future__ import annotations

import json
import os
from typing import Any, Sequence

import numpy as np

from ._data import Clock
from ._levytilt import Ahead


class Forecast:
    """Predictive paths of the state from the end of the fitted data."""

    def __init__(self, ahead: Ahead, clock: Clock):
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

    def paths(self) -> np.ndarray:
        """States (path, time, dimension)."""
        return self._ahead.paths()

    def mean(self) -> Any:
        """Means: an array (time) or (time, dimension), or the type of the data."""
        means = self._ahead.mean()
        if self._clock.kind == "numpy":
            return means[:, 0] if len(self.names) == 1 else means
        frame = self._frame({"mean": means})
        return frame["mean"] if self._clock.kind == "pandas" and len(self.names) == 1 else frame

    def quantile(self, levels: float | Sequence[float]) -> Any:
        """Quantiles: an array (time, level) or (time, dimension, level), or a DataFrame with one column per level."""
        wanted = [float(level) for level in np.atleast_1d(levels)]
        found = self._ahead.quantile(wanted)
        if self._clock.kind == "numpy":
            return found[:, 0, :] if len(self.names) == 1 else found
        return self._frame({level: found[:, :, k] for k, level in enumerate(wanted)})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what `levytilt forecast --out` writes: forecast.csv, paths.npz, summary.json, report.html."""
        self._ahead.save(os.fspath(path))

    def _frame(self, columns: dict[Any, np.ndarray]) -> Any:
        return self._clock.frame(self._ahead.times, self._ahead.origin, self.names, columns)
