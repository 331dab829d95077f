"""Convert observations from and results to NumPy, pandas, polars and files."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from ._keywords import packed
from ._levytilt import InputError, Table

_MICROSECONDS = 1000


class Record:
    """A table for the engine, and the format of its times."""

    def __init__(self, table: Table, clock: Clock):
        self.table = table
        self.clock = clock


class Clock:
    """The format of times on input, and so on output: NumPy arrays, or pandas or polars DataFrames."""

    def __init__(self, kind: str = "numpy", zone: Any = None, name: Any = None):
        self.kind = kind
        self.zone = zone
        self.name = name

    def times(self, times: np.ndarray, origin: int | None) -> Any:
        """Engine times in the user's format: numbers, or timestamps rounded to the microsecond."""
        if origin is None:
            return times
        nanoseconds = np.rint(times * 86_400e9).astype(np.int64) + origin
        stamps = ((nanoseconds + _MICROSECONDS // 2) // _MICROSECONDS).astype("datetime64[us]")
        return stamps

    def frame(self, times: np.ndarray, origin: int | None, names: list[str], columns: dict[Any, np.ndarray]) -> Any:
        """Columns of shape (time, dimension) as a DataFrame; for NumPy a dictionary of arrays, flat in one dimension."""
        stamps = self.times(times, origin)
        one = len(names) == 1
        if self.kind == "numpy":
            return {"time": stamps, **{key: value[:, 0] if one else value for key, value in columns.items()}}
        flat = {(name, key): value[:, i] for i, name in enumerate(names) for key, value in columns.items()}
        if self.kind == "polars":
            import polars

            labels = {f"{key}" if one else f"{name}_{key}": value for (name, key), value in flat.items()}
            return polars.DataFrame({"time": stamps, **labels})
        import pandas

        index = self.index(stamps)
        if one:
            return pandas.DataFrame({key: value for (_, key), value in flat.items()}, index=index)
        frame = pandas.DataFrame(flat, index=index)
        frame.columns = pandas.MultiIndex.from_tuples(list(flat))
        return frame

    def rows(self, times: np.ndarray, origin: int | None, columns: dict[str, Any]) -> Any:
        """A table with one row per time and plain columns: a DataFrame, or for NumPy a dictionary."""
        stamps = self.times(times, origin)
        if self.kind == "numpy":
            return {"time": stamps, **columns}
        if self.kind == "polars":
            import polars

            return polars.DataFrame({"time": stamps, **columns})
        import pandas

        return pandas.DataFrame(columns, index=self.index(stamps))

    def index(self, stamps: np.ndarray) -> Any:
        """A pandas index, in the time zone of the data."""
        import pandas

        index = pandas.Index(stamps, name=self.name)
        if self.zone is not None:
            index = index.tz_localize("UTC").tz_convert(self.zone)
        return index


def record(times: Any, values: Any = None, column: Any = None, columns: Any = None, config: Any = None) -> Record:
    """Observations from a path, a Series or DataFrame (index = time), a polars DataFrame (first column = time) or arrays."""
    only = [column] if column is not None else columns
    if isinstance(times, (str, os.PathLike)) and values is None:
        return _from_path(os.fspath(times), column, columns, config)
    if values is None:
        if _is_a(times, "pandas", "Series", "DataFrame"):
            return _from_pandas(times, only)
        if _is_a(times, "polars", "DataFrame"):
            return _from_polars(times, only)
        raise InputError(
            f"fit of {type(times).__name__}: expected times and values, a pandas Series or DataFrame, a polars DataFrame, "
            "or a path"
        )
    return _from_arrays(times, values, only)


def rows(times: Any, values: Any, names: list[str]) -> tuple[list[str], Any, list[np.ndarray]]:
    """New rows for a fit with these columns: names, times for the engine, and columns; a single row will do."""
    if values is None and _is_a(times, "pandas", "Series", "DataFrame"):
        frame = times.to_frame(names[0]) if times.ndim == 1 else times
        columns = [frame[name].to_numpy(dtype=float, na_value=np.nan) for name in frame.columns]
        return [str(name) for name in frame.columns], _times(frame.index)[0], columns
    if values is None and _is_a(times, "polars", "DataFrame"):
        columns = [times[name].to_numpy().astype(float) for name in times.columns[1:]]
        return list(times.columns[1:]), _times(times.to_series(0).to_numpy())[0], columns
    if values is None:
        raise InputError(f"update with {type(times).__name__}: expected times and values, or a DataFrame")
    array = np.asarray(values, dtype=float).reshape(-1, len(names))
    return names, _times(np.atleast_1d(times))[0], [np.ascontiguousarray(array[:, k]) for k in range(len(names))]


def engine_times(times: Any) -> np.ndarray | list[str]:
    """Times for the engine: numbers, or timestamps as written in files."""
    return _times(times)[0]


def _from_path(path: str, column: Any, columns: Any, config: Any) -> Record:
    if path.endswith((".parquet", ".pq")):
        return _from_parquet(path, [column] if column is not None else columns)
    return Record(Table.read(path, packed(column=column, columns=columns, config=config)), Clock())


def _from_parquet(path: str, only: Any) -> Record:
    try:
        import polars
    except ImportError:
        import pandas

        frame = pandas.read_parquet(path)
        if isinstance(frame.index, pandas.RangeIndex):
            frame = frame.set_index(frame.columns[0])
        return _from_pandas(frame, only, path)
    return _from_polars(polars.read_parquet(path), only, path)


def _from_pandas(data: Any, only: Any, source: str = "data") -> Record:
    frame = data.to_frame() if data.ndim == 1 else data
    if data.ndim == 1 and data.name is None:
        frame.columns = ["value"]
    names = [str(name) for name in frame.columns]
    # Convert column by column, so that missing values of extension types become NaN.
    columns = [frame.iloc[:, k].to_numpy(dtype=float, na_value=np.nan) for k in range(len(names))]
    times, zone = _times(frame.index)
    names, columns = _choose(source, names, columns, only)
    return Record(Table(source, names, times, columns), Clock("pandas", zone, frame.index.name))


def _from_polars(frame: Any, only: Any, source: str = "data") -> Record:
    import polars

    names = frame.columns[1:]
    columns = [frame[name].cast(polars.Float64).to_numpy().astype(float) for name in names]
    first = frame.to_series(0)
    zone = getattr(first.dtype, "time_zone", None)
    if zone is not None:
        first = first.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    times, _ = _times(first.to_numpy(), utc=zone is not None)
    names, columns = _choose(source, list(names), columns, only)
    return Record(Table(source, names, times, columns), Clock("polars"))


def _from_arrays(times: Any, values: Any, only: Any) -> Record:
    clock = Clock("pandas" if _is_a(times, "pandas", "DatetimeIndex", "Index", "Series") else "numpy")
    if _is_a(times, "pandas", "Series"):
        times = times.array
        import pandas

        times = pandas.Index(times)
    names = [str(name) for name in values.columns] if _is_a(values, "pandas", "DataFrame") else None
    values = np.asarray(values, dtype=float)
    table = values[:, None] if values.ndim == 1 else values
    if table.ndim != 2:
        raise InputError(f"values have {values.ndim} dimensions; expected (time) or (time, dimension)")
    if names is None:
        names = ["value"] if table.shape[1] == 1 else [f"x{k + 1}" for k in range(table.shape[1])]
    texts, clock.zone = _times(times)
    names, columns = _choose("values", names, [table[:, k] for k in range(len(names))], only)
    return Record(Table("values", names, texts, columns), clock)


def _choose(source: str, names: list[str], columns: list[np.ndarray], only: Any) -> tuple[list[str], list[np.ndarray]]:
    if only is None:
        return names, columns
    wanted = [only] if isinstance(only, str) else list(only)
    for name in wanted:
        if name not in names:
            raise InputError(f'{source}: has no value column "{name}"; it has: {", ".join(names)}')
    return wanted, [columns[names.index(name)] for name in wanted]


def _times(times: Any, utc: bool = False) -> tuple[Any, Any]:
    """Times for the engine, numbers or strings, and their time zone."""
    zone = None
    if _is_a(times, "pandas", "PeriodIndex"):
        times = times.to_timestamp()
    if _is_a(times, "pandas", "DatetimeIndex") and times.tz is not None:
        zone = times.tz
        if str(zone) not in ("UTC", "utc", "Etc/UTC"):
            name = getattr(zone, "key", None) or getattr(zone, "zone", None)
            return [stamp.isoformat() + (f"[{name}]" if name else "") for stamp in times], zone
        times, utc = times.tz_convert("UTC").tz_localize(None), True
    array = np.asarray(times)
    if array.dtype.kind == "M":
        return _stamps(array, utc), zone
    if array.dtype.kind in "OUS":
        return [stamp.isoformat() if hasattr(stamp, "isoformat") else str(stamp) for stamp in array.tolist()], zone
    return np.ascontiguousarray(array, dtype=float), zone


def _stamps(array: np.ndarray, utc: bool) -> list[str]:
    """Timestamps with as few digits as needed; only dates if all are midnight without a time zone."""
    array = array.astype("datetime64[ns]") if np.datetime_data(array.dtype)[0] not in ("D", "s", "ms", "us", "ns") else array
    for unit in ("D", "s", "ms", "us"):
        if (unit != "D" or not utc) and bool(np.all(array.astype(f"datetime64[{unit}]") == array)):
            break
    else:
        unit = "ns"
    return [text + ("Z" if utc else "") for text in np.datetime_as_string(array, unit=unit).tolist()]  # type: ignore[call-overload]


def _is_a(value: Any, package: str, *names: str) -> bool:
    """Whether a value is an instance of a class of a package, which need not be installed."""
    module = sys.modules.get(package)
    return module is not None and isinstance(value, tuple(getattr(module, name) for name in names))
