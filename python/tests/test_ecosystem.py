"""ArviZ, matplotlib, scikit-learn and sktime take what they are given."""

import json

import numpy as np
import pandas as pd
import pytest

import levytilt as lt


@pytest.fixture(scope="module")
def series():
    values = np.random.default_rng(8).standard_t(3, 80).cumsum()
    return pd.Series(values, index=pd.date_range("2024-01-01", periods=80, freq="D"), name="level")


def test_arviz_takes_a_fit(fit):
    import arviz
    import matplotlib

    matplotlib.use("Agg")
    data = fit.to_arviz()
    assert set(data.groups()) == {"posterior", "posterior_predictive", "log_likelihood", "observed_data"}
    assert data.posterior["x"].dims == ("chain", "draw", "time", "dimension")
    assert data.attrs["settings"] == fit.settings and json.loads(data.attrs["summary"]) == fit.summary
    few = data.posterior.isel(time=slice(0, 2))
    learned = {name: found for name, found in fit.summary["parameters"].items() if not found["fixed"]}
    table = arviz.summary(few)
    assert learned and set(learned) < set(table.index) and len(table) == 2 + len(learned)
    # Draws of a learned parameter have its estimate as their median, within 5 errors of the median of 100 normal draws.
    for name, found in learned.items():
        middle = float(data.posterior[name].median())
        assert abs(middle - found["estimate"]) < 5 * 1.25 / 10 * found["std_error"]
    arviz.plot_trace(few, compact=True)
    loo = arviz.loo(data)
    assert np.isfinite(loo.elpd_loo) and loo.n_data_points == fit.summary["observations"]
    # The draws are those of the posterior: their mean is its mean within the error of 100 draws.
    posterior = fit.posterior()
    mean = data.posterior["x"].mean(("chain", "draw")).values[:, 0]
    assert np.mean(np.abs(mean - posterior["mean"]) < 5 * posterior["sd"] / 10) > 0.95


def test_arviz_with_gaps_and_two_dimensions(series):
    frame = pd.DataFrame({"a": series, "b": -series})
    frame.iloc[3, 0] = np.nan
    data = lt.Model("none", "gaussian").fit(frame, paths=40).to_arviz(chains=2)
    assert data.observed_data["y"].shape == (159,)
    assert data.observed_data["observation_dimension"].values.tolist().count("a") == 79
    np.testing.assert_array_equal(
        data.observed_data["y"].values, frame.to_numpy().ravel()[~np.isnan(frame.to_numpy().ravel())]
    )


def test_a_run_read_back_has_no_record(fit, tmp_path):
    fit.save(tmp_path / "run")
    with pytest.raises(ValueError, match="needs the record"):
        lt.load(tmp_path / "run").to_arviz()


def test_a_package_that_is_missing_is_named(fit, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"needs arviz: pip install 'levytilt\[arviz\]'"):
        fit.to_arviz()


