"""Backtests: the program's journal and table, wherever the windows are done."""

import json
import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import pytest

import levytilt as lt

MODELS = ["random-walk", "student-walk", "tilt"]
SPANS = {"train": 40, "horizon": 5, "models": MODELS, "paths": 50}
FLAGS = ["--train", 40, "--horizon", 5, "--models", ",".join(MODELS), "--paths", 50]


@pytest.fixture(scope="module")
def walk(tmp_path_factory):
    path = tmp_path_factory.mktemp("walk") / "walk.csv"
    values = np.random.default_rng(3).standard_t(3, 140).cumsum()
    path.write_text("time,value\n" + "".join(f"{k},{float(x)!r}\n" for k, x in enumerate(values)))
    return path


@pytest.fixture(scope="module")
def expected(program, walk, tmp_path_factory):
    """What one process of the program finds."""
    out = tmp_path_factory.mktemp("program") / "out"
    program("backtest", walk, *FLAGS, "--threads", 1, "--out", out, "--quiet")
    return out


def lines(out):
    """Lines of a journal without their times, sorted; the settings first."""
    first, *rest = [json.loads(line) for line in (out / "windows.jsonl").read_text().splitlines()]
    return first, sorted(({**line, "seconds": 0} for line in rest), key=lambda line: (line["window"], line["model"]))


def same(out, expected):
    """Nothing lost, nothing twice, the same table."""
    assert lines(out) == lines(expected)
    assert (out / "scores.md").read_bytes() == (expected / "scores.md").read_bytes()
    assert [path.name for path in out.iterdir() if path.name.startswith(".plan")] == []


def test_identity_threads(walk, expected, tmp_path):
    scores = lt.backtest(str(walk), out=tmp_path / "out", threads=2, **SPANS)
    same(tmp_path / "out", expected)
    assert repr(scores) == (expected / "scores.md").read_text()
    assert list(scores.models) == MODELS and list(scores.to_pandas().index) == MODELS


def test_identity_a_frame_without_a_directory(walk, expected):
    frame = pd.read_csv(walk, index_col="time")
    scores = lt.backtest(frame, **SPANS)
    table = (expected / "scores.md").read_text()
    assert repr(scores).splitlines()[2:] == table.splitlines()[2:] and scores.path is None


@pytest.mark.parametrize("kind", ["threads", "spawned", "forked"])
def test_identity_any_executor(walk, expected, tmp_path, kind):
    if kind == "threads":
        executor = ThreadPoolExecutor(2)
    else:
        executor = ProcessPoolExecutor(2, mp_context=get_context("spawn" if kind == "spawned" else "fork"))
    with executor:
        lt.backtest(str(walk), out=tmp_path / "out", executor=executor, **SPANS)
    same(tmp_path / "out", expected)


def test_identity_the_program_goes_on_where_the_package_stopped(program, walk, expected, tmp_path):
    lt.backtest(str(walk), out=tmp_path / "out", **{**SPANS, "models": MODELS[:1]})
    text = (tmp_path / "out/windows.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "out/windows.jsonl").write_text("".join(text[:4]) + text[4][:20])
    program("backtest", walk, *FLAGS, "--out", tmp_path / "out", "--quiet")
    same(tmp_path / "out", expected)


def test_identity_the_package_goes_on_where_the_program_stopped(walk, expected, tmp_path):
    (tmp_path / "out").mkdir()
    text = (expected / "windows.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "out/windows.jsonl").write_text("".join(text[:7]) + text[7][:20])
    lt.backtest(str(walk), out=tmp_path / "out", **SPANS)
    same(tmp_path / "out", expected)
    assert (tmp_path / "out/windows.jsonl").read_text().startswith("".join(text[:7]))


class Deadly(ProcessPoolExecutor):
    """Processes of which one is killed after a few results."""

    made = 0

    def __init__(self):
        super().__init__(2, mp_context=get_context("spawn"))
        Deadly.made += 1
        self.left = 4 if Deadly.made == 1 else -1

    def submit(self, *task):
        future = super().submit(*task)
        self.left -= 1
        if self.left == 0:
            os.kill(next(iter(self._processes)), signal.SIGKILL)
        return future


def test_identity_a_killed_process_is_replaced(walk, expected, tmp_path):
    Deadly.made = 0
    lt.backtest(str(walk), out=tmp_path / "out", executor=Deadly, **SPANS)
    assert Deadly.made == 2
    same(tmp_path / "out", expected)


def test_identity_a_broken_executor_can_be_resumed(walk, expected, tmp_path):
    Deadly.made = 0
    with pytest.raises(RuntimeError, match="the same call with the same out resumes from there"):
        lt.backtest(str(walk), out=tmp_path / "out", executor=Deadly(), **SPANS)
    lt.backtest(str(walk), out=tmp_path / "out", **SPANS)
    same(tmp_path / "out", expected)


def test_words_of_errors(program, walk, tmp_path):
    for options, flags in [
        ({"models": ["walk"]}, ["--models", "walk"]),
        ({"paths": 1}, ["--paths", 1]),
        ({"train": "3 parsecs"}, ["--train", "3 parsecs"]),
        ({"reference": "tilt", "models": ["random-walk"]}, ["--reference", "tilt", "--models", "random-walk"]),
    ]:
        said = program("backtest", walk, *flags, "--out", tmp_path / "out", check=False)
        with pytest.raises(ValueError) as error:
            lt.backtest(str(walk), out=tmp_path / "out", **options)
        # The same words, with keywords in place of flags.
        assert said.returncode == 2 and said.stderr.strip().replace("--", "") == f"error: {error.value}"


def test_own_models_take_part(tmp_path):
    rng = np.random.default_rng(3)
    index = pd.date_range("2024-01-01", periods=24 * 40, freq="h")
    series = pd.Series(np.cumsum(rng.standard_t(3, len(index))), index=index, name="x")
    model = lt.Model("none", "gaussian", observation_std=0.1, clock="business")
    scores = lt.backtest(series, train="10D", horizon="12h", stride="10D", models=["random-walk", model], paths=50)
    assert set(scores.models) == {"random-walk", "none with gaussian"}
    assert abs(scores.models["none with gaussian"]["crps"] / scores.models["random-walk"]["crps"] - 1) < 0.5


def test_small_scores_are_printed_in_four_digits():
    """Moves of a price: three models must not read alike."""
    prices = pd.Series(np.exp(np.random.default_rng(5).normal(0, 1e-3, 90).cumsum()), index=pd.date_range("2024-01-01", periods=90, freq="D"))
    found = lt.backtest(prices - prices.mean(), train="40d", horizon="5d", models=["random-walk", "student-walk"], paths=50)
    rows = [line.split("|")[2].strip() for line in str(found).splitlines() if line.startswith(("| random", "| student"))]
    assert rows[0] != rows[1] and all(len(row.lstrip("0.")) >= 4 for row in rows), rows
