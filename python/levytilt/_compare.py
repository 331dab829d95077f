"""Compare models of one record."""

from __future__ import annotations

import csv
import html
import io
import json
import os
from typing import Any, Callable, Mapping, Sequence

from . import _levytilt
from ._data import record
from ._keywords import packed, refuse_unknown
from ._model import Model
from ._progress import learning

#: Columns of the table that are text.
_TEXTS = ("model", "drift", "noise", "residuals", "remark")


class Comparison:
    """Models of one record, ranked by log evidence less a penalty per learned parameter, as `compare` returns them.
    """

    def __init__(self, found: Any):
        self._found = found

    @property
    def summary(self) -> dict[str, Any]:
        """The contents of summary.json."""
        return json.loads(self._found.summary_json())

    @property
    def best(self) -> str | None:
        """Name of the best model; None if none was finished."""
        return self.summary["best"]

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """What was found for each model, by name, best first."""
        return {row["model"]: row for row in self.summary["models"]}

    @property
    def table(self) -> Any:
        """One row per model, best first: evidence, penalty, result, residuals, held-out score, parameters.

        A pandas DataFrame, or a dictionary of lists where pandas is not installed.
        """
        rows = list(csv.reader(io.StringIO(self._found.csv())))
        columns = {name: [_value(name, row[k]) for row in rows[1:]] for k, name in enumerate(rows[0])}
        try:
            import pandas
        except ImportError:
            return columns
        return pandas.DataFrame(columns).set_index("model")

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write compare.csv, summary.json and report.html, as ``levytilt compare --out`` does."""
        self._found.save(os.fspath(directory))

    def __repr__(self) -> str:
        return self._found.text()

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        heads = ["model", "log evidence", "learned", "penalty", "result", "behind", "held-out log score", "residuals"]
        cells = "".join(f"<th>{head}</th>" for head in heads)
        rows = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in _shown(row))}</tr>" for row in self.models.values())
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.summary["warnings"])
        return f"<table><thead><tr>{cells}</tr></thead><tbody>{rows}</tbody></table>" + (f"<ul>{notes}</ul>" if notes else "")


def _value(name: str, text: str) -> Any:
    return text if name in _TEXTS else float(text) if text else float("nan")


def _shown(row: dict[str, Any]) -> list[str]:
    """The cells of a model in a notebook."""
    if row["score"] is None:
        return [row["model"], row["error"], "", "", "", "", "", ""]
    error = row["log_evidence_std_error"]
    evidence = f"{row['log_evidence']:.2f}" + (f" ± {error:.2f}" if error >= 0.005 else "")
    held, verdict = row["held_out"], row["residuals"]
    passed = "–" if verdict is None else "pass" if verdict["passed"] else "fail: " + ", ".join(verdict["failed"])
    numbers = [f"{row[key]:.2f}" for key in ("penalty", "score", "behind")]
    return [row["model"], evidence, str(row["learned"]), *numbers, f"{held['log_score']:.4f}" if held else "–", passed]


def compare(
    times: Any,
    values: Any = None,
    *,
    models: Sequence[Any] | Mapping[str, Model] | None = None,
    noise: Sequence[str] | None = None,
    drift: Sequence[str] | None = None,
    errors: Sequence[str] | None = None,
    clock: Sequence[str] | None = None,
    volatility: Sequence[str] | None = None,
    holdout: float = 0.2,
    seed: int = 1,
    paths: int | None = None,
    method: str | None = None,
    threads: int = 0,
    steps: int | None = None,
    column: str | None = None,
    columns: list[str] | None = None,
    progress: bool | Callable[[int, int, float, float], None] | None = None,
    **fixed: Any,
) -> Comparison:
    """Fit several models to one record and rank them by evidence.

    Parameters
    ----------
    times, values
        What `Model.fit` takes.
    models : sequence or mapping of Model, optional
        `Model` objects, a dictionary of them by name, or paths of settings files.
    noise, drift, errors, clock, volatility : str or sequence of str, optional
        Instead, or in addition: every combination is a model.
    holdout : float, default 0.2
        Share of the rows at the end that are scored with parameters learned from the rows before; 0 for no scores.
    seed, paths, method, threads, steps, column, columns, progress
        As for `Model.fit`.
    **fixed
        What holds in all combinations: values of parameters, such as observation_std, season, harmonics or size.

    Returns
    -------
    Comparison

    Notes
    -----
    Evidence compares models of the same values only: not of a series with that of its logarithm.

    Examples
    --------
    >>> lt.compare(series, models=[lt.Model("ou", "stable"), lt.Model("ou", "gaussian")]).table    # doctest: +SKIP
    >>> lt.compare(series, noise=["stable", "nig"], drift=["ou", "none"]).best                     # doctest: +SKIP
    >>> lt.compare(series, noise="stable", errors=["gaussian", "outliers"], season="24h").best     # doctest: +SKIP
    """
    refuse_unknown("compare", fixed, ["model", "drift"], ["parameters", "error_column"])
    options = dict(seed=seed, paths=paths, method=method, threads=threads or None, steps=steps)
    known = fixed.get("error_column")
    if known and (column or columns):
        column, columns = None, [*([column] if column else columns or []), known]
    found = record(times, values, column, columns)
    named = models.items() if isinstance(models, Mapping) else [(None, model) for model in models or []]
    given = [_given(name, model, {**options, "error_column": known}) for name, model in named]
    lists = tuple([names] if isinstance(names, str) else list(names or []) for names in (noise, drift, errors, clock, volatility))
    tell, bar = learning(progress)
    try:
        return Comparison(_levytilt.compare(found.table, given, lists, packed(**options, **fixed), float(holdout), tell))
    finally:
        bar.close()


def _given(name: str | None, model: Any, options: dict[str, Any]) -> Any:
    """A model as the engine takes it."""
    if isinstance(model, Model) and model._written is not None:
        if options.get("method") or options.get("error_column"):
            raise _levytilt.InputError("method and error_column do not go with a model whose states are written out")
        how = {key: options[key] for key in ("seed", "paths", "steps")}
        title = name or f"states {', '.join(model._written.sections['states'])}"
        return ((title,), model._written.packed(**how))
    if isinstance(model, Model):
        return (name, packed(**{**options, **model._keywords()}))
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    raise _levytilt.InputError(f"models: {model!r} is not a model; expected a Model or the path of a settings file")