def test_matplotlib_draws_a_fit(fit, series, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    fit.save(tmp_path / "run")
    for found in (fit, lt.load(tmp_path / "run"), lt.Model("none", "gaussian").fit(series, paths=20)):
        figure = found.plot()
        learned = [p for p in found.summary["parameters"].values() if not p["fixed"]]
        assert len(figure.axes) == 1 + len(learned), "an axis for the record and one for each learned parameter"
        figure.savefig(tmp_path / "fit.png")
        assert (tmp_path / "fit.png").stat().st_size > 10_000


def test_scikit_learn_clones_it(series):
    from sklearn.base import clone

    forecaster = lt.LevyTiltForecaster(drift="none", noise="gaussian", paths=50)
    copy = clone(forecaster).set_params(seed=3)
    assert copy.get_params() == {**forecaster.get_params(), "seed": 3} and forecaster.seed == 1
    with pytest.raises(ValueError, match="no parameter 'sead'"):
        copy.set_params(sead=3)
    with pytest.raises(ValueError, match="not fitted yet"):
        copy.predict(horizon=1)
    median = copy.fit(series).predict(horizon="3D")
    assert isinstance(median, pd.Series) and median.index[-1] == pd.Timestamp("2024-03-23")
    quantiles = copy.predict_quantiles([0.1, 0.9], horizon="3D")
    assert bool((quantiles[0.1] < median).all() and (median < quantiles[0.9]).all())
    arrays = forecaster.fit(np.arange(80.0), series.to_numpy())
    assert arrays.predict(at=[80.0, 85.0]).shape == (2,)
    assert repr(forecaster).startswith("LevyTiltForecaster(drift='none'")
    later = pd.Series([0.0, 1.0], index=pd.to_datetime(["2024-03-21", "2024-03-23"]))
    draws = copy.fit_.forecast(at=later.index).paths()[:, :, 0]
    assert copy.score(later) == pytest.approx(-np.mean(lt.crps(draws.T, later.to_numpy())))
    assert copy.score(later + 1000) < copy.score(later) and np.isfinite(arrays.score([80.0, 85.0], [0.0, 1.0]))


def test_sktime_accepts_it(series):
    """sktime's own checks of a forecaster, those that take seconds, and a pipeline."""
    from sktime.forecasting.compose import TransformedTargetForecaster
    from sktime.transformations.series.boxcox import LogTransformer
    from sktime.utils.estimator_checks import check_estimator

    from levytilt.sktime import LevyTiltSktimeForecaster

    chosen = [
        "test_constructor", "test_clone", "test_get_params", "test_set_params", "test_fit_updates_state",
        "test_predict_quantiles",
    ]  # fmt: skip
    results = check_estimator(LevyTiltSktimeForecaster, raise_exceptions=True, tests_to_run=chosen, verbose=False)
    assert len(results) >= len(chosen) - 1 and set(results.values()) == {"PASSED"}
    prices = np.exp(series / 10).asfreq("D")
    pipe = TransformedTargetForecaster([("log", LogTransformer()), ("tilt", LevyTiltSktimeForecaster(paths=50))])
    ahead = pipe.fit(prices, fh=[1, 2, 5]).predict()
    assert list(ahead.index) == list(pd.to_datetime(["2024-03-21", "2024-03-22", "2024-03-25"])) and bool((ahead > 0).all())


def test_sktime_updates_and_takes_panels(series):
    """New values without a new fit, intervals, and one forecaster per series of a panel."""
    from levytilt.sktime import LevyTiltSktimeForecaster

    daily = series.asfreq("D")
    forecaster = LevyTiltSktimeForecaster("none", "gaussian", paths=50).fit(daily.iloc[:-5], fh=[1])
    values = forecaster._inner.fit_.parameters
    forecaster.update(daily.iloc[-5:], update_params=False)
    assert forecaster._inner.fit_.parameters == values and forecaster.predict().index[0] == daily.index[-1] + pd.Timedelta("1D")
    interval = forecaster.predict_interval(coverage=0.9)
    assert (interval.iloc[:, 0] < interval.iloc[:, 1]).all()
    panel = pd.concat({"a": daily.to_frame("y"), "b": 2 * daily.to_frame("y")}, names=["series", "time"])
    ahead = LevyTiltSktimeForecaster("none", "gaussian", paths=50).fit(panel, fh=[1, 2]).predict()
    assert list(ahead.index.get_level_values(0)) == ["a", "a", "b", "b"]


def test_identity_sktime_distributions_are_the_paths(series):
    from levytilt.sktime import LevyTiltSktimeForecaster

    forecaster = LevyTiltSktimeForecaster("none", "student", paths=200).fit(series.asfreq("D"), fh=[1, 3])
    found, paths = forecaster.predict_proba(), forecaster._inner.fit_.forecast(at=forecaster.predict().index).paths()[:, :, 0]
    assert type(found).__name__ == "Empirical"
    np.testing.assert_allclose(found.mean().to_numpy()[:, 0], paths.mean(axis=0))
    np.testing.assert_allclose(found.cdf(found.mean()).to_numpy()[:, 0], (paths <= paths.mean(axis=0)).mean(axis=0))
