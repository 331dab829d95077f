"""Look ahead: predictive paths and what they say."""

from __future__ import annotations

import json
import os
from typing import Any, Sequence

import numpy as np

from ._data import Clock
from ._levytilt import Ahead


class Forecast:
    """Predictive paths of the state from the end of a fitted record."""

    def __init__(self, ahead: Ahead, clock: Clock):
        self._ahead = ahead
        self._clock = clock

    @property
    def names(self) -> list[str]:
        """Names of the dimensions."""
        return self._ahead.names

    @property
    def times(self) -> Any:
        """Times ahead, as the record writes its times."""
        stamps = self._clock.times(self._ahead.times, self._ahead.origin)
        return self._clock.index(stamps) if self._clock.kind == "pandas" else stamps

    @property
    def summary(self) -> dict[str, Any]:
        """The content of summary.json."""
        return json.loads(self._ahead.summary_json())

    def paths(self) -> np.ndarray:
        """States (path, time, dimension)."""
        return self._ahead.paths()

    def mean(self) -> Any:
        """Means: an array (time) or (time, dimension), or what the record was."""
        means = self._ahead.mean()
        if self._clock.kind == "numpy":
            return means[:, 0] if len(self.names) == 1 else means
        frame = self._frame({"mean": means})
        return frame["mean"] if self._clock.kind == "pandas" and len(self.names) == 1 else frame

    def quantile(self, levels: float | Sequence[float]) -> Any:
        """Quantiles: an array (time, level) or (time, dimension, level), or a frame with a column per level."""
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
