"""Models whose states, noise sources and observed columns are written out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from . import _levytilt
from ._data import record
from ._keywords import packed
from ._levytilt import InputError

#: Sections that say what the model is.
MODEL = ("states", "noise", "observe", "start", "parameters")
#: Keywords of `fit` and `simulate`, by the section that holds them in a settings file.
_PLACES = {"steps": "grid", "seed": "solve", "paths": "solve", "threads": "solve", "span": "simulate", "every": "simulate"}


class Written:
    """Sections of a settings file with `[states]`, by name; what is given when it is used goes over them."""

    def __init__(self, sections: dict[str, Any]):
        self.sections = {name: value for name, value in sections.items() if value}
        for name in MODEL:
            if not isinstance(self.sections.get(name, {}), dict):
                raise InputError(f"{name} = {self.sections[name]!r}: with states it must be a dictionary by name")
        _levytilt.check_written(packed(**self.sections))

    def packed(self, **given: Any) -> str:
        """JSON of the sections with these keywords put in their places."""
        sections = {name: dict(value) for name, value in self.sections.items()}
        for key, value in given.items():
            if value is not None:
                sections.setdefault(_PLACES[key], {})[key] = value
        return packed(**sections)

    def record(self, times: Any, values: Any, written: dict[str, Any]) -> Any:
        """The table to fit. Arrays have no names: their columns are those of `observe`, or the states, in the order given."""
        observed = list(self.sections.get("observe", {})) or None
        names = observed or list(self.sections["states"])
        if values is None and getattr(times, "ndim", None) == 1 and hasattr(times, "rename") and len(names) == 1:
            times = times.rename(names[0])
        kept = {key: value for key, value in self.sections.get("data", {}).items() if value is not None}
        if not isinstance(times, (str, os.PathLike)) or values is not None:
            kept = {key: value for key, value in kept.items() if key == "time_column"}
        kept.update({key: value for key, value in written.items() if value is not None})
        return record(times, values, columns=observed, names=names, **kept)


def read(source: Any) -> tuple[bool, dict[str, Any]]:
    """Whether a settings file, or the text of one, writes its model out; and its sections."""
    text = os.fspath(source)
    if "\n" in text or "=" in text:
        name = "the text"
    else:
        name = text
        try:
            text = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{name}: cannot be read: {error}") from None
    written, sections = _levytilt.read_sections(text, name)
    return written, {key: _given(value) for key, value in json.loads(sections).items()}


def _given(section: Any) -> Any:
    """A section without the keys that say nothing."""
    return {key: value for key, value in section.items() if value is not None} if isinstance(section, dict) else section


def loadings(model: str, parameters: dict[str, float]) -> dict[str, dict[str, float]]:
    """What a jump of size 1 of each source adds to each state, from the contents of model.toml."""
    written, sections = _levytilt.read_sections(model, "model.toml")
    if not written:
        raise InputError("loadings are of models with states written out; in this one every column has its own noise")
    found: dict[str, dict[str, float]] = {}
    for name, source in json.loads(sections)["noise"].items():
        on = source["on"]
        each = {on: 1.0} if isinstance(on, str) else on
        found[name] = {state: parameters[by] if isinstance(by, str) else float(by) for state, by in each.items()}
    return found


def sees(model: str) -> dict[str, str]:
    """The observed column of each state that a column sees alone, from the contents of model.toml."""
    found: dict[str, str] = {}
    for column, row in json.loads(_levytilt.read_sections(model, "model.toml")[1])["observe"].items():
        of = row["of"]
        weights = {of: 1.0} if isinstance(of, str) else {state: weight for state, weight in of.items() if weight}
        if list(weights.values()) == [1.0]:
            found.setdefault(next(iter(weights)), column)
    return found
