"""Plot a fit with matplotlib, as at the top of its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._extras import need

if TYPE_CHECKING:
    from ._fit import Fit

#: Jumps at least this probable are marked, as in the report.
PROBABLE = 0.5


def plot(fit: Fit) -> Any:
    """Data, posterior and probable jumps per dimension; learned parameters below."""
    pyplot = need("matplotlib.pyplot", "plot")
    names, found = fit.names, fit._run.posterior()
    times = _drawn(fit, found["time"])
    learned = [(name, p) for name, p in fit.summary["parameters"].items() if not p["fixed"]]
    rows = len(names) + bool(learned)
    figure, axes = pyplot.subplots(rows, 1, figsize=(9, 2.8 * rows), squeeze=False, layout="constrained")
    seen = fit._observations()
    for i, (name, axis) in enumerate(zip(names, axes[:, 0])):
        axis.fill_between(times, found["q05"][:, i], found["q95"][:, i], alpha=0.25, label="90% of the posterior")
        axis.plot(times, found["q50"][:, i], label="median")
        if seen is not None:
            stamps = _drawn(fit, seen[0])
            axis.plot(stamps, seen[1][i], ".", color="black", markersize=2, label="observed")
        jumps = found["jump_probability"][:, i] >= PROBABLE
        axis.plot(times[jumps], found["q50"][jumps, i], "v", color="tab:red", label="probable jump")
        axis.set_ylabel(name)
        axis.legend(loc="best", fontsize="small")
    if learned:
        _parameters(axes[-1, 0], learned)
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


def _parameters(axis: Any, learned: list[tuple[str, dict[str, Any]]]) -> None:
    """Estimates with two standard errors."""
    for k, (name, parameter) in enumerate(learned):
        error = parameter["std_error"]
        axis.errorbar(parameter["estimate"], k, xerr=None if error is None else 2 * error, fmt="o", color="tab:blue")
    axis.set_yticks(range(len(learned)), [name for name, _ in learned])
    axis.set_xlabel("estimate, two standard errors")
