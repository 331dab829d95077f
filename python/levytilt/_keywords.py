"""Pass keyword arguments to the engine as JSON, and reject unknown ones."""

from __future__ import annotations

import datetime
import difflib
import json
import math
import os
import re
from typing import Any, Iterable

import numpy as np

from . import _levytilt
from ._levytilt import InputError

_LENGTH = re.compile(r"([0-9.]*(?:[eE][+-]?[0-9]+)?)\s*([A-Za-z]+)\s*")
#: Days of a unit of the engine.
DAYS = {"s": 1 / 86_400, "m": 1 / 1440, "h": 1 / 24, "d": 1.0, "w": 7.0}
#: Names of offsets of the calendar, which have no fixed length.
_CALENDAR = ("M", "ME", "MS", "Q", "QE", "QS", "Y", "YE", "YS", "A", "B", "month", "months", "year", "years")
_UNITS = {
    "s": "s", "sec": "s", "second": "s", "seconds": "s",
    "min": "m", "m": "m", "t": "m", "minute": "m", "minutes": "m",
    "h": "h", "hour": "h", "hours": "h",
    "d": "d", "day": "d", "days": "d",
    "w": "w", "week": "w", "weeks": "w",
}  # fmt: skip


def packed(**options: Any) -> str:
    """Keywords as JSON, without those that are None or False."""
    given = {name: plain(name, value) for name, value in options.items() if value is not None and value is not False}
    return json.dumps(given, allow_nan=False)


def refuse_unknown(function: str, options: Iterable[str], sections: list[str], others: Iterable[str] = ()) -> None:
    """Raise TypeError for an unknown keyword, with the closest known names."""
    known = [*_levytilt.known(sections), *others]
    for name in options:
        if name not in known:
            close = difflib.get_close_matches(name, known, 3)
            hint = f"; did you mean {' or '.join(close)}?" if close else f"; known are {', '.join(sorted(known))}"
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'{hint}")


def length(value: Any) -> float | str | None:
    """A duration: a number, ``"2d"``, ``"2D"``, ``"1h30min"``, a timedelta or a fixed offset of pandas, converted to days."""
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "ns")) / 86_400e9
    if isinstance(value, datetime.timedelta):
        # pandas.Timedelta is a subclass; exact to the microsecond.
        return value / datetime.timedelta(days=1)
    if hasattr(value, "rule_code"):
        if hasattr(value, "nanos") and value.rule_code.upper() not in _CALENDAR:
            return value.nanos / 86_400e9
        raise InputError(f"{value!r} has no fixed length; give the length in days, such as 30")
    if isinstance(value, str):
        return _from_text(value)
    return value


def _from_text(text: str) -> float | str:
    """A length as the engine reads it; one of several parts, such as 1h30min, in days."""
    parts, place = [], 0
    for found in _LENGTH.finditer(text.strip()):
        if found.start() != place:
            return text
        place = found.end()
        if found[2] in _CALENDAR:
            raise InputError(
                f'"{text}": {found[2]} is no fixed length; give minutes as "{found[1] or 1}min", months in days such as "30d"'
            )
        if found[2].lower() not in _UNITS:
            return text
        parts.append((found[1] or "1", _UNITS[found[2].lower()]))
    if not parts or place != len(text.strip()):
        return text
    return "".join(parts[0]) if len(parts) == 1 else sum(float(count) * DAYS[unit] for count, unit in parts)


def plain(name: str, value: Any) -> Any:
    """A value as JSON can represent it: a number, a string, a list or a dictionary of them."""
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise InputError(f"{name} = {value} is not allowed: must be a finite number")
        return float(value)
    if isinstance(value, dict):
        return {str(key): plain(f"{name}[{key!r}]", item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(name, item) for item in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise InputError(f"{name} = {value!r}: expected a number, a text or a list of them")
