"""Draw the pictures of the guide that show what a choice looks like in data, into docs/images/guide.

python scripts/guide-pictures.py     needs matplotlib, and the program on the path or as LEVYTILT_PROGRAM; takes seconds
"""

import os
import subprocess
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "levytilt", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})
import matplotlib.pyplot as plt  # noqa: E402

OUT = Path(__file__).resolve().parents[1] / "docs/images/guide"
INK, RED, GREY = "#1f4e79", "#c0392b", "#8a8a8a"


def save(figure, name):
    figure.tight_layout()
    figure.savefig(OUT / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def path(seed, **keywords):
    given = {"drift": "none", "observation_std": 1e-3, "x0": 0.0, "steps": 500, "span": 10.0, "seed": seed}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in {**given, **keywords}.items()]
    with tempfile.TemporaryDirectory() as directory:
        program = os.environ.get("LEVYTILT_PROGRAM", "levytilt")
        subprocess.run([program, "simulate", *flags, "--out", directory, "--quiet"], check=True)
        return np.loadtxt(Path(directory) / "data.csv", delimiter=",", skiprows=1, unpack=True)


def panels(rows, name, columns=2, height=1.6):
    """One path per row of (title, seed, keywords)."""
    lines = -(-len(rows) // columns)
    figure, axes = plt.subplots(lines, columns, figsize=(8, height * lines), squeeze=False)
    for axis, (title, seed, keywords) in zip(axes.flat, rows):
        times, values = path(seed, **keywords)
        axis.plot(times, values, color=INK, lw=0.8)
        axis.set_title(title, loc="left", fontsize=9)
    for axis in axes.flat[len(rows):]:
        axis.axis("off")
    save(figure, name)


def noises():
    rows = [
        ("gaussian: every move of the same order", 1, {"noise": "gaussian", "scale": 1.0}),
        ("stable, alpha 1.5: single moves outweigh all the rest", 3, {"noise": "stable", "alpha": 1.5, "scale": 0.6}),
        ("nig: jumps of all sizes, none beyond measure", 1, {"noise": "nig", "scale": 0.6, "tempering": 1.0}),
        ("student, 3 degrees of freedom", 2, {"noise": "student", "dof": 3.0, "scale": 0.6}),
        ("variance-gamma: quiet spells and bursts", 2, {"noise": "variance-gamma", "scale": 1.0, "nu": 0.3}),
        ("compound-poisson: still, but for rare jumps", 1, {"noise": "compound-poisson", "rate": 1.0, "jump_std": 1.0}),
        ("skewed-nig: jumps up, slides down", 4, {"noise": "skewed-nig", "scale": 0.6, "tempering": 1.0, "skew": 0.9}),
        ("compound-poisson with brownian 0.3", 1, {"noise": "compound-poisson", "rate": 1.0, "jump_std": 1.0, "brownian": 0.3}),
    ]
    panels(rows, "noise")


def drifts():
    stable = {"noise": "stable", "alpha": 1.7, "scale": 0.4}
    rows = [
        ("none: wanders, never called back", 5, {**stable}),
        ("ou: called back to a level after each shock", 5, {"drift": "ou", "theta": 2.0, "mu": 0.0, **stable}),
        ("double-well: two states and sudden passages", 4, {"drift": "double-well", "theta1": 1.5, "theta2": 1.5, "noise": "stable", "alpha": 1.7, "scale": 0.5, "x0": 1.0, "span": 60.0}),
        ("linear with slope 0.3: grows away from zero", 2, {"drift": "linear", "slope": 0.3, "offset": 0.0, "noise": "stable", "alpha": 1.7, "scale": 0.3, "x0": 1.0}),
        ("a season: 5*sin(pi*t) - 2*x", 5, {"drift": "5*sin(pi*t) - 2*x", **stable}),
        ("a formula: -k*x^3, free in the middle, stiff outside", 5, {"drift": "-k*x^3", "set": "k=2", **stable}),
    ]
    panels(rows, "drift")


def errors():
    rng = np.random.default_rng(5)
    times, state = path(6, drift="ou", theta=1.0, mu=0.0, noise="nig", scale=0.5, tempering=1.0, steps=200)
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.2), sharey=True)
    gaussian = state + 0.15 * rng.normal(size=state.size)
    wrong = gaussian.copy()
    at = rng.choice(state.size, 7, replace=False)
    wrong[at] += rng.choice([-1, 1], 7) * rng.uniform(1.5, 3, 7)
    student = state + 0.12 * rng.standard_t(2.0, size=state.size)
    for axis, values, title in zip(axes, (gaussian, wrong, student), ("gaussian: one size", "outliers: few, gross", "student: all sizes")):
        axis.plot(times, state, color=INK, lw=0.9)
        axis.plot(times, values, ".", color=GREY, ms=2.5)
        if values is wrong:
            axis.plot(times[at], values[at], "o", mfc="none", color=RED, ms=6)
        axis.set_title(title, loc="left", fontsize=9)
        axis.set_ylim(state.min() - 3.2, state.max() + 3.2)
    save(figure, "errors")


def jump_or_outlier():
    rng = np.random.default_rng(2)
    figure, axes = plt.subplots(1, 3, figsize=(8, 2.0), sharey=True)
    times = np.arange(60.0)
    base = np.cumsum(0.05 * rng.normal(size=60)) + 0.08 * rng.normal(size=60)
    jump, outlier, decay = base.copy(), base.copy(), base.copy()
    jump[30:] += 2.0
    outlier[30] += 2.0
    decay[30:] += 2.0 * np.exp(-(times[30:] - 30) / 6)
    titles = ("the level stays: a jump", "back at once: an outlier", "back slowly: a jump and a drift")
    for axis, values, title in zip(axes, (jump, outlier, decay), titles):
        axis.plot(times, values, ".-", color=INK, lw=0.5, ms=3)
        axis.set_title(title, loc="left", fontsize=9)
    save(figure, "jump-or-outlier")


def clock():
    rng = np.random.default_rng(12)
    days, hours = 6, 7
    moves = rng.normal(size=days * hours)
    moves[::hours] *= 4.0
    figure, axis = plt.subplots(figsize=(8, 2.0))
    axis.vlines(np.arange(moves.size), 0, moves, color=[RED if k % hours == 0 else INK for k in range(moves.size)], lw=2)
    axis.set_xticks(np.arange(days) * hours, [f"day {k + 1}, open" for k in range(days)])
    axis.set_title("hourly moves: the first of each day holds the whole night", loc="left", fontsize=9)
    save(figure, "clock")


def pits():
    rng = np.random.default_rng(3)
    figure, axes = plt.subplots(1, 4, figsize=(8, 1.9), sharey=True)
    cases = [("calibrated", 1.0, 0.0), ("too narrow", 1.6, 0.0), ("too wide", 0.6, 0.0), ("too low", 1.0, 0.7)]
    from math import erf

    for axis, (title, spread, shift) in zip(axes, cases):
        pit = [0.5 * (1 + erf((spread * z + shift) / 2**0.5)) for z in rng.normal(size=2000)]
        axis.hist(pit, bins=10, range=(0, 1), color=INK, alpha=0.8)
        axis.axhline(200, color=RED, lw=1)
        axis.set_title(title, loc="left", fontsize=9)
        axis.set_xticks([0, 0.5, 1])
    save(figure, "pit")


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    for draw in (noises, drifts, errors, jump_or_outlier, clock, pits):
        draw()


main()
