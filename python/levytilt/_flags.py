"""Turn keyword arguments into the program's flags, so that names, checks and messages are the program's."""

from __future__ import annotations

import datetime
import os
import re
from typing import Any

import numpy as np

from ._levytilt import InputError

_LENGTH = re.compile(r"\s*([0-9.eE+-]*)\s*([A-Za-z]+)\s*")
_UNITS = {
    "s": "s", "sec": "s", "second": "s", "seconds": "s",
    "min": "m", "m": "m", "t": "m", "minute": "m", "minutes": "m",
    "h": "h", "hour": "h", "hours": "h",
    "d": "d", "day": "d", "days": "d",
    "w": "w", "week": "w", "weeks": "w",
}  # fmt: skip


def flags(**options: Any) -> list[str]:
    """Flags such as ``--observation-std=0.1``; options that are None are left out."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        flag = "--" + name.replace("_", "-")
        words.append(flag if value is True else f"{flag}={_text(name, value)}")
    return words


def sets(parameters: dict[str, float] | None) -> list[str]:
    """Flags for parameters of single dimensions, such as ``{"theta[NVDA]": 3}``."""
    return [f"--set={name}={_text(name, value)}" for name, value in (parameters or {}).items()]


def length(value: Any) -> str | None:
    """A length of time as the program writes it: 2.5, ``"2d"``, ``"2D"``, ``"90min"`` or a timedelta."""
    if value is None:
        return None
    if isinstance(value, np.timedelta64):
        return repr(float(value / np.timedelta64(1, "ns")) / 86_400e9)
    if isinstance(value, datetime.timedelta):
        # Also a pandas Timedelta, which is one; exact to the microsecond.
        return repr(value / datetime.timedelta(days=1))
    if isinstance(value, str):
        found = _LENGTH.fullmatch(value)
        if found and found[2].lower() in _UNITS:
            return (found[1] or "1") + _UNITS[found[2].lower()]
        return value
    return _text("length", value)


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        # The shortest text that reads back as the same number.
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return ",".join(_text(name, item) for item in value)
    raise InputError(f"{name} = {value!r}: expected a number, a text or a list of them")
