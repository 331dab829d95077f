"""Fits: saving, loading, progress, threads, and Ctrl-C."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import levytilt as lt
from levytilt._levytilt import Table


def test_identity_threads_do_not_matter(made, fit):
    again = lt.Model(theta=3.0, mu=1.0).fit(made.times, made.values, seed=1, paths=100, threads=3)
    np.testing.assert_array_equal(again.paths(), fit.paths())
    other = lt.Model(theta=3.0, mu=1.0).fit(made.times, made.values, seed=2, paths=100)
    assert not np.array_equal(other.paths(), fit.paths())


def test_identity_sixty_four_fits_at_once(made):
    def fitted(seed):
        model = lt.Model(theta=3.0, mu=1.0, alpha=1.5)
        return model.fit(made.times[:60], made.values[:60], seed=seed, paths=20, steps=59, threads=1)

    with ThreadPoolExecutor(64) as pool:
        together = list(pool.map(fitted, range(64)))
    assert all(np.isfinite(fit.summary["elbo"]) for fit in together)
    for seed in range(0, 64, 8):
        np.testing.assert_array_equal(together[seed].paths(), fitted(seed).paths())


def test_identity_a_run_comes_back(fit, tmp_path):
    fit.save(tmp_path / "run")
    back = lt.load(tmp_path / "run")
    assert back.summary == fit.summary and back.settings == fit.settings and back.names == fit.names
    for name, expected in fit.posterior().items():
        np.testing.assert_array_equal(back.posterior()[name], expected, err_msg=name)
    np.testing.assert_array_equal(back.paths(), fit.paths())
    np.testing.assert_array_equal(back.weights, fit.weights)
    np.testing.assert_array_equal(back.forecast(horizon=1).paths(), fit.forecast(horizon=1).paths())
    held = [one.forecast(horizon=1, fixed_parameters=True) for one in (back, fit)]
    np.testing.assert_array_equal(held[0].paths(), held[1].paths())
    assert held[0].summary["drawn_parameters"] == [] and fit.forecast(horizon=1).summary["drawn_parameters"] != []
    back.save(tmp_path / "copy")
    assert lt.load(tmp_path / "copy").summary == fit.summary
    assert "log evidence" in repr(back) and "log evidence" in repr(fit)


def test_forecasts_are_of_observations_unless_states_are_wanted(fit):
    seen = fit.forecast(horizon=1, paths=400, fixed_parameters=True)
    state = fit.forecast(horizon=1, paths=400, fixed_parameters=True, state=True)
    assert (seen.of, state.of) == ("observations", "states")
    errors = seen.paths() - state.paths()
    std = fit.summary["parameters"]["observation_std"]["estimate"]
    assert abs(errors.std() / std - 1) < 5 / np.sqrt(2 * errors.size)


def test_parameters_are_drawn_from_their_posterior(fit, tmp_path):
    with pytest.raises(ValueError, match="bayes=True"):
        fit.parameter_draws()
    made = lt.simulate(steps=60, span=6, x0=0.0, theta=3.0, mu=1.0, alpha=1.5, scale=2.0, observation_std=0.1, seed=3)
    model = lt.Model("ou", "stable", theta=3.0, alpha=1.5, observation_std=0.1)
    found = model.fit(made.times, made.values, paths=20, bayes=True, draws=50)
    drawn = found.parameter_draws()
    assert set(drawn) == {"weight", "mu", "scale", "log_evidence"} and len(drawn["mu"]) == 50
    assert abs(drawn["weight"].sum() - 1) < 1e-12
    mean = found.summary["parameter_posterior"]["parameters"]["mu"]["mean"]
    assert abs((drawn["weight"] * drawn["mu"]).sum() - mean) < 1e-12
    found.save(tmp_path / "run")
    for name, values in lt.load(tmp_path / "run").parameter_draws().items():
        np.testing.assert_array_equal(values, drawn[name], err_msg=name)
    assert found.forecast(horizon=1).summary["drawn_from"] == "posterior draws"


def test_what_is_no_run(tmp_path):
    with pytest.raises(ValueError, match="expected a directory of `levytilt fit"):
        lt.load(tmp_path)


def test_identity_posterior_is_that_of_the_paths(fit):
    posterior = fit.posterior()
    mean = np.einsum("p,pt->t", fit.weights, fit.paths()[:, :, 0])
    # The posterior adds what is known beyond the paths; the means agree within their error.
    spread = posterior["sd"] / np.sqrt(len(fit.weights))
    assert np.mean(np.abs(mean - posterior["mean"]) < 5 * spread) > 0.95
    assert posterior["time"].shape == mean.shape == posterior["jump_probability"].shape


def test_progress_is_told(made):
    heard = []
    lt.Model(mu=1.0).fit(made.times, made.values, paths=50, progress=lambda *step: heard.append(step))
    assert len(heard) > 1 and all(len(step) == 4 and 0 <= step[0] <= step[1] for step in heard)


def test_a_progress_that_fails_ends_the_fit(made):
    def fail(*_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        lt.Model(mu=1.0).fit(made.times, made.values, paths=50, progress=fail)


def test_a_bar_can_be_asked_for(made, capsys):
    lt.Model(mu=1.0).fit(made.times, made.values, paths=50, progress=True)
    assert "steps" in capsys.readouterr().err


def test_the_lock_is_released(made):
    """Another thread counts while a fit works: far more often than the switches of a fit that held the lock would allow."""
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    before = counted[0]
    lt.Model().fit(made.times, made.values, paths=300)
    during = counted[0] - before
    stop.set()
    thread.join()
    assert during > 10


LONG = """
import numpy as np, levytilt as lt
made = lt.simulate(steps=200_000, span=2000.0, theta=3.0, mu=1.0, alpha=1.5, scale=2.0, observation_std=0.1)
print("begins", flush=True)
try:
    lt.Model().fit(made.times, made.values, paths=500)
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("finished", flush=True)
import os; os._exit(0)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_ends_a_long_fit():
    child = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "begins\n"
    time.sleep(1.0)
    child.send_signal(signal.SIGINT)
    # The fit would take minutes. How soon it ends is printed by benches/overhead.py.
    assert child.communicate(timeout=20)[0] == "interrupted\n"


