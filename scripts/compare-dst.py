#!/usr/bin/env python3
"""One-step log scores of Dst driven by the solar wind, and the table of docs/validation/dst.md.

    scripts/compare-dst.py omni_hourly.csv OUT

Needs numpy, pandas and arch; levytilt is the program on the path, or LEVYTILT_PROGRAM. Fits that are in OUT are not repeated.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import gammaln

PROGRAM = os.environ.get("LEVYTILT_PROGRAM", "levytilt")
FIRST, TEST, END = "2001-01-01", "2002-01-01", "2003-01-01"
BLOCK = 5 * 24

DRIVEN = "theta*(mu-x) + k*vbs"
TWICE = DRIVEN + " + k2*vbs_before"
MOVING = TWICE + " + m*move"
# Under strong wind Dst recovers faster, and is driven more than in proportion.
NONLINEAR = MOVING.replace("theta*", "(theta + g*vbs)*") + " + q*vbs^2"
# The size must stay positive.
SIZE = "[parameters]\na = { guess = 0.3, low = 0.0 }\nb = { guess = 0.3, low = 0.0 }\nc = { guess = 0.05, low = 0.0 }\n"
FORMULA = "sqrt(1 + a*vbs^2 + b*unrest^2 + c*unrest_slow^2)"
SIZED = ["--size", FORMULA, "--config", "size.toml", "--noise", "student"]
CONFIGS = {"size.toml": SIZE, "size-before.toml": SIZE + "d = { guess = 0.2, low = 0.0 }\n"}
SIZED_BEFORE = ["--size", FORMULA.replace("b*", "d*vbs_before^2 + b*"), "--config", "size-before.toml", "--noise", "student"]
FITS = {
    "levytilt, no input": ["--drift", "ou"],
    "levytilt, input": ["--drift", DRIVEN, "--inputs", "vbs"],
    "levytilt, input, size of the noise": ["--drift", DRIVEN, "--inputs", "vbs,unrest,unrest_slow", *SIZED],
    "levytilt, input of two hours, size": ["--drift", TWICE, "--inputs", "vbs,vbs_before,unrest,unrest_slow", *SIZED],
    "levytilt, input of two hours, last move, size":
        ["--drift", MOVING, "--inputs", "vbs,vbs_before,move,unrest,unrest_slow", *SIZED],
    "levytilt, the same, nonlinear drift":
        ["--drift", NONLINEAR, "--inputs", "vbs,vbs_before,move,unrest,unrest_slow", *SIZED_BEFORE],
}  # fmt: skip
NONLINEAR_RIVAL = "AR(2)-GARCH(1,1)-t, input of two hours, nonlinear terms"
# The rival that knows the same, for each: a model with the last move of Dst knows two values of it.
RIVALS = {name: "AR(1)-GARCH(1,1)-t, input" for name in FITS} | {
    "levytilt, input of two hours, size": "AR(1)-GARCH(1,1)-t, input of two hours",
    "levytilt, input of two hours, last move, size": "AR(2)-GARCH(1,1)-t, input of two hours",
    "levytilt, the same, nonlinear drift": "AR(2)-GARCH(1,1)-t, input of two hours",
}


def table(file: str) -> pd.DataFrame:
    """Dst, the electric field of southward wind in mV/m, and running means of the sizes of past moves of Dst in nT."""
    raw = pd.read_csv(file, parse_dates=["timestamp"]).set_index("timestamp")
    wind = raw[["Bz_gsm_nT", "speed_km_s"]].interpolate()
    vbs = 1e-3 * wind.speed_km_s * np.maximum(-wind.Bz_gsm_nT, 0.0)
    moves = raw.Dst_nT.diff().abs()
    made = {"dst": raw.Dst_nT, "vbs": vbs, "vbs_before": vbs.shift(1), "move": raw.Dst_nT.diff()}
    made |= {name: moves.ewm(alpha=share, adjust=False).mean() for name, share in (("unrest", 0.3), ("unrest_slow", 0.03))}
    made = pd.DataFrame(made).round(4)
    # The nonlinear terms of that drift, for rivals.
    made["vbs_squared"], made["vbs_dst"] = made.vbs**2, made.vbs * made.dst
    return made[(made.index >= FIRST) & (made.index < END)]


def levytilt(data: pd.DataFrame, name: str, flags: list, out: Path) -> tuple:
    """Log densities of the test part from `update`, and the CPU seconds of the fit."""
    run, scores = out / name.replace(" ", "-").replace(",", ""), out / f"{name}.json"
    if not scores.exists():
        shutil.rmtree(run, ignore_errors=True)
        columns = ["dst", *(flags[flags.index("--inputs") + 1].split(",") if "--inputs" in flags else [])]
        data[columns][data.index < TEST].to_csv(out / "train.csv", date_format="%Y-%m-%dT%H:%M:%SZ")
        data[columns][data.index >= TEST].to_csv(out / "test.csv", date_format="%Y-%m-%dT%H:%M:%SZ")
        for file, text in CONFIGS.items():
            (out / file).write_text(text)
        flags = [*flags, *([] if "--noise" in flags else ["--noise", "nig"])]
        flags = [str(out / flag) if flag in CONFIGS else flag for flag in flags]
        began = sum(os.times()[2:4])
        subprocess.run([PROGRAM, "fit", str(out / "train.csv"), "--column", "dst", "--observation-std", "0.5",
                        *flags, "--paths", "100", "--quiet", "--out", str(run)], check=True)  # fmt: skip
        seconds = sum(os.times()[2:4]) - began
        said = subprocess.run([PROGRAM, "update", str(run), str(out / "test.csv"), "--json"], check=True, capture_output=True)
        rows = [json.loads(line) for line in said.stdout.decode().splitlines()]
        scores.write_text(json.dumps([seconds, [row["log_evidence"] for row in rows]]))
    seconds, found = json.loads(scores.read_text())
    return np.array(found), seconds


def garch(data: pd.DataFrame, names: list, lags: int = 1) -> tuple:
    """Log densities of the test part under AR-GARCH(1,1)-t, with inputs of the hour before, learned on the training part."""
    from arch.univariate import ARX, GARCH, StudentsT

    values, before = data.dst.to_numpy(float), data[names].shift(1).bfill().reset_index(drop=True)
    inputs = before if names else None
    model = ARX(pd.Series(values), x=inputs, lags=lags, volatility=GARCH(1, 0, 1), distribution=StudentsT(), rescale=False)
    count, began = int((data.index < TEST).sum()), time.process_time()
    # The optimiser sometimes stops early and reports success: the best of several starts.
    starts = [None, *([0.0, 0.95, *[0.0] * (lags - 1 + len(names)), variance, 0.3, 0.6, 5.0] for variance in (1.0, 3.0))]
    fits = [model.fit(last_obs=count, disp="off", options={"maxiter": 1000}, starting_values=start) for start in starts]
    found = max(fits, key=lambda fit: fit.loglikelihood)
    seconds, parameters = time.process_time() - began, found.params
    sd = model.fix(parameters).conditional_volatility.to_numpy()[lags:]
    past = np.column_stack([values[lags - 1 - k : len(values) - 1 - k] for k in range(lags)])
    mean = parameters.iloc[0] + past @ parameters.iloc[1 : 1 + lags].to_numpy()
    mean += before.to_numpy()[lags:] @ parameters[names].to_numpy()
    nu, z = parameters["nu"], (values[lags:] - mean) / sd
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(np.pi * (nu - 2))
    density = constant - (nu + 1) / 2 * np.log1p(z * z / (nu - 2)) - np.log(sd)
    return density[count - lags :], seconds


def interval(differences: np.ndarray) -> np.ndarray:
    """95% interval of the mean by circular block bootstrap, blocks of five days."""
    random, count = np.random.default_rng(1), len(differences)
    sums = np.cumsum(np.concatenate([[0.0], differences, differences[:BLOCK]]))
    blocks = sums[BLOCK : BLOCK + count] - sums[:count]
    draws = blocks[random.integers(count, size=(10_000, -(-count // BLOCK)))].mean(axis=1) / BLOCK
    return np.quantile(draws, [0.025, 0.975])


def main() -> None:
    out = Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    data = table(sys.argv[1])
    found = {
        "AR(1)-GARCH(1,1)-t, no input": garch(data, []),
        "AR(1)-GARCH(1,1)-t, input": garch(data, ["vbs"]),
        "AR(1)-GARCH(1,1)-t, input of two hours": garch(data, ["vbs", "vbs_before"]),
        "AR(2)-GARCH(1,1)-t, input of two hours": garch(data, ["vbs", "vbs_before"], lags=2),
        NONLINEAR_RIVAL: garch(data, ["vbs", "vbs_before", "vbs_squared", "vbs_dst"], lags=2),
        **{name: levytilt(data, name, flags, out) for name, flags in FITS.items()},
    }
    print(f"{(data.index < TEST).sum()} hours to learn from, {(data.index >= TEST).sum()} hours to score\n")
    print("| model | log score, nats per hour | minus GARCH with the same input, 95% | minus the same without input, 95% | fit, CPU s |")
    print("|---|---|---|---|---|")

    def against(name: str, other: str) -> str:
        if name == other:
            return "–"
        differences = found[other][0] - found[name][0]
        low, high = interval(differences)
        return f"{differences.mean():+.4f} ({low:+.4f}, {high:+.4f})"

    for name, (density, seconds) in found.items():
        plain = "AR(1)-GARCH(1,1)-t, no input" if name.startswith("AR") else "levytilt, no input"
        columns = [name, f"{-density.mean():.4f}", against(name, RIVALS.get(name, name)), against(name, plain), f"{seconds:.1f}"]
        print("| " + " | ".join(columns) + " |")
    print(f"\nthe nonlinear model against the nonlinear rival: {against('levytilt, the same, nonlinear drift', NONLINEAR_RIVAL)}")


if __name__ == "__main__":
    main()
