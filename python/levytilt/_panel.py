"""Fit every series of a long table, with parameters shared or not."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, Sequence

import numpy as np

from . import _levytilt
from ._data import Record, record
from ._extras import need
from ._fit import Fit
from ._keywords import packed, refuse_unknown
from ._levytilt import ComputationError, InputError
from ._model import Model
from ._progress import Bar, learning


class PanelFit(Mapping):
    """Fits of the series of a panel, by their names, as `fit_panel` returns it.

    Examples
    --------
    >>> panel = lt.fit_panel(frame, share="alpha")                            # doctest: +SKIP
    >>> panel["pump 3"].posterior(), panel.shared["alpha"], panel.failures    # doctest: +SKIP
    """

    def __init__(self, fits: dict[Any, Fit], shared: dict[str, dict[str, Any]], failures: dict[Any, str], names: list[str]):
        self._fits = fits
        self._names = names
        #: Shared parameters: estimate, std_error, and for pooled ones mean and spread on the scale on which they are learned.
        self.shared = shared
        #: Series without a fit, with the reason.
        self.failures = failures

    def __getitem__(self, key: Any) -> Fit:
        return self._fits[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._fits)

    def __len__(self) -> int:
        return len(self._fits)

    @property
    def summary(self) -> Any:
        """A pandas DataFrame with a row per series: observations, log_evidence, jumps, every parameter and its standard error."""
        pandas = need("pandas", "pandas")
        rows = {}
        for key, fit in self._fits.items():
            found = fit.summary
            row = {name: found[name] for name in ("observations", "log_evidence", "jumps")}
            for name, parameter in found["parameters"].items():
                row[name] = parameter["estimate"]
                row[f"{name}_se"] = np.nan if parameter["std_error"] is None else parameter["std_error"]
            rows[key] = row
        frame = pandas.DataFrame.from_dict(rows, orient="index")
        frame.index.name = self._names[0]
        return frame

    def predict(
        self, horizon: Any = None, *, at: Any = None, levels: Sequence[float] = (80, 95), name: str = "levytilt", **options: Any
    ) -> Any:
        """Forecast all series as one long pandas DataFrame, in the shape of Nixtla's tools.

        Parameters
        ----------
        horizon, at, **options
            As for `Fit.forecast`.
        levels : sequence of float, default (80, 95)
            Central intervals, in percent.
        name : str, default "levytilt"
            Name of the column of medians.

        Returns
        -------
        DataFrame
            The series and the time as in the data, `name` (the median), and `name-lo-80`, `name-hi-80` for every level.
        """
        pandas = need("pandas", "pandas")
        for level in levels:
            if not 0 < level < 100:
                raise InputError(f"levels: {level} is not a percentage between 0 and 100, such as 90")
        frames = []
        for key, fit in self._fits.items():
            ahead = fit.forecast(horizon, at=at, **options)
            quantile = ahead.quantile
            columns = {self._names[0]: key, self._names[1]: ahead.times, name: _values(quantile(0.5))}
            for level in levels:
                for side, tail in (("lo", 0.5 - level / 200), ("hi", 0.5 + level / 200)):
                    columns[f"{name}-{side}-{level:g}"] = _values(quantile(tail))
            frames.append(pandas.DataFrame(columns))
        return pandas.concat(frames, ignore_index=True)

    def __repr__(self) -> str:
        shared = "".join(f", {name} = {found['estimate']:.4g}" for name, found in self.shared.items())
        return f"PanelFit of {len(self)} series{shared}, {len(self.failures)} failed"


def fit_panel(
    frame: Any,
    id: str = "unique_id",
    time: str = "ds",
    value: str = "y",
    *,
    model: Model | None = None,
    share: str | Sequence[str] | None = None,
    seed: int = 1,
    paths: int | None = None,
    steps: int | None = None,
    threads: int = 0,
    executor: Executor | None = None,
    progress: bool | None = None,
    **options: Any,
) -> PanelFit:
    """Fit every series of a long pandas or polars DataFrame, which has a row per series and time.

    Parameters
    ----------
    frame : DataFrame
        The long table.
    id, time, value : str
        Names of its columns; the defaults are those of Nixtla's tools.
    model : Model, optional
        The model of every series; Ornstein–Uhlenbeck with stable noise by default.
    share : str or sequence of str, optional
        Parameters that all series have in common, learned from all of them together. "alpha~" lets series differ, around a mean and
        with a spread that are learned (partial pooling). The fits are then given these values: a shared parameter is held, a pooled
        one has its law over series as prior.
    seed, paths, steps
        As for `Model.fit`.
    threads : int, default 0
        0 uses all cores. Results do not depend on it.
    executor : concurrent.futures.Executor, optional
        Where series are fitted instead of threads of this process, such as Dask's ``Client.get_executor()``; what they share is
        learned here. Results do not depend on it.
    progress : bool, optional
        Show a bar.
    **options
        Further options of `Model.fit`.

    Returns
    -------
    PanelFit
        Series that cannot be fitted are in `failures`.

    Examples
    --------
    >>> panel = lt.fit_panel(frame, share="alpha")                            # doctest: +SKIP
    >>> panel.summary, panel.predict("2D")                                    # doctest: +SKIP
    """
    refuse_unknown("fit_panel", options, ["solve"])
    model = model or Model()
    records, failures = _records(frame, id, time, value)
    shares = [share] if isinstance(share, str) else list(share or [])
    common = {"seed": seed, "paths": paths, "steps": steps, **options}
    shared: dict[str, dict[str, Any]] = {}
    own: list[Any] = [None] * len(records)
    if shares:
        tell, bar = learning(progress)
        try:
            tables = [found.table for found in records.values()]
            keywords = packed(**model._keywords(), **common, share=shares, threads=threads or None)
            answer = json.loads(_levytilt.share(tables, keywords, tell))
        finally:
            bar.close()
        shared = {row["name"]: {key: item for key, item in row.items() if key != "name"} for row in answer["shared"]}
        own = answer["own"]
    keywords = packed(**_given(model, shared), **common, threads=1)
    bar = Bar(progress, len(records), "series")
    known = [learned and json.dumps(learned) for learned in own]
    workers: Any = ThreadPoolExecutor(threads or os.cpu_count()) if executor is None else nullcontext(executor)
    try:
        with workers as pool:
            done: dict[Any, Fit | str] = {}
            for key, fit in zip(records, pool.map(_one, list(records.values()), [keywords] * len(records), known)):
                done[key] = fit
                bar.step()
    finally:
        bar.close()
    failures.update({key: reason for key, reason in done.items() if isinstance(reason, str)})
    fits = {key: fit for key, fit in done.items() if isinstance(fit, Fit)}
    if not fits and failures:
        key, reason = next(iter(failures.items()))
        raise InputError(f"none of {len(failures)} series could be fitted; the first, {key}: {reason}")
    return PanelFit(fits, shared, failures, [id, time])


def _one(found: Record, keywords: str, learned: str | None) -> Fit | str:
    """The fit of one series, or why there is none: the task sent to workers."""
    try:
        return Fit(_levytilt.fit(found.table, keywords, None, learned), found.clock)
    except (InputError, ComputationError) as error:
        return str(error)


def _values(found: Any) -> np.ndarray:
    """The only column of a quantile in any format."""
    array = found.to_numpy() if hasattr(found, "to_numpy") else np.asarray(found)
    return np.asarray(array[:, -1] if array.ndim > 1 else array, dtype=float)


def _given(model: Model, shared: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Keywords of the model of one series, given what all share."""
    keywords = model._keywords()
    parameters: dict[str, Any] = dict(model.parameters)
    for name, found in shared.items():
        if found["pooled"]:
            known = parameters.get(name, {})
            parameters[name] = {**known, "prior": {"mean": found["mean"], "std": found["spread"]}}
        else:
            keywords[name] = found["estimate"]
    return {**keywords, "parameters": parameters or None}


def _records(frame: Any, id: str, time: str, value: str) -> tuple[dict[Any, Record], dict[Any, str]]:
    """The series of a long table, and those that cannot be read, with the reason."""
    columns = [str(name) for name in getattr(frame, "columns", [])]
    if not columns:
        raise InputError(f"fit_panel of {type(frame).__name__}: expected a pandas or polars DataFrame with a row per series and time")
    for role, name in (("id", id), ("time", time), ("value", value)):
        if name not in columns:
            raise InputError(f"{role} = {name!r}: the table has no such column; it has: {', '.join(columns)}")
    if type(frame).__module__.startswith("polars"):
        parts = ((key[0], part.sort(time).select([time, value])) for key, part in frame.partition_by(id, as_dict=True).items())
    else:
        parts = ((key, part.sort_values(time).set_index(time)[value]) for key, part in frame.groupby(id, sort=False))
    records: dict[Any, Record] = {}
    failures: dict[Any, str] = {}
    for key, part in parts:
        try:
            records[key] = record(part)
        except (InputError, ComputationError) as error:
            failures[key] = str(error)
    if not records:
        reason = next(iter(failures.values()), "the table is empty")
        raise InputError(f"no series can be read: {reason}")
    return records, failures
