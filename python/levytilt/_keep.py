"""Keep results as bytes, for pickle and copy, and remember how their times were given."""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Callable

import numpy as np

from ._data import Clock

#: Beside the files of a run: how Python gave its times, for `load`.
CLOCK = "python.json"


def packed_directory(save: Callable[[str], None]) -> bytes:
    """What `save` writes into a directory."""
    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="levytilt-") as place, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        save(place)
        for file in sorted(Path(place).rglob("*")):
            if file.is_file():
                archive.write(file, file.relative_to(place))
    return buffer.getvalue()


def unpacked_directory(content: bytes, path: str) -> None:
    """Write the files into the directory `path`."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(path)


def write_clock(path: str, clock: Clock) -> None:
    """Write how times were given, unless as arrays."""
    if clock.kind == "numpy" and clock.sign > 0 and not clock.spans:
        return
    known = {"kind": clock.kind, "zone": clock.zone and str(clock.zone), "name": clock.name and str(clock.name)}
    text = json.dumps({**known, "sign": clock.sign, "spans": clock.spans})
    Path(path, CLOCK).write_text(text + "\n", encoding="utf-8")


def read_clock(path: str | os.PathLike[str]) -> Clock:
    """How times were given; arrays if nothing is known."""
    file = Path(path, CLOCK)
    if not file.exists():
        return Clock()
    known = json.loads(file.read_text(encoding="utf-8"))
    clock = Clock(known["kind"], known["zone"], known["name"])
    clock.sign, clock.spans = known["sign"], known["spans"]
    return clock


class KeptAhead:
    """A forecast that was pickled: its paths and its files."""

    def __init__(self, ahead: Any):
        self.names, self.times, self.origin = ahead.names, ahead.times, ahead.origin
        self._paths, self._summary = ahead.paths(), ahead.summary_json()
        self._files = packed_directory(ahead.save)

    def paths(self) -> np.ndarray:
        return self._paths

    def mean(self) -> np.ndarray:
        return self._paths.mean(axis=0)

    def quantile(self, levels: list[float]) -> np.ndarray:
        # Linear between the middles of the weights, as the engine does it.
        return np.moveaxis(np.quantile(self._paths, levels, axis=0, method="hazen"), 0, -1)

    def summary_json(self) -> str:
        return self._summary

    def save(self, path: str) -> None:
        unpacked_directory(self._files, path)
