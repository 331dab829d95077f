"""Backtest models on the same rolling windows, on this machine or on a cluster."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
import tempfile
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Iterator, Sequence

from ._data import record
from ._extras import need
from ._keywords import length, packed, refuse_unknown
from ._levytilt import Backtest, ComputationError, Table
from ._model import Model
from ._progress import Bar

#: Windows in flight per worker: enough to keep it busy, few enough that little is lost if it dies.
AHEAD = 4
#: How often a broken executor is recreated, where that is possible.
REVIVALS = 5

Window = tuple  # (number, missing models)


class Scores:
    """Results of a backtest, as `backtest` returns them: `print(scores)` shows the table.

    Attributes
    ----------
    models : dict
        Scores of each model, by name.
    content : dict
        The contents of scores.json.
    table : str
        The contents of scores.md.
    path : str or None
        Where they were written.
    """

    def __init__(self, content: dict[str, Any], table: str, path: str | None):
        self.content = content
        self.table = table
        self.path = path

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """Scores of each model, by name."""
        return {model["name"]: model for model in self.content["models"]}

    def to_pandas(self) -> Any:
        """A DataFrame with one row per model."""
        pandas = need("pandas", "pandas")
        keys = ("crps", "energy_score", "variogram_score", "tail_crps", "mse", "mae", "seconds_per_window")
        rows = {name: {key: model[key] for key in keys} for name, model in self.models.items()}
        return pandas.DataFrame.from_dict(rows, orient="index")

    def __repr__(self) -> str:
        return self.table


def backtest(
    data: Any,
    train: Any = "30d",
    horizon: Any = "2d",
    stride: Any = None,
    models: Sequence[Any] | None = None,
    *,
    executor: Executor | Callable[[], Executor] | None = None,
    cluster: str | None = None,
    out: str | os.PathLike[str] | None = None,
    log_returns: bool = False,
    column: str | None = None,
    columns: Sequence[str] | None = None,
    paths: int | None = None,
    seed: int | None = None,
    threads: int = 0,
    progress: bool | None = None,
    **options: Any,
) -> Scores:
    """Score models on rolling windows of a record.

    Windows run on threads of this process, on any ``concurrent.futures.Executor`` or on a Dask cluster; results do not depend on
    where or in which order.

    Parameters
    ----------
    data
        What `Model.fit` takes as a single argument.
    train, horizon : float, str or timedelta
        Length of the part to learn from and of the forecast, such as "30d" and "2d".
    stride : float, str or timedelta, optional
        Distance between windows; the horizon by default.
    models : sequence, optional
        Names of kinds (``levytilt backtest --help``), `Model` objects, or paths of settings files that end with .toml.
    executor : Executor or callable, optional
        Where to run. A function that makes an executor is called again when a worker dies.
    cluster : str, optional
        Address of a Dask scheduler.
    out : path, optional
        Directory for the results. The same call, also of the program, resumes there where it was stopped.
    log_returns : bool, default False
        Take logarithms of prices and forecast cumulative returns.
    column, columns : str, list of str, optional
        Value columns; all by default.
    paths, seed, threads : int, optional
        Paths per forecast, seed of the random numbers, threads of this process (0 = all cores).
    progress : bool, optional
        Show a bar.
    **options
        from_, to, least, reference, training_steps; see ``levytilt backtest --help``.

    Returns
    -------
    Scores

    Examples
    --------
    >>> scores = lt.backtest(prices, log_returns=True, models=["random-walk", "garch-t", "tilt"])    # doctest: +SKIP
    >>> scores.to_pandas()["crps"]                                                                  # doctest: +SKIP
    """
    if "from_" in options:
        options["from"] = options.pop("from_")
    refuse_unknown("backtest", options, ["backtest"])
    wanted, own = _named(models.split(",") if isinstance(models, str) else models)
    with _directory(out) as target:
        if isinstance(data, (str, os.PathLike)):
            source, table = os.fspath(data), None
            chosen = {"column": column} if column is not None else {"columns": list(columns)} if columns else {}
        else:
            source, table, chosen = "data", record(data, None, column, columns).table, {}
        request = packed(
            source=source, data=chosen, out=target, train=length(train), horizon=length(horizon), stride=length(stride),
            models=wanted, own=own, log_returns=log_returns, paths=paths, seed=seed, **options,
        )  # fmt: skip
        content, text = run(Backtest(request, table), request, executor, cluster, threads, progress)
    return Scores(json.loads(content), text, None if out is None else os.fspath(out))


def _named(models: Sequence[Any] | None) -> tuple[list[str] | None, dict[str, Any] | None]:
    """Names of all models, and the keywords of those that are `Model` objects."""
    names: list[str] = []
    own: dict[str, Any] = {}
    for model in models or []:
        if isinstance(model, Model):
            name = f"{model.drift} with {model.noise}"
            twice = sum(known.split(" (")[0] == name for known in own)
            name = f"{name} ({twice + 1})" if twice else name
            own[name] = {key: value for key, value in model._keywords().items() if value is not None}
            names.append(name)
        else:
            names.append(os.fspath(model))
    return names or None, own or None


def run(
    plan: Backtest,
    request: str,
    executor: Any = None,
    cluster: str | None = None,
    threads: int = 0,
    progress: bool | None = None,
) -> tuple[str, str]:
    """Compute what is missing in the journal of a plan, made from a request, and finish it."""
    # Workers first: without any, nothing is started.
    with _workers(plan, request, executor, cluster, threads) as workers:
        missing = plan.open()
        bar = Bar(progress, len(plan), "forecasts", len(plan) - len(missing))
        try:
            for lines in workers.results(_by_window(missing)):
                bar.step(sum(plan.append(text) for text in lines))
            return plan.finish()
        finally:
            plan.close()
            bar.close()


def window_lines(plan: Backtest, window: int, models: Sequence[str]) -> list[str]:
    """Journal lines of one window: the task sent to workers."""
    return [plan.line(window, model) for model in models]


def _by_window(missing: list[tuple[int, str]]) -> list[Window]:
    windows: dict[int, list[str]] = {}
    for number, model in missing:
        windows.setdefault(number, []).append(model)
    return list(windows.items())


class _directory:
    """The directory of the results: the given one, or a temporary one."""

    def __init__(self, out: Any):
        self.out = out
        self.made: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> str:
        if self.out is not None:
            return os.fspath(self.out)
        self.made = tempfile.TemporaryDirectory(prefix="levytilt-")
        return self.made.name

    def __exit__(self, *_: Any) -> None:
        if self.made is not None:
            self.made.cleanup()


def _workers(plan: Backtest, request: str, executor: Any, cluster: str | None, threads: int) -> Any:
    if cluster is not None:
        from ._dask import DaskWorkers

        return DaskWorkers(request, plan.table, address=cluster)
    if executor is not None and not callable(executor) and not hasattr(executor, "submit"):
        raise TypeError(
            f"executor = {executor!r}: expected a concurrent.futures.Executor or a function that makes one; for a number of "
            "threads give threads"
        )
    if executor is None:
        return Local(plan, threads or os.cpu_count() or 1)
    if type(executor).__module__.startswith("distributed"):
        from ._dask import DaskWorkers

        return DaskWorkers(request, plan.table, client=executor._client)
    return Remote(plan, request, executor)


class Pool:
    """Run windows on an executor, a few at a time; yield results as they arrive."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def submit(self, window: Window) -> Future[list[str]]:
        raise NotImplementedError

    def revive(self) -> bool:
        """Recreate the executor after the death of a worker; return whether that was possible."""
        return False

    def results(self, windows: list[Window]) -> Iterator[list[str]]:
        waiting = list(reversed(windows))
        flying: dict[Future[list[str]], Window] = {}
        most = AHEAD * self.width()
        while waiting or flying:
            try:
                while waiting and len(flying) < most:
                    flying[self.submit(waiting[-1])] = waiting[-1]
                    waiting.pop()
                for future in wait(flying, return_when=FIRST_COMPLETED).done:
                    lines = future.result()
                    del flying[future]
                    yield lines
            except BrokenExecutor as error:
                # Keep finished windows even if their worker died afterwards.
                for future, window in flying.items():
                    if future.done() and not future.cancelled() and future.exception() is None:
                        yield future.result()
                    else:
                        waiting.append(window)
                flying.clear()
                if not self.revive():
                    raise ComputationError(
                        f"a worker died: {error}; finished windows are kept, and the same call with the same out resumes "
                        "from there. A function that makes the executor, in its place, would be called again"
                    ) from error

    def width(self) -> int:
        return os.cpu_count() or 1


