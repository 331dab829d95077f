"""Plot a fit with matplotlib, as at the top of its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._extras import need
from ._levytilt import InputError

if TYPE_CHECKING:
    from ._fit import Fit
    from ._forecast import Forecast

#: Jumps at least this probable are marked, as in the report.
PROBABLE = 0.5


def plot(fit: Fit, ax: Any = None) -> Any:
    """Data, posterior and probable jumps per dimension; on a new figure, learned parameters below."""
    pyplot = need("matplotlib.pyplot", "plot")
    names, found = fit.states, fit._run.posterior()
    times = _drawn(fit, found["time"])
    learned = [(name, p) for name, p in fit.summary["parameters"].items() if not p["fixed"]]
    learned = learned if ax is None else []
    if ax is None:
        figure = pyplot.figure(figsize=(9, 2.8 * len(names) + 1.6 * bool(learned)), layout="constrained")
        heights = [2.8] * len(names) + [1.6] * bool(learned)
        grid = figure.add_gridspec(len(heights), max(1, len(learned)), height_ratios=heights)
        axes = [figure.add_subplot(grid[i, :]) for i in range(len(names))]
    else:
        axes = _axes(ax, len(names))
        figure = axes[0].figure
    seen, columns = fit._observations(), fit._column_of()
    for i, (name, axis) in enumerate(zip(names, axes)):
        axis.fill_between(times, found["q05"][:, i], found["q95"][:, i], alpha=0.25, label="90% of the posterior")
        axis.plot(times, found["q50"][:, i], label="median")
        if seen is not None and name in columns:
            stamps = _drawn(fit, seen[0])
            axis.plot(stamps, seen[1][fit.names.index(columns[name])], ".", color="black", markersize=2, label="observed")
        jumps = found["jump_probability"][:, i] >= PROBABLE
        axis.plot(times[jumps], found["q50"][jumps, i], "v", color="tab:red", label="probable jump")
        axis.set_ylabel(name)
        axis.legend(loc="best", fontsize="small")
    for k, (name, parameter) in enumerate(learned):
        _parameter(figure.add_subplot(grid[-1, k]), name, parameter)
    if ax is not None:
        return figure
    summary = fit.summary
    figure.suptitle(f"log evidence {summary['log_evidence']:.2f} ± {summary['log_evidence_std_error']:.2f}")
    return figure


def _drawn(source: Any, times: Any) -> Any:
    """Times for an axis: with the time zone of the data, if they have one."""
    clock = source._clock
    stamps = clock.times(times, source._origin())
    if clock.spans:
        return stamps / np.timedelta64(1, "D")
    return clock.index(stamps).to_pydatetime() if clock.zone is not None else stamps


def _axes(ax: Any, count: int) -> list[Any]:
    axes = list(np.ravel(ax))
    if len(axes) != count:
        raise InputError(f"ax holds {len(axes)} axes; expected {count}, one per dimension")
    return axes


def _parameter(axis: Any, name: str, parameter: dict[str, Any]) -> None:
    """An estimate with two standard errors, on an axis of its own: parameters differ in size."""
    error = parameter["std_error"]
    axis.errorbar(0, parameter["estimate"], yerr=None if error is None else 2 * error, fmt="o", color="tab:blue", capsize=3)
    axis.set_xticks([])
    axis.set_title(name, fontsize="small")


def plot_forecast(ahead: Forecast, ax: Any = None) -> Any:
    """Median and intervals of 50% and 90% per dimension."""
    pyplot = need("matplotlib.pyplot", "plot")
    count = len(ahead.names)
    if ax is None:
        figure, axes = pyplot.subplots(count, 1, figsize=(9, 2.8 * count), squeeze=False, layout="constrained")
        axes = axes[:, 0]
    else:
        axes = _axes(ax, count)
        figure = axes[0].figure
    times = _drawn(ahead, ahead._ahead.times)
    levels = ahead._ahead.quantile([0.05, 0.25, 0.5, 0.75, 0.95])
    for i, (name, axis) in enumerate(zip(ahead.names, axes)):
        axis.fill_between(times, levels[:, i, 0], levels[:, i, 4], alpha=0.2, color="tab:orange", label="90%")
        axis.fill_between(times, levels[:, i, 1], levels[:, i, 3], alpha=0.4, color="tab:orange", label="50%")
        axis.plot(times, levels[:, i, 2], color="tab:orange", label="forecast median")
        axis.set_ylabel(name)
        axis.legend(loc="best", fontsize="small")
    return figure
