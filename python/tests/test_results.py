"""What a fit and a forecast can do besides: pickle, copy, plot, warn, and come back from files as they were."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

import levytilt as lt

MODEL = lt.Model("none", "gaussian", observation_std=0.1)


@pytest.fixture(scope="module")
def series():
    walk = np.random.default_rng(2).standard_normal(40).cumsum()
    return pd.Series(walk, index=pd.date_range("2024-07-01", periods=40, freq="h", tz="Europe/Berlin", name="when"))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))])
def test_identity_results_are_pickled_and_copied(series, again):
    fit = MODEL.fit(series, paths=20)
    other = again(fit)
    assert other.summary == fit.summary and other.names == fit.names
    pd.testing.assert_frame_equal(other.posterior(), fit.posterior())
    np.testing.assert_array_equal(other.forecast("3h").paths(), fit.forecast("3h").paths())
    np.testing.assert_array_equal(other._observations()[1][0], fit._observations()[1][0])
    ahead = fit.forecast("3h")
    kept = again(ahead)
    np.testing.assert_array_equal(kept.paths(), ahead.paths())
    pd.testing.assert_frame_equal(kept.quantile([0.05, 0.5, 0.9]), ahead.quantile([0.05, 0.5, 0.9]))
    pd.testing.assert_series_equal(kept.mean(), ahead.mean())
    assert kept.summary == ahead.summary and "Forecast of" in repr(kept)


def test_a_kept_forecast_is_saved(series, tmp_path):
    kept = copy.copy(MODEL.fit(series, paths=20).forecast("3h"))
    copy.copy(kept).save(tmp_path / "ahead")
    assert (tmp_path / "ahead" / "forecast.csv").exists()


def test_identity_load_gives_frames_as_the_fit_did(series, tmp_path):
    fit = MODEL.fit(series, paths=20)
    fit.save(tmp_path / "run")
    pd.testing.assert_frame_equal(lt.load(tmp_path / "run").posterior(), fit.posterior(), check_freq=False)
    arrays = MODEL.fit(np.arange(40.0), series.to_numpy(), paths=20)
    arrays.save(tmp_path / "arrays")
    assert isinstance(lt.load(tmp_path / "arrays").posterior(), dict)


def test_plots_are_drawn_where_they_are_wanted(series):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    fit = MODEL.fit(series, paths=20)
    assert len(fit.plot().axes) == 2, "the record, and the scale on an axis of its own"
    figure, axis = pyplot.subplots()
    assert fit.plot(ax=axis) is figure and fit.forecast("3h").plot(ax=axis) is figure
    assert len(fit.forecast("3h").plot().axes) == 1
    with pytest.raises(lt.InputError, match="expected 1, one per dimension"):
        fit.plot(ax=pyplot.subplots(2)[1])
    pyplot.close("all")


def test_notes_of_a_fit_become_warnings(series):
    naive = series.tz_localize(None).iloc[:20]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = MODEL.fit(naive, paths=20)
    said = [str(one.message) for one in caught if issubclass(one.category, lt.FitWarning)]
    assert said == fit.summary["warnings"] and any("time zone" in note for note in said)
    assert "log evidence" in fit._repr_html_() and "scale" in fit._repr_html_()


def test_words_about_wrong_arguments(series):
    with pytest.raises(lt.InputError, match="chains = 0: expected a whole number"):
        MODEL.fit(series, paths=20).to_arviz(chains=0)
    with pytest.raises(TypeError, match="for a number of threads give threads"):
        lt.backtest(series, train="20h", horizon="5h", models="random-walk", paths=10, executor=5)
    found = lt.backtest(series, train="20h", horizon="5h", models="random-walk", paths=10)
    assert list(found.models) == ["random-walk"]