class Local(Pool):
    """Threads of this process."""

    def __init__(self, plan: Backtest, threads: int):
        self.plan = plan
        self.threads = threads

    def __enter__(self) -> Local:
        self.executor = ThreadPoolExecutor(self.threads, thread_name_prefix="levytilt")
        return self

    def __exit__(self, *_: Any) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)

    def submit(self, window: Window) -> Future[list[str]]:
        return self.executor.submit(window_lines, self.plan, *window)

    def width(self) -> int:
        return self.threads


class Remote(Pool):
    """Any executor. The data are in a file that workers read once; a task is its name and a window number."""

    def __init__(self, plan: Backtest, request: str, executor: Any):
        self.key, self.payload = luggage(request, plan.table)
        self.out = Path(json.loads(request)["out"])
        self.make = executor if callable(executor) and not isinstance(executor, Executor) else None
        self.executor: Executor = self.make() if self.make else executor
        self.revivals = 0

    def __enter__(self) -> Remote:
        self.out.mkdir(parents=True, exist_ok=True)
        # The same call has the same name, so it replaces the leftovers of a dead driver.
        self.file = self.out / f".plan.{self.key}.pickle"
        self.file.write_bytes(self.payload)
        return self

    def __exit__(self, *_: Any) -> None:
        if self.make:
            self.executor.shutdown(wait=False, cancel_futures=True)
        self.file.unlink(missing_ok=True)

    def submit(self, window: Window) -> Future[list[str]]:
        return self.executor.submit(_from_file, str(self.file), *window)

    def revive(self) -> bool:
        if self.make is None or self.revivals == REVIVALS:
            return False
        self.revivals += 1
        print(f"levytilt: a worker died; starting workers again ({self.revivals} of {REVIVALS})", file=sys.stderr)
        self.executor = self.make()
        return True

    def width(self) -> int:
        return getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1


def _from_file(file: str, window: int, models: list[str]) -> list[str]:
    return window_lines(_plan_in(file), window, models)


@lru_cache(maxsize=1)
def _plan_in(file: str) -> Backtest:
    return unpacked(Path(file).read_bytes())


def luggage(request: str, table: Table) -> tuple[str, bytes]:
    """The data that a worker needs once, and a name for them."""
    payload = pickle.dumps((request, table))
    return hashlib.sha256(payload).hexdigest()[:16], payload


def unpacked(payload: bytes) -> Backtest:
    """The plan that a worker builds once and keeps."""
    return Backtest(*pickle.loads(payload))
