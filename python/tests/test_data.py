"""Records come in many forms, and results go out in kind."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import levytilt as lt

MODEL = lt.Model("none", "gaussian", observation_std=0.1)


@pytest.fixture(scope="module")
def walk():
    return np.random.default_rng(2).standard_normal(60).cumsum()


def evidence(*record, **options):
    return MODEL.fit(*record, paths=20, **options).summary["log_evidence"]


def test_identity_all_forms_are_the_same_record(walk, tmp_path):
    times = np.arange(60) / 24.0
    index = pd.date_range("2024-01-01", periods=60, freq="h")
    frame = pd.DataFrame({"value": walk, "other": 0.0}, index=index)
    frame.to_csv(tmp_path / "data.csv", index_label="time")
    pl.DataFrame({"time": index.to_numpy(), "value": walk}).write_parquet(tmp_path / "data.parquet")
    expected = evidence(times, walk)
    shuffled = np.random.default_rng(1).permutation(60)
    forms = [
        (index.to_numpy(), walk),
        (list(index.to_pydatetime()), list(walk)),
        (frame["value"],),
        (frame["value"].sample(frac=1.0, random_state=1),),
        (frame["value"].tz_localize("Asia/Tokyo"),),
        (frame["value"].astype("Float64"),),
        (pl.DataFrame({"time": index.to_numpy(), "value": walk}),),
        (pl.DataFrame({"time": index.to_numpy(), "value": walk}).with_columns(pl.col("time").dt.replace_time_zone("UTC")),),
        (times[shuffled], walk[shuffled]),
        (times, walk[:, None]),
        (np.repeat(times, 2)[::2], np.repeat(walk, 2)[::2]),
        (tmp_path / "data.parquet",),
    ]
    assert [evidence(*form) for form in forms] == [expected] * len(forms)
    assert evidence(frame, column="value") == expected
    assert evidence(str(tmp_path / "data.csv"), column="value") == expected


def test_identity_missing_values(walk):
    times, holes = np.arange(60.0), walk.copy()
    holes[[3, 4, 50]] = np.nan
    series = pd.Series(holes, index=times)
    series.iloc[3] = None
    assert evidence(times, holes) == evidence(series)
    frame = pl.DataFrame({"t": times, "v": holes}).with_columns(pl.col("v").fill_nan(None))
    assert evidence(times, holes) == evidence(frame)
    assert MODEL.fit(times, holes, paths=20).summary["observations"] == 57


def test_pandas_in_pandas_out(walk):
    index = pd.date_range("2024-03-30", periods=60, freq="h", tz="Europe/Berlin", name="when")
    fit = MODEL.fit(pd.Series(walk, index=index, name="level"), paths=50)
    posterior = fit.posterior()
    assert list(posterior.columns) == ["mean", "sd", "q05", "q25", "q50", "q75", "q95", "jump_probability"]
    # Clocks go forward in this night; between the times of the record lie latent ones.
    assert bool(index.isin(posterior.index).all()) and posterior.index.is_monotonic_increasing
    ahead = fit.forecast(horizon="2D").quantile([0.05, 0.5, 0.95])
    assert list(ahead.columns) == [0.05, 0.5, 0.95] and str(ahead.index.tz) == "Europe/Berlin"
    assert ahead.index[-1] == index[-1] + pd.Timedelta("2D") and ahead.index.name == "when"
    assert bool((ahead[0.05] < ahead[0.95]).all())
    at = pd.date_range(index[-1] + pd.Timedelta("1h"), periods=3, freq="6h")
    chosen = fit.forecast(at=at)
    pd.testing.assert_index_equal(chosen.mean().index, at, exact=False, check_names=False)


def test_two_dimensions_have_two_levels_of_columns(walk):
    frame = pd.DataFrame({"a": walk, "b": -walk}, index=np.arange(60.0))
    fit = MODEL.fit(frame, paths=20)
    latent = len(fit.times)
    assert fit.posterior()["a"]["q50"].shape == (latent,) and fit.paths().shape == (20, latent, 2)
    assert fit.forecast(at=[61.0, 64.0]).quantile(0.5)[("b", 0.5)].shape == (2,)
    assert fit.forecast(at=[61.0, 64.0]).paths().shape == (20, 2, 2)
    numpy = MODEL.fit(np.arange(60.0), frame.to_numpy(), paths=20)
    assert numpy.forecast(at=[61.0, 64.0]).quantile([0.1, 0.9]).shape == (2, 2, 2)
    assert numpy.names == ["x1", "x2"]


def test_polars_in_polars_out(walk):
    frame = pl.DataFrame({"time": pd.date_range("2024-01-01", periods=60, freq="D").to_numpy(), "value": walk})
    ahead = MODEL.fit(frame, paths=20).forecast(horizon=datetime.timedelta(days=2)).quantile([0.5])
    assert ahead.columns == ["time", "0.5"] and ahead["time"][-1] == datetime.datetime(2024, 3, 2)


@pytest.mark.parametrize(
    "horizon", ["2D", "2d", "48h", "48H", "2880min", 2, 2.0, np.timedelta64(2, "D"), pd.Timedelta("2D"), datetime.timedelta(2)]
)
def test_lengths_of_time(walk, horizon):
    fit = MODEL.fit(pd.Series(walk, index=pd.date_range("2024-01-01", periods=60, freq="D")), paths=10)
    assert fit.forecast(horizon=horizon).times[-1] == pd.Timestamp("2024-03-02")


@pytest.mark.parametrize(
    "times, values, words",
    [
        ([0.0, 1.0], [1.0], "has 1 values for 2 times"),
        ([0.0, 1.0, 1.0], [1.0, 2.0, 3.0], "lines 2 and 3 have the same time, 1"),
        ([0.0, np.nan, 2.0], [1.0, 2.0, 3.0], 'expected a finite time, found "NaN"'),
        ([0.0, 1.0, 2.0], [1.0, np.inf, 3.0], "line 2"),
        ([0.0, 1.0, 2.0], [np.nan] * 3, "all values are missing"),
        (["yesterday", "today"], [1.0, 2.0], "expected a number or an ISO 8601 timestamp"),
        ([0.0, 1.0], np.zeros((2, 2, 2)), "values have 3 dimensions"),
    ],
)
def test_bad_records_are_named(times, values, words):
    with pytest.raises(ValueError, match=words):
        MODEL.fit(times, values)


def test_what_is_no_record():
    with pytest.raises(ValueError, match="expected times and values"):
        MODEL.fit([1.0, 2.0])
    with pytest.raises(ValueError, match='has no value column "b"; it has: a'):
        MODEL.fit(pd.DataFrame({"a": [1.0, 2.0]}), column="b")
    with pytest.raises(ValueError, match="cannot be read"):
        MODEL.fit("nowhere.csv")
