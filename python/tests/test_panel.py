"""Panels: every series of a long table, with parameters shared or not."""

import numpy as np
import pandas as pd
import pytest

import levytilt as lt


@pytest.fixture(scope="module")
def frame():
    """Three series of 40 days in the shape of Nixtla's tools, and one that cannot be fitted."""
    parts = []
    for seed in (1, 2, 3):
        made = lt.simulate(steps=39, span=39.0, seed=seed, theta=0.5, mu=1.0, alpha=1.5, scale=1.0, observation_std=0.1)
        days = pd.date_range("2024-01-01", periods=40, freq="D")
        parts.append(pd.DataFrame({"unique_id": f"pump {seed}", "ds": days, "y": made.values}))
    parts.append(pd.DataFrame({"unique_id": "flat", "ds": parts[0]["ds"][:5], "y": 1.0}))
    return pd.concat(parts).sample(frac=1.0, random_state=1)


@pytest.fixture(scope="module")
def model():
    return lt.Model(theta=0.5, mu=1.0, observation_std=0.1)


def test_a_series_is_its_own_fit(frame, model):
    panel = lt.fit_panel(frame, model=model, paths=20, progress=False)
    assert sorted(panel) == ["pump 1", "pump 2", "pump 3"] and list(panel.failures) == ["flat"]
    part = frame[frame.unique_id == "pump 2"].sort_values("ds").set_index("ds")["y"]
    alone = model.fit(part, paths=20, progress=False)
    assert panel["pump 2"].summary["log_evidence"] == alone.summary["log_evidence"]
    pd.testing.assert_frame_equal(panel["pump 2"].posterior(), alone.posterior())
    row = panel.summary.loc["pump 2"]
    assert row["alpha"] == alone.parameters["alpha"] and row["observations"] == 40 and row["alpha_se"] > 0


def test_shared_and_pooled_parameters(frame, model):
    panel = lt.fit_panel(frame, model=model, share=["alpha", "scale~"], paths=20, progress=False)
    alpha, scale = panel.shared["alpha"], panel.shared["scale"]
    assert not alpha["pooled"] and alpha["std_error"] > 0 and scale["pooled"] and scale["spread"] > 0
    for fit in panel.values():
        assert fit.parameters["alpha"] == alpha["estimate"] and fit.summary["parameters"]["alpha"]["fixed"]
        assert not fit.summary["parameters"]["scale"]["fixed"]
    again = lt.fit_panel(frame, model=model, share=["alpha", "scale~"], paths=20, threads=1, progress=False)
    assert again.shared == panel.shared
    pd.testing.assert_frame_equal(again.summary.sort_index(), panel.summary.sort_index())


def test_identity_processes_fit_what_threads_fit(frame, model):
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    here = lt.fit_panel(frame, model=model, share="alpha", paths=20, progress=False)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        there = lt.fit_panel(frame, model=model, share="alpha", paths=20, executor=pool, progress=False)
    assert there.shared == here.shared and there.failures == here.failures
    pd.testing.assert_frame_equal(there.summary, here.summary)
    pd.testing.assert_frame_equal(there["pump 1"].posterior(), here["pump 1"].posterior())
    pd.testing.assert_frame_equal(there.predict("2D"), here.predict("2D"))


def test_predictions_have_the_shape_of_nixtla(frame, model):
    panel = lt.fit_panel(frame, model=model, paths=50, progress=False)
    found = panel.predict(at=pd.date_range("2024-02-10", periods=3, freq="D"), levels=[80, 95])
    assert list(found.columns) == [
        "unique_id", "ds", "levytilt", "levytilt-lo-80", "levytilt-hi-80", "levytilt-lo-95", "levytilt-hi-95",
    ]  # fmt: skip
    assert found.groupby("unique_id").size().eq(3).all()
    assert (found["levytilt-lo-95"] <= found["levytilt-lo-80"]).all() and (found["levytilt"] <= found["levytilt-hi-80"]).all()
    assert found["ds"].min() == pd.Timestamp("2024-02-10")
    with pytest.raises(lt.InputError, match="percentage"):
        panel.predict("3D", levels=[0.9, 120])


def test_mistakes_are_named(frame, model):
    with pytest.raises(lt.InputError, match="id = 'series'.*it has: unique_id, ds, y"):
        lt.fit_panel(frame, id="series")
    with pytest.raises(lt.InputError, match="no parameter of the model has this name"):
        lt.fit_panel(frame, model=model, share="beta", progress=False)
    with pytest.raises(lt.InputError, match="expected a pandas or polars DataFrame"):
        lt.fit_panel(np.zeros(3), model=model)
    with pytest.raises(lt.InputError, match="none of|no series"):
        lt.fit_panel(frame[frame.unique_id == "flat"], model=model, progress=False)


def test_polars(frame, model):
    polars = pytest.importorskip("polars")
    two = frame[frame.unique_id.isin(["pump 1", "flat"])]
    table = polars.DataFrame({name: two[name].tolist() for name in two.columns})
    panel = lt.fit_panel(table, model=model, paths=20, progress=False)
    expected = lt.fit_panel(two, model=model, paths=20, progress=False)
    assert list(panel.failures) == ["flat"]
    assert panel["pump 1"].summary["log_evidence"] == expected["pump 1"].summary["log_evidence"]
