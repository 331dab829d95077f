"""Models whose states, noise sources and observed columns are written out."""

import pickle

import numpy as np
import pytest

import levytilt as lt

SECTIONS = {
    "states": {"x": "v", "v": "-c*v"},
    "noise": {"kick": {"family": "stable", "on": "v", "alpha": 1.5, "scale": 1.0}},
    "observe": {"position": {"of": "x", "std": 0.05}},
    "parameters": {"c": {"guess": 1.0, "low": 0.0}},
}
TEXT = """[states]
x = "v"
v = "-c*v"
[noise.kick]
family = "stable"
on = "v"
alpha = 1.5
scale = 1.0
[observe.position]
of = "x"
std = 0.05
[parameters]
c = { guess = 1.0, low = 0.0 }
[grid]
steps = 30
[solve]
paths = 40
seed = 3
"""


def known(**more):
    """The same model with all parameters given."""
    return lt.Model(**{**SECTIONS, "parameters": {"c": 1.0}, **more})


@pytest.fixture(scope="module")
def drawn():
    return known().simulate(steps=30, span=3.0, seed=5)


@pytest.fixture(scope="module")
def found(drawn):
    return lt.Model(**SECTIONS).fit(drawn.times, drawn.values[:, 0], seed=3, paths=40, steps=30)


def test_simulated(drawn):
    assert drawn.truth["states"] == ["v", "x"] and drawn.truth["columns"] == ["position"]
    assert drawn.values.shape == (31, 1) and drawn.path.shape == (31, 2)
    assert np.std(drawn.values[:, 0] - drawn.path[:, 1]) == pytest.approx(0.05, rel=0.5)
    some = known().simulate(steps=30, span=3.0, seed=5, every=5)
    assert np.array_equal(some.values, drawn.values[::5]) and np.array_equal(some.times, drawn.times[::5])


def test_fit(found):
    assert found.states == ["v", "x"] and found.names == ["position"]
    assert found.loadings == {"kick": {"v": 1.0}}
    assert set(found.parameters) == {"c", "alpha[kick]", "scale[kick]", "observation_std[position]"}
    assert found.parameters["alpha[kick]"] == 1.5 and found.summary["parameters"]["alpha[kick]"]["fixed"]
    assert found.log_evidence == found.summary["log_evidence"]
    posterior = found.posterior()
    assert posterior["mean"].shape == (31, 2) and found.paths().shape == (40, 31, 2)
    assert np.allclose(found.paths().mean(axis=0), posterior["mean"]) and found.weights.sum() == pytest.approx(1.0)


def test_same_as_program(found, drawn, program, tmp_path):
    (tmp_path / "model.toml").write_text(TEXT)
    rows = "".join(f"{float(t)!r},{float(y)!r}\n" for t, y in zip(drawn.times, drawn.values[:, 0]))
    (tmp_path / "data.csv").write_text("time,position\n" + rows)
    program("fit", tmp_path / "data.csv", "--config", tmp_path / "model.toml", "--out", tmp_path / "there")
    found.save(tmp_path / "here")
    for name in ("posterior.csv", "jumps.csv", "model.toml"):
        assert (tmp_path / "here" / name).read_text() == (tmp_path / "there" / name).read_text(), name
    again = lt.load(tmp_path / "there")
    assert again.states == found.states and again.parameters == found.parameters and again.loadings == found.loadings
    assert np.allclose(again.posterior()["q50"], found.posterior()["q50"])
    from_file = lt.Model.from_toml(tmp_path / "model.toml").fit(tmp_path / "data.csv")
    assert from_file.parameters == found.parameters and from_file.summary["seed"] == 3


def test_forecast_and_copy(found):
    ahead = found.forecast(horizon=1.0, paths=200)
    assert ahead.names == ["position"] and ahead.paths().shape == (200, 10, 1)
    copied = pickle.loads(pickle.dumps(found))
    assert np.array_equal(copied.forecast(horizon=1.0, paths=200).paths(), ahead.paths())
    new = found.simulate(steps=20, span=2.0)
    assert new.path.shape == (21, 2) and new.truth["parameters"]["c"] == found.parameters["c"]


