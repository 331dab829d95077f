"""Convert observations from and results to NumPy, pandas, polars and files."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

from ._keywords import DAYS, length, packed
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
        #: Times are lengths (a TimedeltaIndex), which the engine counts in days.
        self.spans = False
        #: -1 where times are ages, which the engine sees with the opposite sign.
        self.sign = 1
        #: Offset between the times of a pandas record, if it is one of the calendar, such as business days or months.
        self.freq: Any = None
        #: Last timestamp of a pandas record.
        self.last: Any = None

    def times(self, times: np.ndarray, origin: int | None) -> Any:
        """Engine times in the user's format: numbers, or timestamps to the microsecond, or nanosecond where they are closer."""
        if self.spans:
            return np.rint(times * 86_400e9).astype(np.int64).astype("timedelta64[ns]")
        if origin is None:
            return times if self.sign > 0 else -times
        nanoseconds = np.rint(times * 86_400e9).astype(np.int64) + origin
        microseconds = (nanoseconds + _MICROSECONDS // 2) // _MICROSECONDS
        if len(np.unique(microseconds)) < len(np.unique(nanoseconds)):
            return nanoseconds.astype("datetime64[ns]")
        return microseconds.astype("datetime64[us]")

    def stamps(self, times: np.ndarray, origin: int | None) -> Any:
        """The same as an index of pandas or a Series of polars, with its zone, if the data were that."""
        stamps = self.times(times, origin)
        if self.kind == "pandas":
            return self.index(stamps)
        return self._series(stamps) if self.kind == "polars" else stamps

    def engine(self, times: Any) -> np.ndarray | list[str]:
        """Times that a user gives beside the record, one or several, for the engine."""
        if isinstance(times, str) or np.ndim(times) == 0:
            times = [times]
        if self.zone is None:
            given, zone = _times(times)
            if zone is not None and self.kind != "numpy":
                raise InputError(f"at has the time zone {zone}, the record has none; remove it with .tz_localize(None)")
        else:
            given = _times(_in_zone(times, self.zone))[0]
        return given * self.sign if isinstance(given, np.ndarray) else given

    def ahead(self, horizon: Any) -> tuple[Any, Any]:
        """The horizon, or None and the times up to it where the record follows the calendar."""
        if self.last is None:
            return (horizon, None)
        import pandas

        if hasattr(horizon, "rule_code"):
            end = self.last + horizon
        else:
            days = length(horizon)
            if isinstance(days, str):
                days = float(days[:-1]) * DAYS[days[-1]] if days[-1] in DAYS else float(days)
            end = self.last + pandas.Timedelta(days=float(days))
        if self.freq is None:
            return ((end - self.last) if hasattr(horizon, "rule_code") else horizon), None
        at = pandas.date_range(self.last, end, freq=self.freq)
        at = at[at > self.last]
        return (None, at) if len(at) else (horizon, None)

    def _series(self, stamps: np.ndarray) -> Any:
        import polars

        series = polars.Series(self.name or "time", stamps)
        return series if self.zone is None else series.dt.replace_time_zone("UTC").dt.convert_time_zone(str(self.zone))

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
            return polars.DataFrame({self.name or "time": self._series(stamps), **labels})
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

            return polars.DataFrame({self.name or "time": self._series(stamps), **columns})
        import pandas

        return pandas.DataFrame(columns, index=self.index(stamps))

    def index(self, stamps: np.ndarray) -> Any:
        """A pandas index, in the time zone of the data."""
        import pandas

        index = pandas.Index(stamps, name=self.name)
        if self.zone is not None:
            index = index.tz_localize("UTC").tz_convert(self.zone)
        return index


def record(
    times: Any,
    values: Any = None,
    column: Any = None,
    columns: Any = None,
    config: Any = None,
    direction: str | None = None,
    names: list[str] | None = None,
    **written: Any,
) -> Record:
    """Observations from a path, a Series or DataFrame (index = time), a polars DataFrame (first column = time) or arrays.

    `written` says how a file is written: time_column, date_format, separator, decimal; time_column also chooses the column of
    a DataFrame. `names` are the names of the columns of arrays.
    """
    if direction not in (None, "forward", "backward"):
        raise InputError(f'direction = {direction!r}: expected "forward" or "backward"')
    found = _record(times, values, column, columns, config, written, names)
    return _directed(found, direction)


def _directed(found: tuple[Record, Any], direction: str | None) -> Record:
    """Ask which way time runs where numbers decrease: they may be ages, or a record that begins with its newest row."""
    record, times = found
    numbers = isinstance(times, np.ndarray) and not record.clock.spans
    if direction == "backward":
        if not numbers:
            raise InputError('direction="backward" is for ages, which are numbers; these times are timestamps')
        record.clock.sign = -1
        table = record.table
        order = slice(None, None, -1)
        columns = [np.ascontiguousarray(column[order]) for column in table.columns]
        record.table = Table("data", table.names, np.ascontiguousarray(-table.times[order]), columns, table.others)
    elif direction is None and numbers and len(times) > 2 and bool(np.all(np.diff(times) < 0)):
        raise InputError(
            'times decrease from row to row; give direction="backward" if they are ages, so that the last row is the newest, or '
            'direction="forward" if the first row is the newest'
        )
    return record


def _record(
    times: Any, values: Any, column: Any, columns: Any, config: Any, written: dict[str, Any], names: list[str] | None
) -> tuple[Record, Any]:
    only = [column] if column is not None else columns
    if isinstance(times, (str, os.PathLike)) and values is None:
        return _from_path(os.fspath(times), column, columns, config, written), None
    time_column = written.pop("time_column", None)
    for name, value in written.items():
        if value is not None:
            raise InputError(f"{name} says how a file is written; these data are not read from a file")
    if values is None and _is_a(times, "xarray", "DataArray"):
        times = times.to_series() if times.ndim == 1 else times.to_pandas()
    if values is None:
        if _is_a(times, "pandas", "Series", "DataFrame"):
            return _from_pandas(times, only, time_column=time_column)
        if _is_a(times, "polars", "DataFrame"):
            return _from_polars(times, only)
        raise InputError(
            f"fit of {type(times).__name__}: expected times and values, a pandas Series or DataFrame, a polars DataFrame, "
            "or a path"
        )
    return _from_arrays(times, values, only, names)


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


def _from_path(path: str, column: Any, columns: Any, config: Any, written: dict[str, Any]) -> Record:
    if path.endswith((".parquet", ".pq")):
        return _from_parquet(path, [column] if column is not None else columns)[0]
    return Record(Table.read(path, packed(column=column, columns=columns, config=config, **written)), Clock())


def _from_parquet(path: str, only: Any) -> tuple[Record, Any]:
    try:
        import polars
    except ImportError:
        import pandas

        frame = pandas.read_parquet(path)
        if isinstance(frame.index, pandas.RangeIndex):
            frame = frame.set_index(frame.columns[0])
        return _from_pandas(frame, only, path)
    return _from_polars(polars.read_parquet(path), only, path)


def _from_pandas(data: Any, only: Any, source: str = "data", time_column: Any = None) -> tuple[Record, Any]:
    frame = data.to_frame() if data.ndim == 1 else data
    if data.ndim == 1 and data.name is None:
        frame.columns = ["value"]
    frame = _indexed(frame, source, time_column)
    every = [str(name) for name in frame.columns]
    names, places = _choose(source, every, list(range(frame.shape[1])), only)
    # Convert column by column, so that missing values of extension types become NaN.
    columns = [_floats(frame.iloc[:, k], source) for k in places]
    times, zone = _times(frame.index)
    clock = Clock("pandas", zone, frame.index.name)
    clock.spans = frame.index.dtype.kind == "m"
    if frame.index.dtype.kind == "M" or zone is not None:
        clock.last, clock.freq = frame.index.max(), _calendar_freq(frame.index)
    return Record(Table(source, names, times, columns, _others(every, names)), clock), times


def _indexed(frame: Any, source: str, time_column: Any) -> Any:
    """The frame with its times as index: the column of timestamps, where the index only counts rows."""
    import pandas

    if time_column is not None:
        if time_column not in frame.columns:
            raise InputError(f"time_column = {time_column!r}: {source} has: {', '.join(map(str, frame.columns))}")
        return frame.set_index(time_column)
    if not isinstance(frame.index, pandas.RangeIndex):
        return frame
    stamps = [name for name, kind in zip(frame.columns, frame.dtypes) if kind.kind == "M"]
    if len(stamps) > 1:
        raise InputError(f"{source}: columns {', '.join(map(str, stamps))} hold timestamps; give time_column={stamps[0]!r}")
    return frame.set_index(stamps[0]) if stamps else frame


def _floats(column: Any, source: str) -> np.ndarray:
    """A column as numbers; timestamps and text are none."""
    if column.dtype.kind in "Mm":
        raise InputError(f"{source}, column {str(column.name)!r}: holds times, not values; choose others with column or columns")
    try:
        return column.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InputError(f"{source}, column {str(column.name)!r}: {error}; choose others with column or columns") from None


def _calendar_freq(index: Any) -> Any:
    """The offset of an index if it follows the calendar: business days, months; None if it is a fixed length."""
    import pandas

    freq = index.freq
    if freq is None and len(index) > 2 and index.is_monotonic_increasing:
        inferred = pandas.infer_freq(index)
        freq = None if inferred is None else pandas.tseries.frequencies.to_offset(inferred)
    fixed = (pandas.offsets.Tick, pandas.offsets.Day, pandas.offsets.Week)
    return None if freq is None or isinstance(freq, fixed) else freq


def _in_zone(times: Any, zone: Any) -> Any:
    """Times in the zone of the record; those without a zone are local times there, as pandas reads them in an index."""
    import pandas

    index = pandas.DatetimeIndex(pandas.to_datetime(list(times)))
    return index.tz_localize(str(zone)) if index.tz is None else index.tz_convert(str(zone))


def _from_polars(frame: Any, only: Any, source: str = "data") -> tuple[Record, Any]:
    import polars

    names = frame.columns[1:]
    columns = [_polars_floats(frame[name], source) for name in names if only is None or name in only]
    names = [name for name in names if only is None or name in only]
    first = frame.to_series(0)
    zone = getattr(first.dtype, "time_zone", None)
    if zone is not None:
        first = first.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    times, _ = _times(first.to_numpy(), utc=zone is not None)
    names, columns = _choose(source, list(names), columns, only)
    table = Table(source, names, times, columns, _others(frame.columns[1:], names))
    return Record(table, Clock("polars", zone, frame.columns[0])), times


def _polars_floats(column: Any, source: str) -> np.ndarray:
    import polars

    if not column.dtype.is_numeric() and column.dtype != polars.Boolean and column.dtype != polars.Null:
        raise InputError(f"{source}, column {column.name!r}: holds {column.dtype}, not numbers; choose others with column")
    return column.cast(polars.Float64).to_numpy().astype(float)


def _from_arrays(times: Any, values: Any, only: Any, given: list[str] | None) -> tuple[Record, Any]:
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
    if names is None and given is not None:
        if len(given) != table.shape[1]:
            raise InputError(f"values have {table.shape[1]} columns; the model observes {len(given)}: {', '.join(given)}")
        names = given
    elif names is None:
        names = ["value"] if table.shape[1] == 1 else [f"x{k + 1}" for k in range(table.shape[1])]
    texts, clock.zone = _times(times)
    every = names
    names, columns = _choose("values", every, [table[:, k] for k in range(len(every))], only)
    clock.spans = np.asarray(times).dtype.kind == "m"
    return Record(Table("values", names, texts, columns, _others(every, names)), clock), texts


def _choose(source: str, names: list[str], columns: list[Any], only: Any) -> tuple[list[str], list[Any]]:
    if only is None:
        return names, columns
    wanted = [only] if isinstance(only, str) else list(only)
    for name in wanted:
        if name not in names:
            raise InputError(f'{source}: has no value column "{name}"; it has: {", ".join(names)}')
    return wanted, [columns[names.index(name)] for name in wanted]


def _others(every: list[str], names: list[str]) -> list[str]:
    """The columns that were not chosen."""
    return [name for name in every if name not in names]


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
    if array.dtype.kind == "m":
        return array.astype("timedelta64[ns]").astype(np.int64) / 86_400e9, zone
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
