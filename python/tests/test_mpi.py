"""Backtests on MPI: a killed rank ends the job, and the next one goes on."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from test_backtest import SPANS, expected, same, walk  # noqa: F401

pytest.importorskip("mpi4py")
psutil = pytest.importorskip("psutil")
MPIEXEC = shutil.which("mpiexec", path=f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
pytestmark = pytest.mark.skipif(MPIEXEC is None, reason="no mpiexec")

SCRIPT = """
import sys
import levytilt as lt

if __name__ == "__main__":
    from mpi4py.futures import MPIPoolExecutor

    with MPIPoolExecutor() as executor:
        lt.backtest({data!r}, executor=executor, out={out!r}, **{spans!r})
"""


def job(folder, data):
    script = folder / "script.py"
    script.write_text(SCRIPT.format(data=str(data), out=str(folder / "out"), spans=SPANS))
    return subprocess.Popen(
        [MPIEXEC, "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def kill_a_rank(running):
    """Kill the rank with the highest number, a worker."""
    ranks = [
        process
        for process in psutil.Process(running.pid).children(recursive=True)
        if process.environ().get("PMI_RANK") == "2" and "mpi4py.futures" in process.cmdline()
    ]
    ranks[0].send_signal(signal.SIGKILL)


def test_identity_mpi(walk, expected, tmp_path):  # noqa: F811
    assert job(tmp_path, walk).wait(timeout=120) == 0
    same(tmp_path / "out", expected)


def test_identity_a_killed_rank_ends_the_job_and_the_next_goes_on(walk, expected, tmp_path):  # noqa: F811
    from test_dask import when_lines

    running = job(tmp_path, walk)
    seen = when_lines(tmp_path / "out", 10, lambda: kill_a_rank(running))
    assert running.wait(timeout=120) != 0
    assert seen and seen[0] < (expected / "windows.jsonl").read_text().count("\n")
    assert job(tmp_path, walk).wait(timeout=120) == 0
    same(tmp_path / "out", expected)