def test_frames(drawn):
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2024-01-01", periods=31, freq="h")
    frame = pandas.DataFrame({"other": 0.0, "position": drawn.values[:, 0]}, index=index)
    fit = known(noise={"kick": {**SECTIONS["noise"]["kick"], "scale": 5.0}}).fit(frame, paths=10, steps=30)
    assert set(fit.posterior().columns.get_level_values(0)) == {"v", "x"}
    assert list(fit.forecast(horizon="2h").quantile([0.5]).index) == list(pandas.date_range(index[-1], periods=3, freq="h")[1:])
    fit.plot()


def test_common_shock():
    both = {"A": "-k*A", "B": "-k*B"}
    own = {f"own_{name}": {"family": "gaussian", "on": name, "scale": 0.3} for name in both}
    market = {"family": "stable", "on": {"A": "load_a", "B": "load_b"}, "alpha": 1.5}
    model = lt.Model(states=both, noise={"market": market, **own}, observe={name: {"of": name, "std": 0.1} for name in both},
                     parameters={"k": 1.0, "load_a": 1.0, "load_b": -0.5})  # fmt: skip
    made = model.simulate(steps=10, span=1.0)
    fit = model.fit(made.times, made.values, paths=10, steps=10)
    assert fit.loadings == {"market": {"A": 1.0, "B": -0.5}, "own_A": {"A": 1.0}, "own_B": {"B": 1.0}}
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(made.values, index=made.times, columns=["A", "B"])
    models = {"with": model, "without": lt.Model("ou", "gaussian", mu=0.0)}
    ranked = lt.compare(frame, models=models, holdout=0, paths=10, steps=10)
    assert ranked.models["with"]["log_evidence"] == pytest.approx(fit.log_evidence, abs=0.5)


def test_settings_by_drift_and_noise(made, fit):
    model = lt.Model.from_toml('[model]\ndrift = "ou"\n[drift]\ntheta = 3.0\nmu = 1.0\n[solve]\npaths = 100\n')
    assert model.fixed == {"theta": 3.0, "mu": 1.0}
    assert model.fit(made.times, made.values).parameters == fit.parameters
    full = lt.Model(theta=3.0, mu=1.0, alpha=1.5, scale=2.0, observation_std=0.1)
    assert np.array_equal(full.simulate(steps=300, span=3.0, seed=4).values, made.values)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"noise": {"kick": {"family": "stable", "on": "w"}}}, "noise.kick.*w is not a state"),
        ({"noise": {"kick": {"family": "stabel", "on": "v"}}}, "expected one of stable"),
        ({"noise": {"kick": {"family": "stable", "on": "v", "alhpa": 1.5}}}, "unknown key alhpa"),
        ({"noise": {"kick": {"on": "v"}}}, "family"),
        ({"noise": "stable"}, "dictionary"),
        ({"observe": {"position": {"of": "x", "sdt": 1.0}}}, "sdt"),
        ({"observe": {"position": {"of": "x", "std": "much"}}}, "std"),
        ({"start": {"y": 0.0}}, "y is not a state"),
        ({"parameters": {"k": 1.0}}, "k.*is not a parameter of this model; expected one of c"),
        ({"parameters": {"c": {"gess": 1.0}}}, "gess"),
        ({"states": {"x": "v", "v": "-c*"}}, "column"),
        ({"drift": "ou"}, "drift does not go with states"),
        ({"inputs": ["wind"]}, "inputs"),
    ],
)
def test_refused(change, words):
    with pytest.raises(lt.InputError, match=words):
        lt.Model(**{**SECTIONS, **change})


def test_refused_elsewhere(drawn, tmp_path):
    with pytest.raises(TypeError, match="alpha"):
        lt.Model(**SECTIONS, alpha=1.5)
    with pytest.raises(lt.InputError, match="give states"):
        lt.Model("ou", "stable", observe=SECTIONS["observe"])
    model = lt.Model(**SECTIONS)
    with pytest.raises(TypeError, match="column"):
        model.fit(drawn.times, drawn.values, column="position")
    with pytest.raises(lt.InputError, match="values have 2 columns; the model observes 1: position"):
        model.fit(drawn.times, np.zeros((31, 2)))
    with pytest.raises(lt.InputError, match="needs a value"):
        model.simulate()
    with pytest.raises(lt.InputError, match="cannot be read"):
        lt.Model.from_toml(tmp_path / "nothing.toml")
    with pytest.raises(lt.InputError, match="unknown field"):
        lt.Model.from_toml(TEXT.replace("[states]", "[stats]"))
    with pytest.raises(lt.InputError, match="can be fitted"):
        lt.backtest(str(tmp_path / "any.csv"), train=3.0, horizon=1.0, models=[model])
