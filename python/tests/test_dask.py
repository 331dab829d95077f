"""Backtests on a real Dask cluster: a scheduler and two worker processes on this machine, some of which are killed."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

import levytilt as lt
from test_backtest import FLAGS, SPANS, expected, lines, same, walk  # noqa: F401

distributed = pytest.importorskip("distributed")
QUICK = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "10s", "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "false"}


class Cluster:
    """A scheduler and its workers, each a process that can be killed."""

    def __init__(self, port=0):
        self.processes = []
        self.scheduler = self.start("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        self.address = None
        for line in self.scheduler.stderr:
            found = re.search(r"tcp://127\.0\.0\.1:\d+", line)
            if found:
                self.address = found[0]
                break
        assert self.address, "the scheduler did not start"
        threading.Thread(target=self.scheduler.stderr.read, daemon=True).start()
        self.workers = [self.worker() for _ in range(2)]
        with distributed.Client(self.address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)

    def start(self, kind, *words):
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + kind, *words],
            env={**os.environ, **QUICK, "PYTHONWARNINGS": "ignore", "DASK_LOGGING__DISTRIBUTED": "info"},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE if kind == "scheduler" else subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def worker(self):
        return self.start(
            "worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1",
            "--death-timeout", "30",
        )  # fmt: skip

    def close(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@pytest.fixture
def cluster():
    made = Cluster()
    yield made
    made.close()


def when_lines(out, count, act):
    """Do something as soon as the journal has so many lines; how many it has then, in a list."""
    seen = []

    def watch():
        journal = out / "windows.jsonl"
        while not journal.exists() or journal.read_text().count("\n") < count:
            time.sleep(0.002)
        act()
        seen.append(journal.read_text().count("\n"))

    threading.Thread(target=watch, daemon=True).start()
    return seen


def test_identity_cluster_by_address_client_and_program(program, cluster, walk, expected, tmp_path):  # noqa: F811
    lt.backtest(str(walk), out=tmp_path / "address", cluster=cluster.address, **SPANS)
    same(tmp_path / "address", expected)
    with distributed.Client(cluster.address, set_as_default=False) as client:
        lt.backtest(str(walk), out=tmp_path / "client", executor=client.get_executor(), **SPANS)
    same(tmp_path / "client", expected)
    said = program(
        "backtest", walk, *FLAGS, "--cluster", cluster.address, "--out", tmp_path / "program",
        env={"LEVYTILT_PYTHON": sys.executable},
    )  # fmt: skip
    same(tmp_path / "program", expected)
    assert "windows, 0 skipped" in said.stdout and "| tilt |" in said.stdout


def test_identity_a_killed_worker_loses_nothing(cluster, walk, expected, tmp_path):  # noqa: F811
    killed = when_lines(tmp_path / "out", 10, lambda: cluster.workers[0].send_signal(signal.SIGKILL))
    lt.backtest(str(walk), out=tmp_path / "out", cluster=cluster.address, **SPANS)
    assert cluster.workers[0].wait(timeout=5) == -signal.SIGKILL
    assert killed[0] < (expected / "windows.jsonl").read_text().count("\n"), "the worker was killed too late"
    same(tmp_path / "out", expected)


def test_identity_a_killed_scheduler_can_be_resumed(walk, expected, tmp_path):  # noqa: F811
    first = Cluster()
    try:
        when_lines(tmp_path / "out", 10, lambda: first.scheduler.send_signal(signal.SIGKILL))
        with pytest.raises(RuntimeError, match="the same call with the same out resumes from there"):
            lt.backtest(str(walk), out=tmp_path / "out", cluster=first.address, **SPANS)
    finally:
        first.close()
    kept = (tmp_path / "out/windows.jsonl").read_text()
    assert 10 <= kept.count("\n") < (expected / "windows.jsonl").read_text().count("\n")
    second = Cluster()
    try:
        lt.backtest(str(walk), out=tmp_path / "out", cluster=second.address, **SPANS)
    finally:
        second.close()
    assert (tmp_path / "out/windows.jsonl").read_text().startswith(kept)
    same(tmp_path / "out", expected)


def test_no_scheduler_is_an_input_error(walk, tmp_path):  # noqa: F811
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    import dask

    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        with pytest.raises(ValueError, match="no scheduler answers"):
            lt.backtest(str(walk), out=tmp_path / "out", cluster=address, **SPANS)
    assert not (tmp_path / "out").exists()


def test_the_program_says_how_to_install(program, walk, tmp_path):  # noqa: F811
    said = program(
        "backtest", walk, *FLAGS, "--cluster", "tcp://127.0.0.1:1", "--out", tmp_path / "out", check=False,
        env={"LEVYTILT_PYTHON": "/nowhere/python3"},
    )  # fmt: skip
    assert said.returncode == 2 and "scripts/wheel" in said.stderr and "LEVYTILT_PYTHON" in said.stderr


def test_identity_a_panel_on_a_cluster(cluster):
    import pandas as pd

    made = [lt.simulate(steps=39, span=3.9, seed=k, theta=2.0, mu=1.0, alpha=1.5, scale=1.0, observation_std=0.1) for k in (1, 2)]
    frame = pd.concat(pd.DataFrame({"unique_id": k, "ds": one.times, "y": one.values}) for k, one in enumerate(made))
    given = dict(model=lt.Model(theta=2.0, mu=1.0, observation_std=0.1), share="alpha", paths=20, progress=False)
    with distributed.Client(cluster.address, set_as_default=False) as client:
        there = lt.fit_panel(frame, executor=client.get_executor(), **given)
    pd.testing.assert_frame_equal(there.summary, lt.fit_panel(frame, **given).summary)
