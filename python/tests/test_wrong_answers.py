"""Records and times that once gave an answer to another question: read as they are meant, or refused with the remedy."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import levytilt as lt

MODEL = lt.Model("none", "gaussian", observation_std=0.1)


@pytest.fixture(scope="module")
def walk():
    return np.random.default_rng(2).standard_normal(40).cumsum()


def fit(*record, **options):
    return MODEL.fit(*record, paths=20, **options)


def test_identity_a_column_of_timestamps_is_time_where_the_index_counts_rows(walk):
    when = pd.date_range("2024-01-01", periods=40, freq="D")
    expected = fit(pd.Series(walk, index=when)).summary["log_evidence"]
    frame = pd.DataFrame({"when": when, "level": walk})
    found = fit(frame)
    assert found.names == ["level"] and found.summary["log_evidence"] == expected
    assert found.posterior().index.name == "when"
    assert fit(frame.assign(later=when), column="level", time_column="when").summary["log_evidence"] == expected
    with pytest.raises(lt.InputError, match="time_column='when'"):
        fit(frame.assign(later=when))
    with pytest.raises(lt.InputError, match="'when': holds times, not values"):
        fit(frame.set_index(np.arange(40.0)))
    with pytest.raises(lt.InputError, match="'ticker'.*choose others with column"):
        fit(frame.assign(ticker="A"))
    assert fit(frame.assign(ticker="A"), column="level").summary["log_evidence"] == expected


def test_identity_which_way_time_runs_is_asked_where_numbers_decrease(walk):
    ages = np.arange(40.0)[::-1]
    with pytest.raises(lt.InputError, match='direction="backward" if they are ages'):
        fit(ages, walk)
    backward = fit(ages, walk, direction="backward")
    assert backward.summary["log_evidence"] == fit(-ages, walk).summary["log_evidence"]
    # The future has smaller ages.
    ahead = backward.forecast(horizon=2.0).times
    assert ahead[-1] == -2.0 and backward.times[0] == 39.0
    assert backward.forecast(at=[-1.0]).times.tolist() == [-1.0]
    assert fit(ages, walk, direction="forward").summary["log_evidence"] == fit(ages[::-1], walk[::-1]).summary["log_evidence"]
    newest_first = pd.Series(walk, index=pd.date_range("2024-01-01", periods=40, freq="D"))[::-1]
    assert fit(newest_first).forecast(horizon="1D").times[-1] == pd.Timestamp("2024-02-10")
    with pytest.raises(lt.InputError, match="direction"):
        fit(ages, walk, direction="up")


def test_lengths_without_a_fixed_length_are_refused(walk):
    found = fit(pd.Series(walk, index=pd.date_range("2024-01-01", periods=40, freq="D")))
    for text in ("1M", "2ME", "1Y", "3B"):
        with pytest.raises(lt.InputError, match="no fixed length"):
            found.forecast(text)
    last = pd.Timestamp("2024-02-09")
    for horizon, length in [("1h30min", "90min"), (pd.offsets.Hour(36), "36h"), ("1d12h", "36h"), (pd.offsets.MonthEnd(1), "20D")]:
        assert found.forecast(horizon).times[-1] == last + pd.Timedelta(length)


def test_identity_the_resolution_of_a_timedelta_index_is_not_its_unit(walk):
    hours = pd.to_timedelta(np.arange(40), unit="h")
    found = [fit(pd.Series(walk, index=hours.as_unit(unit))) for unit in ("s", "ms", "ns")]
    expected = fit(np.arange(40) / 24.0, walk).summary["log_evidence"]
    assert [one.summary["log_evidence"] for one in found] == [expected] * 3
    assert found[0].times[-1] == pd.Timedelta("39h")
    assert found[0].forecast(pd.Timedelta("2h")).times[-1] == pd.Timedelta("41h")


def test_identity_times_without_a_zone_are_local_times_of_the_record(walk):
    index = pd.date_range("2024-07-01", periods=40, freq="h", tz="Europe/Berlin")
    found = fit(pd.Series(walk, index=index))
    expected = found.forecast(at=pd.DatetimeIndex(["2024-07-03T12:00+02:00"])).paths()
    for at in ("2024-07-03 12:00", pd.Timestamp("2024-07-03 12:00"), ["2024-07-03T12:00"], "2024-07-03T10:00Z"):
        ahead = found.forecast(at=at)
        np.testing.assert_array_equal(ahead.paths(), expected)
        assert ahead.times[0] == pd.Timestamp("2024-07-03 12:00", tz="Europe/Berlin")
    assert str(found.times.tz) == "Europe/Berlin" and found.times[0] == index[0]
    naive = fit(pd.Series(walk, index=index.tz_localize(None)))
    with pytest.raises(lt.InputError, match="the record has none"):
        naive.forecast(at=pd.DatetimeIndex(["2024-07-03T12:00+02:00"]))


def test_plot_shows_the_zone_of_the_record(walk):
    pytest.importorskip("matplotlib").use("Agg")
    index = pd.date_range("2024-07-01", periods=40, freq="h", tz="Europe/Berlin")
    axis = fit(pd.Series(walk, index=index)).plot().axes[0]
    assert "Berlin" in str(axis.xaxis.get_major_formatter()._tz if hasattr(axis.xaxis.get_major_formatter(), "_tz") else axis.xaxis.units)


def test_identity_polars_keeps_zone_and_name(walk):
    when = pl.Series("when", pd.date_range("2024-07-01", periods=40, freq="h").to_numpy()).dt.replace_time_zone("Europe/Berlin")
    found = fit(pl.DataFrame({"when": when, "level": walk}))
    posterior = found.posterior()
    assert posterior.columns[0] == "when" and posterior["when"].dtype.time_zone == "Europe/Berlin"
    assert posterior["when"][0] == when[0] and found.times[0] == when[0]
    assert found.forecast(horizon="2h").quantile([0.5])["when"][-1].isoformat() == "2024-07-02T17:00:00+02:00"


def test_identity_stamps_closer_than_a_microsecond_stay_apart(walk):
    index = pd.to_datetime(np.arange(40) * 100 + 1_704_067_200_000_000_000)
    found = fit(pd.Series(walk, index=index))
    assert bool(index.isin(found.posterior().index).all())
    assert found.posterior().index.is_unique


def test_forecasts_keep_to_the_calendar_of_the_record(walk):
    business = fit(pd.Series(walk, index=pd.bdate_range("2024-01-01", periods=40))).forecast("9D").times
    assert list(business.dayofweek) == [0, 1, 2, 3, 4] and business[0] == pd.Timestamp("2024-02-26")
    months = fit(pd.Series(walk, index=pd.date_range("2020-01-31", periods=40, freq="ME"))).forecast("95D").times
    assert [str(stamp.date()) for stamp in months] == ["2023-05-31", "2023-06-30", "2023-07-31"]


@pytest.mark.parametrize("fill", [1e8, 1e20, 1e36])
def test_a_fill_value_is_refused_or_named(fill):
    values = np.random.default_rng(3).standard_normal(300).cumsum()
    values[150] = fill
    with pytest.raises(lt.InputError, match=r"(?s)fill value.*(empty|NaN)"):
        lt.Model("none", "student").fit(np.arange(300.0), values, paths=20)


def test_identity_two_hundred_rows_are_fitted_like_two_hundred_and_one():
    """Short regular records have latent times in their gaps; that must not cost more than a few times as much, nor change the estimates."""
    made = lt.simulate(theta=3.0, mu=1.0, alpha=1.5, scale=2.0, observation_std=0.1, steps=200, span=4.0, seed=4)
    model = lt.Model("ou", "stable")
    short, long = (model.fit(made.times[:count], made.values[:count], paths=20) for count in (200, 201))
    for name, found in long.summary["parameters"].items():
        assert abs(short.parameters[name] - found["estimate"]) < 0.5 * found["std_error"], name


def test_identity_numbers_may_begin_anywhere_in_memory():

    packed = np.zeros(60, dtype=[("flag", "i1"), ("time", "f8"), ("value", "f8")])
    packed["time"], packed["value"] = np.arange(60.0), np.sin(np.arange(60.0))
    assert not packed["value"].flags.aligned
    model = lt.Model(theta=1.0, mu=0.0, alpha=1.5, scale=0.5, observation_std=0.1)
    there, here = (model.fit(times, values, paths=20) for times, values in (
        (packed["time"], packed["value"]), (packed["time"].copy(), packed["value"].copy())))  # fmt: skip
    assert there.summary["log_evidence"] == here.summary["log_evidence"]
