"""Models of one record, ranked."""

import math

import pytest

import levytilt as lt


@pytest.fixture(scope="module")
def found(made):
    known = {"observation_std": 0.1, "theta": 3.0, "mu": 1.0}
    models = [lt.Model("ou", noise, **known) for noise in ("gaussian", "stable")]
    return lt.compare(made.times, made.values, models=models, paths=20)


def test_ranking(found):
    assert found.best == "ou with stable" and list(found.models) == ["ou with stable", "ou with gaussian"]
    best, other = found.models.values()
    assert best["score"] > other["score"] and math.isclose(other["behind"], best["score"] - other["score"])
    assert math.isclose(best["score"], best["log_evidence"] - 0.5 * best["learned"] * math.log(301))
    assert best["held_out"]["values"] == 60 and other["held_out"]["difference"] < 0
    assert "distribution" in other["residuals"]["failed"] or "outlier" in other["residuals"]["failed"]


def test_table(found):
    pytest.importorskip("pandas")
    table = found.table
    assert list(table.index) == list(found.models)
    assert table.loc["ou with stable", "alpha"] == found.models["ou with stable"]["parameters"]["alpha"]["estimate"]
    assert math.isnan(table.loc["ou with gaussian", "alpha"])


def test_shown(found):
    assert "log evidence" in repr(found) and "ou with gaussian" in found._repr_html_()


def test_saved_like_the_program(found, csv, program, tmp_path):
    found.save(tmp_path / "here")
    program("compare", csv, "--noise", "gaussian,stable", "--set", "observation_std=0.1", "--set", "theta=3", "--set", "mu=1",
            "--paths", "20", "--out", tmp_path / "there")  # fmt: skip
    assert (tmp_path / "here/compare.csv").read_text() == (tmp_path / "there/compare.csv").read_text()


def test_combinations(made):
    found = lt.compare(made.times, made.values, noise=["gaussian"], drift=["ou", "none"], holdout=0, paths=20)
    assert set(found.models) == {"ou with gaussian", "none with gaussian"}
    assert all(row["held_out"] is None for row in found.models.values())


def test_refused(made):
    with pytest.raises(lt.InputError, match="nothing to compare"):
        lt.compare(made.times, made.values, noise=["nig"])
    with pytest.raises(lt.InputError, match="holdout"):
        lt.compare(made.times, made.values, noise=["nig", "gaussian"], holdout=1.5)
    with pytest.raises(lt.InputError, match="is not a model"):
        lt.compare(made.times, made.values, models=[3, 4])
    with pytest.raises(TypeError, match="sigma"):
        lt.compare(made.times, made.values, noise=["nig", "gaussian"], sigma=1.0)
