"""Observation errors that are wrong sometimes, and known ones."""

import numpy as np
import pandas as pd
import pytest

import levytilt as lt
from conftest import OU_STABLE


def test_outliers_are_found_and_come_back_from_files(tmp_path):
    gross = {"errors": "outliers", "outlier_probability": 0.05, "outlier_size": 20.0}
    made = lt.simulate(**OU_STABLE, **gross, steps=200, span=2.0, seed=4)
    fit = lt.Model(errors="outliers", theta=3.0, mu=1.0, alpha=1.5).fit(made.times, made.values, paths=50)
    found = fit.outliers()
    assert list(found) == ["time", "column", "value", "probability"]
    np.testing.assert_array_equal(found["value"], made.values)
    wrong = np.abs(made.values - made.path) > 0.7
    assert wrong.sum() > 2 and (found["probability"][wrong] > 0.5).all()
    fit.save(str(tmp_path / "run"))
    again = lt.load(str(tmp_path / "run")).outliers()
    np.testing.assert_allclose(again["probability"], found["probability"], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(again["time"], found["time"])


def test_errors_are_known_from_a_column():
    times = np.arange(60.0)
    sigma = np.where(times % 7 == 3, 2.0, 0.1)
    frame = pd.DataFrame({"y": np.sin(0.2 * times) + sigma * np.cos(5 * times), "sigma": sigma, "z": 1.0}, index=times)
    fit = lt.Model("none", "gaussian").fit(frame, column="y", error_column="sigma", paths=20)
    assert fit.names == ["y"] and len(fit.outliers()) == 0
    with pytest.raises(lt.InputError, match="choose one"):
        lt.Model("none", "gaussian").fit(frame, error_column="sigma")
    with pytest.raises(lt.InputError, match="unknown law of errors"):
        lt.Model(errors="laplace")
