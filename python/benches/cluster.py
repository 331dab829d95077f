"""A backtest on Dask with two workers against the program with two threads, and what a task costs.

    python python/benches/cluster.py target/release/levytilt PRICES.csv COLUMN [WINDOWS]

Starts a scheduler and two workers on this machine. Rounds are interleaved; times are wall-clock, so the machine should be
idle, and user CPU seconds are printed beside them for one that is not.
"""

import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

import levytilt as lt
from levytilt._dask import _lines
from levytilt._levytilt import Table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
MODELS = ["random-walk", "tilt"]
ROUNDS = 2


def cut(source, column, windows):
    """The part of the prices that gives so many windows of 30 days and 2 days, as a file."""
    frame = pd.read_csv(source, index_col=0)[[column]].dropna()
    stamps = pd.to_datetime(frame.index, utc=True)
    return frame[stamps <= stamps[0].normalize() + pd.Timedelta(days=30 + 2 * windows)]


def cpu_seconds(process):
    import psutil

    return sum(psutil.Process(process.pid).cpu_times()[:2])


def main():
    from test_dask import Cluster

    program, source, column = sys.argv[1:4]
    windows = int(sys.argv[4]) if len(sys.argv) > 4 else 300
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        data = folder / "data.csv"
        cut(source, column, windows).to_csv(data)
        cluster = Cluster()
        wall, cpu = {"program": [], "dask": []}, {"program": [], "dask": []}
        try:
            for k in range(ROUNDS):
                before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
                subprocess.run(
                    [program, "backtest", data, "--log-returns", f"--models={','.join(MODELS)}", "--threads=2",
                     f"--out={folder}/program{k}", "--quiet"], check=True,
                )  # fmt: skip
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                wall["program"].append(time.time() - start)
                cpu["program"].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
                own = resource.getrusage(resource.RUSAGE_SELF)
                spent, start = sum(map(cpu_seconds, [cluster.scheduler, *cluster.workers])), time.time()
                lt.backtest(
                    str(data), log_returns=True, models=MODELS, out=folder / f"dask{k}", cluster=cluster.address, progress=False
                )
                wall["dask"].append(time.time() - start)
                now = resource.getrusage(resource.RUSAGE_SELF)
                spent = sum(map(cpu_seconds, [cluster.scheduler, *cluster.workers])) - spent
                cpu["dask"].append(spent + now.ru_utime + now.ru_stime - own.ru_utime - own.ru_stime)
        finally:
            cluster.close()
        table = (folder / "program0/scores.md").read_bytes()
        assert all((folder / f"dask{k}/scores.md").read_bytes() == table for k in range(ROUNDS)), "not the same table"
        fits = (folder / "program0/windows.jsonl").read_text().count("\n") - 1
        record = pickle.dumps((["backtest", str(data)], Table.read(str(data), [])))
        task = pickle.dumps((_lines, "0" * 16, "x" * 40, 123, MODELS))
        result = (folder / "program0/windows.jsonl").read_text().splitlines()[1:]
        print(f"{fits} fits in {fits // len(MODELS)} windows, two workers or threads, {ROUNDS} interleaved rounds")
        for name in wall:
            print(
                f"  {name:8} wall {', '.join(f'{t:.1f}' for t in wall[name])} s; CPU {', '.join(f'{t:.1f}' for t in cpu[name])} s; "
                f"{fits / statistics.median(wall[name]):.1f} fits per second"
            )
        ratio = statistics.median(a / b for a, b in zip(wall["program"], wall["dask"]))
        work = statistics.median(a / b for a, b in zip(cpu["program"], cpu["dask"]))
        print(f"  throughput of Dask over the program: {ratio:.2f} by wall clock, {work:.2f} by CPU time")
        print(f"  fits per core-hour: {3600 * fits / statistics.median(cpu['dask']):.0f} on Dask, all costs included")
        print(f"  bytes: record {len(record)} once per worker, task {len(task)}, result {statistics.mean(map(len, result)):.0f} per fit")


if __name__ == "__main__":
    main()