def test_identity_a_table_travels(made):
    table = Table("values", ["value"], made.times, [made.values])
    again = pickle.loads(pickle.dumps(table))
    np.testing.assert_array_equal(again.times, table.times)
    np.testing.assert_array_equal(again.columns[0], made.values)
    stamps = Table("values", ["value"], ["2024-03-31T00:00[Europe/Berlin]", "2024-04-01T00:00[Europe/Berlin]"], [np.ones(2)])
    again = pickle.loads(pickle.dumps(stamps))
    assert again.times.tolist() == stamps.times.tolist() == [0.0, 23 / 24] and again.origin == stamps.origin


def test_models_say_what_they_are():
    model = lt.Model("none", "gaussian", scale=1.0, parameters={"scale[a]": 2.0})
    assert repr(model) == "Model(drift='none', noise='gaussian', scale=1.0, parameters={'scale[a]': 2.0})"
    with pytest.raises(TypeError, match=r"Model\(\) got an unexpected keyword argument 'sclae'; did you mean scale or slope\?"):
        lt.Model(sclae=1.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'iteratons'; did you mean iterations"):
        model.fit([0.0, 1.0, 2.0], [0.0, 1.0, 0.5], iteratons=3)
    with pytest.raises(lt.InputError, match='alpha = "much": invalid type'):
        lt.Model(alpha="much")
    with pytest.raises(lt.InputError, match="unknown drift `circle`, expected one of ou"):
        lt.Model("circle")


def test_a_drift_can_be_a_formula():
    made = lt.simulate(drift="k*(m - x)", k=2.0, m=1.0, alpha=1.5, scale=1.0, observation_std=0.1, steps=100)
    assert made.truth["parameters"]["k"] == 2.0
    model = lt.Model(drift="k*(m - x)", m=1.0, alpha=1.5, scale=1.0, observation_std=0.1)
    fit = model.fit(made.times, made.values, paths=50)
    assert fit.summary["parameters"]["m"]["fixed"] and not fit.summary["parameters"]["k"]["fixed"]
    known = {"k": {"guess": 1.0, "low": 0.0}}
    bounded = lt.Model(drift="k*(m - x)", m=1.0, alpha=1.5, scale=1.0, observation_std=0.1, parameters=known)
    again = bounded.fit(made.times, made.values, paths=50)
    k, error = (fit.summary["parameters"]["k"][key] for key in ("estimate", "std_error"))
    assert abs(again.summary["parameters"]["k"]["estimate"] - k) < error
    given = dict(m=1.0, alpha=1.5, scale=1.0, observation_std=0.1, x0=0.0)
    formula = lt.exact(made.times, made.values, drift="k*(m - x)", k=2.0, **given)
    named = lt.exact(made.times, made.values, drift="ou", theta=2.0, mu=given.pop("m"), **given)
    assert abs(formula.log_evidence - named.log_evidence) < 1e-6
    with pytest.raises(lt.InputError, match="column 3"):
        lt.Model(drift="k*(m - x")
    with pytest.raises(TypeError, match="unexpected keyword argument 'q'"):
        lt.Model(drift="k*(m - x)", q=1.0)


def test_a_diffusion_beside_the_jumps_is_learned():
    truth = {"theta": 1.0, "mu": 0.0, "alpha": 1.2, "scale": 0.3, "observation_std": 0.05}
    made = lt.simulate(drift="ou", noise="stable", brownian=0.8, steps=300, span=30.0, seed=3, **truth)
    model = lt.Model(brownian="learn", theta=1.0, mu=0.0, alpha=1.2, observation_std=0.05)
    summary = model.fit(made.times, made.values, paths=20).summary
    found, evidence = summary["parameters"]["brownian"], summary["brownian_evidence"]["brownian"]
    assert abs(found["estimate"] - 0.8) < 4 * found["std_error"] and evidence["told_apart"]
    assert evidence["with"] == summary["log_evidence"] > evidence["without"]
    with pytest.raises(ValueError, match="a number, or"):
        lt.Model(brownian="much")


def test_a_column_is_not_learned_as_a_parameter():
    pandas = pytest.importorskip("pandas")
    rows = np.arange(60)
    frame = pandas.DataFrame({"level": np.sin(rows), "wind": np.cos(rows)}, index=0.1 * rows)
    drift = lt.Model(drift="theta*(mu - x) + k*wind", alpha=1.8)
    with pytest.raises(ValueError, match='"wind" is a column.*give inputs wind'):
        drift.fit(frame, column="level", paths=2)
    with pytest.raises(ValueError, match='"wind" is a column.*give inputs wind'):
        drift.fit(frame.index, frame, column="level", paths=2)
    with pytest.raises(ValueError, match='"level" is a column.*write x'):
        lt.Model(drift="-theta*level").fit(frame["level"], paths=2)
    with pytest.raises(ValueError, match='"wind" is a column'):
        lt.Model(size="1 + wind*x^2").fit(frame, column="level", paths=2)
    # A parameter that is declared is one, whatever columns are called.
    assert lt.Model(drift="theta*(mu - x) + wind", wind=0.5).fit(frame, column="level", paths=2).names == ["level"]
    written = lt.Model(
        states={"x": "-theta*x + wind"}, noise={"n": {"family": "gaussian", "on": "x"}}, observe={"level": {"of": "x"}}
    )
    with pytest.raises(ValueError, match=r'"wind" is a column.*\[inputs\] wind'):
        written.fit(frame, paths=2)


def test_inputs_drive_the_drift(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng, rows = np.random.default_rng(3), np.arange(300)
    wind = np.where((rows // 30) % 2 == 0, 0.0, 2.0)
    values, state = [], 0.0
    for k in rows:
        values.append(state + 0.05 * rng.normal())
        state += 0.1 * (0.7 * wind[k] - state) + 0.1 * rng.normal()
    frame = pandas.DataFrame({"value": values, "wind": wind}, index=0.1 * rows)
    model = lt.Model(inputs=["wind"], alpha=1.8, observation_std=0.05)
    assert "inputs={'wind': {}}" in repr(model)
    fit = model.fit(frame, paths=20)
    found = fit.summary["parameters"]["gain[wind]"]
    assert fit.names == ["value"] and abs(found["estimate"] - 0.7) < 4 * found["std_error"] + 0.1
    with pytest.raises(ValueError, match="--inputs-file"):
        fit.forecast(horizon=2.0)
    ahead = pandas.DataFrame({"wind": [5.0, 5.0, 5.0]}, index=[30.0, 31.0, 32.0])
    storm, calm = fit.forecast(horizon=2.0, inputs=ahead), fit.forecast(horizon=2.0, inputs=0.0 * ahead)
    assert np.median(storm.paths()[:, -1, 0]) > np.median(calm.paths()[:, -1, 0]) + 1.0
    fit.save(tmp_path / "run")
    again = lt.load(tmp_path / "run").forecast(horizon=2.0, inputs=ahead)
    np.testing.assert_array_equal(again.paths(), storm.paths())
    new = pandas.DataFrame({"value": [state, state + 50.0], "wind": wind[-2:]}, index=[30.0, 30.1])
    seen = np.asarray(fit.update(new)["p_value"])
    assert seen.shape[0] == 2 and seen.ravel()[1] < 0.001 < seen.ravel()[0]
    with pytest.raises(ValueError, match='has no column "wind"'):
        fit.update(30.2, 1.0)
    frame.loc[0.1 * rows[3], "wind"] = np.nan
    with pytest.raises(ValueError, match='column "wind": an input needs a value in every row'):
        model.fit(frame)


def test_identity_no_jump_in_a_window(tmp_path):
    """One step holds what the posterior says of it; windows join as the paths do; a saved run says the same."""
    made = lt.simulate(theta=3.0, mu=1.0, alpha=1.5, scale=2.0, observation_std=0.1, steps=100, span=1.0, seed=3)
    model = lt.Model(theta=3.0, mu=1.0, alpha=1.5, scale=2.0, observation_std=0.1)
    fit = model.fit(made.times, made.values, paths=200)
    found = fit.posterior()
    times, jumps = found["time"], found["jump_probability"]
    j = int(np.argmax(jumps))
    # The paths are draws from the law of which the posterior is exact: four standard errors of 200.
    assert abs(fit.no_jump(times[j - 1], times[j]) - (1.0 - jumps[j])) < 4 * (0.25 / 200) ** 0.5
    whole, parts = fit.no_jump(0.0, 1.0), [fit.no_jump(0.0, 0.5), fit.no_jump(0.5, 1.0)]
    assert max(0.0, sum(parts) - 1.0) - 1e-12 <= whole <= min(parts)
    fit.save(tmp_path / "run")
    assert lt.load(tmp_path / "run").no_jump(0.0, 0.5) == parts[0]
    large = model.fit(made.times, made.values, paths=200, jump_above=1e6)
    assert large.no_jump(0.0, 1.0) == 1.0
    days = pd.Series(made.values, index=pd.date_range("2024-01-01", periods=101, freq="D"), name="level")
    dated = lt.Model(observation_std=0.1).fit(days, paths=50)
    assert 0.0 <= dated.no_jump("2024-02-01", pd.Timestamp("2024-03-01")) <= 1.0
    with pytest.raises(lt.InputError, match="no step of the record"):
        fit.no_jump(2.0, 3.0)


def test_jumps_are_the_table_of_the_run(tmp_path):
    times = np.arange(80.0)
    values = 0.1 * (times**2 % 7) + np.where(times >= 40, 30.0, 0.0)
    model = lt.Model(drift="none", alpha=1.5, scale=0.1, observation_std=0.2)
    fit = model.fit(times, values, paths=100, jump_above=10.0)
    jumps = fit.jumps()
    assert jumps["time"].shape == (1,) and 39.0 < jumps["time"][0] <= 40.0 and jumps["dimension"] == ["value"]
    assert jumps["probability"][0] > 0.99 and abs(jumps["size"][0] - 30.0) < 1.0
    fit.save(tmp_path / "run")
    again = lt.load(tmp_path / "run").jumps()
    assert all(np.array_equal(again[name], jumps[name]) for name in jumps)


def test_update_takes_in_rows_and_residuals_are_kept(tmp_path):
    rng = np.random.default_rng(5)
    times, values = np.arange(120.0), np.cumsum(rng.standard_t(3, 120))
    fit = lt.Model(drift="none", noise="student", dof=3.0, scale=1.0, observation_std=0.3).fit(times[:100], values[:100], paths=50)
    residuals = fit.residuals()
    assert residuals["residual"].shape == (99,) and abs(residuals["residual"].mean()) < 0.5
    assert fit.summary["residuals"]["count"] == 99
    fit.save(tmp_path / "run")
    loaded = lt.load(tmp_path / "run")
    assert np.array_equal(loaded.residuals()["residual"], residuals["residual"])
    found = fit.update(times[100:], values[100:])
    first = loaded.update(times[100:101], values[100:101])
    rest = loaded.update(times[100:], values[100:])
    assert first["p_value"][0] == found["p_value"][0] and np.isnan(rest["p_value"][0])
    assert np.array_equal(rest["log_evidence"][1:], found["log_evidence"][1:])
    jump = fit.update(120.0, values[-1] + 500.0)
    assert bool(jump["alarm"][0]) and jump["jump_probability"][0] > 0.99
    assert fit.forecast(horizon=1.0).times[0] > 120.0
    assert fit.forecast(horizon=1.0).mean()[-1] > values[-1] + 400.0


def test_update_looks_at_rows_again_with_hindsight():
    rng = np.random.default_rng(5)
    times, values = np.arange(112.0), np.cumsum(rng.standard_t(3, 112))
    values[105] += 60.0  # comes back
    values[108:] += 80.0  # stays
    known = {"dof": 3.0, "scale": 1.0, "observation_std": 0.3, "outlier_probability": 0.01, "outlier_size": 100.0}
    model = lt.Model(drift="none", noise="student", errors="outliers", **known)
    fit = model.fit(times[:100], values[:100], paths=50)
    found = [fit.update(times[k : k + 1], values[k : k + 1], lag=2) for k in range(100, 112)]
    revised = {name: np.array([row[name][0] for row in found]) for name in found[0]}
    assert np.isnan(revised["revised_p_value"][:2]).all() and np.isfinite(revised["revised_p_value"][2:]).all()
    # Row k is revised in row k + 2.
    assert revised["revised_outlier_probability"][7] > 0.99 and revised["revised_outlier_probability"][10] < 0.01
    assert revised["revised_jump_probability"][10] > 0.99 and revised["revised_p_value"][7] < 0.02
    with pytest.raises(lt.InputError, match="lag"):
        fit.update(200.0, 1.0, lag=-1)


def test_the_published_method_has_its_keywords():
    times = np.linspace(0.0, 1.0, 30)
    known = {"alpha": 1.5, "scale": 1.0, "tau": 0.1, "observation_std": 0.2, "x0": 0.0}
    model = lt.Model(noise="truncated-stable", **known)
    fit = model.fit(times, np.sin(times), method="paper", paths=10, iterations=1, kl="series", gradient="published")
    assert (fit.summary["method"], fit.summary["posterior"]) == ("paper", "variational")
    with pytest.raises(lt.InputError, match="kl"):
        model.fit(times, np.sin(times), kl="series")
