"""What the tests share: the program to compare with, and a record."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import levytilt as lt

OU_STABLE = {"theta": 3.0, "mu": 1.0, "alpha": 1.5, "scale": 2.0, "observation_std": 0.1}


def pytest_addoption(parser):
    parser.addoption("--heavy", action="store_true", help="run also what takes minutes")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--heavy"):
        for item in items:
            if "heavy" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="takes minutes: --heavy"))


@pytest.fixture(scope="session")
def program():
    """Run the program; LEVYTILT_PROGRAM names it."""
    found = os.environ.get("LEVYTILT_PROGRAM") or shutil.which("levytilt")
    assert found and Path(found).is_file(), "set LEVYTILT_PROGRAM to the program, such as target/debug/levytilt"
    found = str(Path(found).resolve())

    def run(*words, check=True, env=None):
        done = subprocess.run(
            [found, *map(str, words)], capture_output=True, text=True, env={**os.environ, **(env or {})}, timeout=300
        )
        assert not check or done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def made():
    """A record with jumps whose truth is known: 301 observations."""
    return lt.simulate(steps=300, span=3.0, seed=4, **OU_STABLE)


@pytest.fixture(scope="session")
def csv(made, tmp_path_factory):
    """The same record as a file."""
    path = tmp_path_factory.mktemp("record") / "data.csv"
    rows = [f"{float(t)!r},{float(y)!r}" for t, y in zip(made.times, made.values)]
    path.write_text("\n".join(["time,value", *rows]) + "\n")
    return path


@pytest.fixture(scope="session")
def fit(made):
    """A small fit of it."""
    return lt.Model(theta=3.0, mu=1.0).fit(made.times, made.values, seed=1, paths=100)
