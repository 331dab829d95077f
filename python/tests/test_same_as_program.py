"""The package is the program: same seed, same bytes."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import levytilt as lt
from conftest import OU_STABLE

TIMED = ("seconds",)
# report.json and report.html name the record by its file.
FILES = ("posterior.csv", "jumps.csv", "residuals.csv", "paths.npz", "settings.toml", "model.toml", "state.json")


def summary(path):
    return {k: v for k, v in json.loads((path / "summary.json").read_text()).items() if k not in TIMED}


def same_run(ours, theirs):
    assert summary(ours) == summary(theirs)
    for name in FILES:
        assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name


def test_identity_fit_and_forecast_of_arrays(program, made, csv, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    fit = lt.Model(theta=3.0).fit(made.times, made.values, seed=7, paths=100, threads=2)
    fit.save(ours)
    program("fit", csv, "--theta", 3, "--seed", 7, "--paths", 100, "--threads", 1, "--out", theirs, "--quiet")
    same_run(ours, theirs)
    assert {k: v for k, v in fit.summary.items() if k not in TIMED} == summary(theirs)

    fit.forecast(horizon=0.5, threads=1).save(tmp_path / "ahead")
    lt.load(theirs).forecast(horizon=0.5).save(tmp_path / "loaded")
    program("forecast", theirs, "--horizon", 0.5, "--out", tmp_path / "program", "--quiet")
    for name in ("forecast.csv", "paths.npz", "summary.json"):
        expected = (tmp_path / "program" / name).read_bytes()
        assert (tmp_path / "ahead" / name).read_bytes() == expected, name
        assert (tmp_path / "loaded" / name).read_bytes() == expected, name


def test_identity_fit_of_a_path(program, csv, tmp_path):
    lt.Model(theta=3.0).fit(str(csv), paths=50).save(tmp_path / "ours")
    program("fit", csv, "--theta", 3, "--paths", 50, "--out", tmp_path / "theirs", "--quiet")
    same_run(tmp_path / "ours", tmp_path / "theirs")
    assert (tmp_path / "ours/report.html").read_bytes().split(b"seconds")[0][:2000] == (
        tmp_path / "theirs/report.html"
    ).read_bytes().split(b"seconds")[0][:2000]


def test_identity_frame_with_timestamps_gaps_and_two_columns(program, tmp_path):
    rng = np.random.default_rng(5)
    index = pd.date_range("2024-03-29", periods=120, freq="h", tz="UTC", name="time")
    frame = pd.DataFrame(rng.standard_t(3, (120, 2)).cumsum(axis=0), index=index, columns=["a", "b"])
    frame.iloc[7, 0] = np.nan
    frame = frame.drop(index[40:44])
    text = frame.copy()
    text.index = [stamp.strftime("%Y-%m-%dT%H:%M:%SZ") for stamp in frame.index]
    text.to_csv(tmp_path / "data.csv", index_label="time")
    fit = lt.Model("none", "student").fit(frame, paths=50)
    fit.save(tmp_path / "ours")
    program(
        "fit", tmp_path / "data.csv", "--drift", "none", "--noise", "student", "--paths", 50, "--out", tmp_path / "theirs",
        "--quiet",
    )  # fmt: skip
    same_run(tmp_path / "ours", tmp_path / "theirs")
    fit.forecast(horizon="1D").save(tmp_path / "ahead")
    program("forecast", tmp_path / "theirs", "--horizon", "1d", "--out", tmp_path / "program", "--quiet")
    assert (tmp_path / "ahead/forecast.csv").read_bytes() == (tmp_path / "program/forecast.csv").read_bytes()


def test_identity_simulate_and_exact(program, tmp_path):
    words = [f"--{name.replace('_', '-')}={value}" for name, value in OU_STABLE.items()]
    program("simulate", *words, "--steps", 200, "--every", 2, "--seed", 3, "--out", tmp_path / "sim", "--quiet")
    made = lt.simulate(steps=200, every=2, seed=3, **OU_STABLE)
    data = np.loadtxt(tmp_path / "sim/data.csv", delimiter=",", skiprows=1)
    np.testing.assert_array_equal(made.times, data[:, 0])
    np.testing.assert_array_equal(made.values, data[:, 1])
    assert made.truth == json.loads((tmp_path / "sim/truth.json").read_text())

    found = json.loads(program("exact", tmp_path / "sim/data.csv", *words, "--x0", 0, "--json").stdout)
    ours = lt.exact(made.times, made.values, x0=0.0, **OU_STABLE)
    assert {**ours.summary, "seconds": 0} == {**found, "seconds": 0}
    assert set(ours.posterior()) == {"time", "mean", "sd", "q05", "q25", "q50", "q75", "q95"}


@pytest.mark.parametrize(
    "options",
    [{"alpha": 3.0}, {"scale": -1.0}, {"dof": 4.0}, {"theta1": 2.0}, {"paths": 1}, {"iterations": 3}, {"width": 8}],
)
def test_identity_words_of_errors(program, csv, options):
    words = [f"--{name}={value}" for name, value in options.items()]
    said = program("fit", csv, *words, check=False)
    assert said.returncode == 2
    own = {k: v for k, v in options.items() if k in ("paths", "iterations")}
    with pytest.raises(ValueError) as error:
        lt.Model(**{k: v for k, v in options.items() if k not in own}).fit(str(csv), **own)
    assert isinstance(error.value, lt.InputError)
    # The same words, with keywords in place of flags.
    assert re.sub(r"--([a-z0-9]+)", r"\1", said.stderr.removeprefix("error: ").strip()) == str(error.value)
