#!/usr/bin/env python3
"""Compare levytilt with what a user would pick instead, and print the tables of docs/validation/rivals-open.md.

    scripts/compare-open.py DATA OUT [MODEL ...]
    scripts/compare-open.py --tickers DATA OUT [TICKER ...]

DATA is a directory with the records named below. OUT keeps the scores of every window, so that a run that was stopped goes on where it
stopped; without models, all are run. With --tickers, ten shares 14 hours ahead instead of six records 4 steps ahead. Needs numpy, scipy, pandas, arch, statsmodels, statsforecast and skaters; levytilt is the program on
the path, or LEVYTILT_PROGRAM. One thread each.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import pandas as pd

warnings.simplefilter("ignore")
PROGRAM = os.environ.get("LEVYTILT_PROGRAM", "levytilt")
TICKERS = sys.argv[1:2] == ["--tickers"]
TRAIN, AHEAD, WINDOWS, DRAWS = (250, 14, 30, 1000) if TICKERS else (250, 4, 50, 1000)
REFERENCE = "random walk"


def series(data: Path) -> dict:
    """Name -> (record by time, rows to learn from, length of a season in rows)."""

    def column(file: str, name: str, change, **rows) -> pd.Series:
        table = pd.read_csv(data / file, **rows)
        return pd.Series(change(table[name].to_numpy(float)), index=table.iloc[:, 0]).dropna()

    log = np.log
    if TICKERS:
        names = sys.argv[4:] or pd.read_csv(data / "stocks_hourly.csv", nrows=0).columns[1:]
        return {name: (column("stocks_hourly.csv", name, log), TRAIN, 1) for name in names}
    power = pd.read_csv(data / "power_epf5_hourly.csv", parse_dates=["local_time"])
    power = power[power.market == "FR"].set_index("local_time").price.resample("1D").mean()
    power.index = power.index.strftime("%Y-%m-%d")
    ice = column("ngrip_10yr.csv", pd.read_csv(data / "ngrip_10yr.csv", nrows=1).columns[1], lambda ca: -log(ca))
    ice.index = -ice.index.to_numpy(float)
    return {
        "NVDA, hourly": (column("stocks_hourly.csv", "NVDA", log), TRAIN, 1),
        "Bitcoin, hourly": (column("crypto_hourly.csv", "BTCUSDT", log), TRAIN, 1),
        "power price, daily": (log(power.clip(lower=1.0)), TRAIN, 7),
        "Greenland dust, 10 years": (ice, TRAIN, 1),
        "river, daily": (column("river_discharge_daily.csv", "discharge_rel_to_mean", log).iloc[:6000], TRAIN, 1),
        "solar wind, hourly": (column("omni_hourly_1998_2002.csv", "speed_km_s", log).iloc[:17520], TRAIN, 1),
    }


# Every forecaster takes times, values, the times ahead, the season and random numbers, and gives draws, one row per time ahead.


def walk(_times, values, _ahead, _season, random):
    moves = np.diff(values)
    return values[-1] + np.cumsum(random.normal(moves.mean(), moves.std(ddof=1), (AHEAD, DRAWS)), axis=0)


def local_level(_times, values, _ahead, _season, random):
    from statsmodels.tsa.statespace.structural import UnobservedComponents

    scale = values.std()
    found = UnobservedComponents(values / scale, "local level", autoregressive=1).fit(disp=False)
    return scale * simulated(found, random)


def simulated(found, random):
    draws = found.simulate(AHEAD, repetitions=DRAWS, anchor="end", rng=random)
    return np.asarray(draws).reshape(AHEAD, DRAWS)


def garch(_times, values, _ahead, _season, random):
    from arch import arch_model

    moves = np.diff(values)
    scale = moves.std() / 10.0
    model = arch_model(moves / scale, mean="AR", lags=1, vol="GARCH", p=1, q=1, dist="t", rescale=False)
    model.distribution._generator = random
    found = model.fit(disp="off", show_warning=False)
    ahead = found.forecast(horizon=AHEAD, method="simulation", simulations=DRAWS, reindex=False).simulations.values[0]
    return values[-1] + scale * np.cumsum(ahead.T, axis=0)


def of_statsforecast(name):
    def forecast(_times, values, _ahead, season, random):
        from statsforecast import models

        found = getattr(models, name)(season_length=season).forecast(values, AHEAD, level=[80])
        mean, low, high = (np.asarray(found[key], float) for key in ("mean", "lo-80", "hi-80"))
        sd = (high - low) / (2.0 * 1.2815515655446004)
        return random.normal(mean[:, None], sd[:, None], (AHEAD, DRAWS))

    return forecast


def skaters(_times, values, _ahead, _season, _random):
    from skaters import laplace

    skater, state = laplace(k=AHEAD), None
    for value in values:
        ahead, state = skater(float(value), state)
    # Evenly through the distribution instead of at random: no worse than draws.
    levels = (np.arange(DRAWS // 4) + 0.5) / (DRAWS // 4)
    return np.array([np.repeat([one.quantile(level) for level in levels], 4) for one in ahead])


def levytilt(*flags):
    def forecast(times, values, ahead, season, _random):
        with tempfile.TemporaryDirectory() as place:
            def run(*command):
                subprocess.run([PROGRAM, *command, "--threads", "1", "--quiet"], cwd=place, check=True, capture_output=True)

            pd.DataFrame({"time": times, "value": values}).to_csv(f"{place}/data.csv", index=False)
            pd.DataFrame({"time": ahead, "value": 0.0}).to_csv(f"{place}/ahead.csv", index=False)
            more = ["--season", f"{season}d"] if season > 1 and "business" not in flags else []
            run("fit", "data.csv", *flags, *more, "--paths", "500", "--out", "run")
            run("forecast", "run", "--at", "ahead.csv", "--paths", str(DRAWS), "--out", "ahead")
            with np.load(f"{place}/ahead/paths.npz") as found:
                # As many draws as asked for, in the order of the archive: paths, times, columns.
                return found["paths"][:, -AHEAD:, 0].T

    return forecast


# A second per window: run on every second record.
SKATERS_ON = ["NVDA, hourly", "power price, daily", "river, daily"]

MODELS = {
    REFERENCE: walk,
    "statsmodels local level + AR(1)": local_level,
    "arch AR(1)-GARCH(1,1)-t": garch,
    "statsforecast AutoETS": of_statsforecast("AutoETS"),
    "statsforecast AutoARIMA": of_statsforecast("AutoARIMA"),
    "skaters laplace": skaters,
    "levytilt ou, nig": levytilt("--drift", "ou", "--noise", "nig"),
    "levytilt walk, recent volatility": levytilt(
        "--drift", "none", "--noise", "student", "--clock", "business", "--volatility", "recent"),
}  # fmt: skip


def crps(draws, value):
    """The fair CRPS of each time ahead."""
    draws = np.sort(draws, axis=1)
    count = draws.shape[1]
    places = 2.0 * np.arange(count) - count + 1.0
    spread = (draws * places).sum(axis=1) / (count * (count - 1.0))
    return np.abs(draws - value[:, None]).mean(axis=1) - spread


def log_score(draws, value):
    """-ln of 99% of a Gaussian kernel estimate of the draws and 1% of a Student-t with 2 degrees of freedom as wide as they."""
    low, middle, high = np.quantile(draws, [0.25, 0.5, 0.75], axis=1)
    wide = np.maximum((high - low) / 1.349, 1e-12)
    band = (0.9 * np.minimum(draws.std(axis=1), wide) * draws.shape[1] ** -0.2)[:, None]
    kernel = np.exp(-0.5 * ((draws - value[:, None]) / band) ** 2) / (band * np.sqrt(2.0 * np.pi))
    z = (value - middle) / wide
    tail = (2.0 + z * z) ** -1.5 / wide
    return -np.log(0.99 * kernel.mean(axis=1) + 0.01 * tail)


def score(name, record, train, season, model, out: Path):
    """Scores of all windows, computed or read."""
    file = out / f"{name} {model}.json".replace("/", "-").replace(",", "")
    if file.exists():
        return json.loads(file.read_text())
    values, times = record.to_numpy(float), record.index.to_numpy()
    starts = np.linspace(0, len(values) - train - AHEAD, WINDOWS).astype(int)
    found = {"crps": [], "log": [], "seconds": [], "failed": []}
    for start in starts:
        past, future = slice(start, start + train), slice(start + train, start + train + AHEAD)
        random = np.random.default_rng([zlib.crc32(name.encode()), int(start)])
        began = time.process_time() + sum(os.times()[2:4])
        try:
            draws = np.asarray(MODELS[model](times[past], values[past], times[future], season, random), float)
            if draws.shape != (AHEAD, DRAWS) or not np.isfinite(draws).all():
                raise ValueError(f"draws of shape {draws.shape}, or not finite")
        except Exception as error:  # a failure is a result: the walk stands in, and it is counted
            why = getattr(error, "stderr", None) or str(error).encode()
            found["failed"].append([int(start), why.decode(errors="replace")[-300:]])
            draws = walk(times[past], values[past], times[future], season, random)
        found["seconds"].append(time.process_time() + sum(os.times()[2:4]) - began)
        found["crps"].append(float(crps(draws, values[future]).mean()))
        found["log"].append(float(log_score(draws, values[future]).mean()))
    file.write_text(json.dumps(found))
    return found


def interval(differences):
    """95% by circular block bootstrap over windows, 5 at a time."""
    random, count = np.random.default_rng(1), len(differences)
    starts = random.integers(count, size=(4000, -(-count // 5)))
    rows = ((starts[:, :, None] + np.arange(5)) % count).reshape(4000, -1)[:, :count]
    return np.quantile(differences[rows].mean(axis=1), [0.025, 0.975])


def cell(value, against):
    low, high = interval(value - against)
    text = f"{np.mean(value - against):+.3f} ({low:+.3f}, {high:+.3f})"
    return f"**{text}**" if high < 0 else text


OURS = "levytilt walk, recent volatility"
SHARES = [REFERENCE, "arch AR(1)-GARCH(1,1)-t", "skaters laplace", OURS]


def tickers(data: Path, out: Path):
    """One row per share, and one for all: windows of different shares are at the same times, so they are drawn together."""
    found = {name: {model: score(name, *record, model, out) for model in SHARES} for name, record in series(data).items()}

    def relative(name, model, key):
        unit = np.mean(found[name][REFERENCE]["crps"]) if key == "crps" else 1.0
        return np.array(found[name][model][key]) / unit

    for key in ("crps", "log"):
        print(f"\n| {key} | mean of walk | " + " | ".join(f"{OURS} minus {model}, 95%" for model in SHARES[:-1]) + " |")
        print("|---|---|" + "---|" * len(SHARES[:-1]), flush=True)
        for row in [*found, "all"]:
            names = list(found) if row == "all" else [row]
            mean = {model: np.mean([relative(name, model, key) for name in names], axis=0) for model in SHARES}
            walk = np.mean([np.mean(found[name][REFERENCE][key]) for name in names])
            print(f"| {row} | {walk:.5f} | " + " | ".join(cell(mean[OURS], mean[model]) for model in SHARES[:-1]) + " |", flush=True)
    print("\n| model | CPU s per window | failed |\n|---|---|---|")
    for model in SHARES:
        seconds = np.median(np.concatenate([one[model]["seconds"] for one in found.values()]))
        print(f"| {model} | {seconds:.2f} | {sum(len(one[model]['failed']) for one in found.values())} |")


def main():
    if TICKERS:
        Path(sys.argv[3]).mkdir(parents=True, exist_ok=True)
        return tickers(Path(sys.argv[2]), Path(sys.argv[3]))
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    wanted = sys.argv[3:] or list(MODELS)
    for name, (record, train, season) in series(data).items():
        models = [model for model in dict.fromkeys([REFERENCE, *wanted]) if model != "skaters laplace" or name in SKATERS_ON]
        all_scores = {model: score(name, record, train, season, model, out) for model in models}
        base = {key: np.array(all_scores[REFERENCE][key]) for key in ("crps", "log")}
        unit = base["crps"].mean()
        print(f"\n### {name}\n\n| model | CRPS, 95% | log score, 95% | CPU s |\n|---|---|---|---|", flush=True)
        for model in models[1:]:
            one = {key: np.array(all_scores[model][key]) for key in ("crps", "log", "seconds")}
            columns = [cell(one["crps"] / unit, base["crps"] / unit), cell(one["log"], base["log"]), f"{np.median(one['seconds']):.2f}"]
            print(f"| {model} | {' | '.join(columns)} |", flush=True)
        failed = {model: len(found["failed"]) for model, found in all_scores.items() if found["failed"]}
        if failed:
            print(f"\nWindows failed: {failed}", flush=True)


if __name__ == "__main__":
    main()
