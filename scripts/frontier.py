"""Draw the error of the log evidence against CPU time, for this program and for particle filters, on four problems.

    python scripts/frontier.py [--seeds N] [--largest N]

needs numpy, scipy, matplotlib and the `particles` package, and the release program as LEVYTILT_PROGRAM. All parameters are
given, everything runs on one thread, and CPU time of the whole process or filter is counted. The figure goes to
docs/images/frontier.svg, the table to standard output.

Problems: Ornstein-Uhlenbeck and double well with stable noise (alpha = 1.5, scale 1), every time observed or every tenth;
two coupled linear states of which one is observed. The reference is `levytilt exact`, which halves its spacing until the log
evidence stands still, and in two dimensions the mean of long runs of the plain Rao-Blackwellised filter, whose standard error is
printed.
"""

import argparse
import csv
import json
import os
import resource
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = os.environ.get("LEVYTILT_PROGRAM", str(ROOT / "target/release/levytilt"))
ALPHA, STD = 1.5, 0.2
FAR = 1e-6  # errors below this are drawn here


# Noise: a stable increment is Gaussian given a positive stable variance.


def variances(rng, dt, size):
    """Variances whose Gaussian mixture is the increment of stable noise of scale 1 over dt."""
    half = ALPHA / 2
    u = rng.uniform(0, np.pi, size)
    w = rng.exponential(size=size)
    positive = (
        np.sin(half * u) / np.sin(u) ** (1 / half) * (np.sin((1 - half) * u) / w) ** ((1 - half) / half)
    )
    return 2 * dt ** (1 / half) * positive


# Problems


class Problem:
    """A record with what filters need to know of it; `matrix` is None for the double well."""

    def __init__(self, name, matrix, steps, every, dt, flags):
        self.name, self.steps, self.every, self.dt, self.flags = name, steps, every, dt, flags
        self.matrix = None if matrix is None else np.array(matrix, float)
        self.dim = 1 if matrix is None else len(self.matrix)
        self.seen = np.arange(0, steps + 1, every)
        rng = np.random.default_rng(1)
        state = np.zeros((self.dim, 1))
        self.values = []
        for j in range(steps + 1):
            if j:
                state = self.move(rng, state)
            if j % every == 0:
                self.values.append(state[0, 0] + STD * rng.normal())

    def flow(self, x):
        """The states after a step of the drift alone, exactly."""
        if self.matrix is not None:
            return self.transition @ x
        # dx = x - x^3: x^2 / (x^2 + (1 - x^2) e^{-2t})
        return x / np.sqrt(x**2 + (1 - x**2) * np.exp(-2 * self.dt))

    @property
    def transition(self):
        from scipy.linalg import expm

        if not hasattr(self, "_transition"):
            self._transition = expm(self.matrix * self.dt)
        return self._transition

    def move(self, rng, x):
        moved = self.flow(x)
        noise = np.sqrt(variances(rng, self.dt, moved.shape[1])) * rng.normal(size=moved.shape[1])
        # In several dimensions the noise acts on the last state.
        moved[-1] += noise
        return moved

    def write(self, directory):
        file = Path(directory) / "data.csv"
        with open(file, "w", newline="") as out:
            table = csv.writer(out)
            table.writerow(["time", "x"])
            seen = dict(zip(self.seen, self.values))
            for j in range(self.steps + 1):
                table.writerow([repr(j * self.dt), repr(float(seen[j])) if j in seen else ""])
        return str(file)


# Rivals


def bootstrap(problem, count, seed):
    """The bootstrap filter of the `particles` package."""
    import particles
    from particles import distributions as dists
    from particles import state_space_models as ssm

    rng = np.random.default_rng(seed)

    class Step(dists.ProbDist):
        dtype, dim = "float64", problem.dim

        def __init__(self, previous):
            self.previous = previous

        def rvs(self, size=None):
            x = np.atleast_2d(self.previous.T if problem.dim > 1 else self.previous)
            for _ in range(problem.every):
                x = problem.move(rng, x)
            return x.T if problem.dim > 1 else x[0]

    class Known(dists.ProbDist):
        dtype, dim = "float64", problem.dim

        def rvs(self, size=None):
            return np.zeros((size, problem.dim)) if problem.dim > 1 else np.zeros(size)

    class Model(ssm.StateSpaceModel):
        def PX0(self):
            return Known()

        def PX(self, t, xp):
            return Step(xp)

        def PY(self, t, xp, x):
            return dists.Normal(loc=x[:, 0] if problem.dim > 1 else x, scale=STD)

    np.random.seed(seed)
    filter = particles.SMC(fk=ssm.Bootstrap(ssm=Model(), data=np.array(problem.values)), N=count, ESSrmin=0.5)
    filter.run()
    return float(filter.logLt)


def rao_blackwell(problem, count, seed):
    """A plain Rao-Blackwellised filter: variances from the prior, the states by a Kalman filter per particle."""
    rng, dim = np.random.default_rng(seed), problem.dim
    a = problem.transition
    mean, cov = np.zeros((count, dim)), np.zeros((count, dim, dim))
    log_weights, total = np.zeros(count), 0.0
    for k, y in enumerate(problem.values):
        if k:
            for _ in range(problem.every):
                mean, cov = mean @ a.T, a @ cov @ a.T
                cov[:, -1, -1] += variances(rng, problem.dt, count)
        s = cov[:, 0, 0] + STD**2
        gap = y - mean[:, 0]
        log_weights += -0.5 * (np.log(2 * np.pi * s) + gap**2 / s)
        gain = cov[:, :, 0] / s[:, None]
        mean, cov = mean + gain * gap[:, None], cov - gain[:, :, None] * cov[:, None, 0, :]
        weights = np.exp(log_weights - log_weights.max())
        if weights.sum() ** 2 / (weights**2).sum() < 0.5 * count:
            total += log_weights.max() + np.log(weights.mean())
            points = (rng.uniform() + np.arange(count)) / count
            chosen = np.minimum(np.searchsorted(np.cumsum(weights / weights.sum()), points), count - 1)
            mean, cov, log_weights = mean[chosen], cov[chosen], np.zeros(count)
    return total + log_weights.max() + np.log(np.exp(log_weights - log_weights.max()).mean())


# This program


def run(*arguments):
    """What the program prints as JSON, and its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([PROGRAM, *arguments, "--json"], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def grid(problem, file):
    """The evidence of `fit` with all parameters given on its default grid."""
    found, seconds = run("fit", file, *problem.flags, "--paths=10", "--threads=1")
    return found["log_evidence"], seconds


def twisted(problem, file, count, seed):
    """The evidence of `fit` with all parameters given: sweeps, then a twisted particle filter."""
    if problem.dim == 1:
        found, seconds = run(
            "fit", file, *problem.flags, "--method", "sweep", f"--paths={count}", f"--seed={seed}", "--threads=1"
        )
    else:
        found, seconds = run("fit", file, *problem.flags, f"--paths={count}", f"--seed={seed}", "--threads=1")
    return found["log_evidence"], seconds


def timed(filter, *arguments):
    begin = time.process_time()
    value = filter(*arguments)
    return value, time.process_time() - begin


# The table


def measure(problem, seeds, largest, directory):
    """Rows (method, size, CPU seconds, root-mean-square error of the log evidence)."""
    file = problem.write(directory)
    rows = []

    def add(method, size, runs, truth):
        values, seconds = zip(*runs)
        error = float(np.sqrt(np.mean((np.array(values) - truth) ** 2)))
        rows.append((method, size, float(np.median(seconds)), error))

    if problem.dim == 1:
        truth, uncertain = run("exact", file, *problem.flags)[0]["log_evidence"], 0.0
        add("levytilt, exact grid", "", [grid(problem, file)], truth)
    else:
        long = [rao_blackwell(problem, 10**5, 100 + seed) for seed in range(6)]
        truth, uncertain = float(np.mean(long)), float(np.std(long, ddof=1) / np.sqrt(len(long)))
    for count in [100, 500, 2000]:
        add("levytilt, twisted filter", count, [twisted(problem, file, count, seed) for seed in range(seeds)], truth)
    for count in [c for c in [300, 3000, 30000, 100000] if c <= largest]:
        add("particles, bootstrap", count, [timed(bootstrap, problem, count, seed) for seed in range(seeds)], truth)
        if problem.matrix is not None:
            runs = [timed(rao_blackwell, problem, count, seed) for seed in range(seeds)]
            add("plain Rao-Blackwellised", count, runs, truth)
    return truth, uncertain, rows


def draw(found):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update(
        {"svg.hashsalt": "levytilt", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
    )
    import matplotlib.pyplot as plt
    import matplotlib.ticker

    styles = {
        "levytilt, exact grid": ("#c0392b", "*"),
        "levytilt, twisted filter": ("#c0392b", "o"),
        "particles, bootstrap": ("#8a8a8a", "s"),
        "plain Rao-Blackwellised": ("#1f4e79", "^"),
    }
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.1), sharey=True)
    for ax, (problem, (_, _, rows)) in zip(axes, found):
        for method, (color, marker) in styles.items():
            points = [(seconds, max(error, FAR)) for name, _, seconds, error in rows if name == method]
            if points:
                size = 11 if marker == "*" else 5
                ax.plot(*zip(*points), color=color, marker=marker, markersize=size, linewidth=1, label=method)
        ax.set(xscale="log", yscale="log", title=problem.name, xlabel="CPU seconds", xlim=(0.02, 20))
        ax.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        ax.grid(alpha=0.2)
    axes[0].set_ylabel("error of log evidence, nats")
    handles = {}
    for ax in axes:
        handles.update(dict(zip(*reversed(ax.get_legend_handles_labels()))))
    figure.legend(handles.values(), handles.keys(), loc="upper center", ncol=4, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.92))
    figure.savefig(ROOT / "docs/images/frontier.svg", metadata={"Date": None})


def problems(directory):
    given = [f"--alpha={ALPHA}", "--scale=1", f"--observation-std={STD}", "--x0=0", "--noise=stable"]
    ou = ["--drift=ou", "--theta=1", "--mu=0", *given]
    well = ["--drift=double-well", "--theta1=1", "--theta2=1", *given]
    model = Path(directory) / "velocity.toml"
    model.write_text(
        f"""[states]
x = "v"
v = "-v - x"
[noise.kick]
family = "stable"
on = "v"
alpha = {ALPHA}
scale = 1.0
[observe.x]
of = "x"
std = {STD}
[start]
x = 0.0
v = 0.0
"""
    )
    return [
        Problem("mean-reverting, all seen", [[-1]], 500, 1, 0.05, ou),
        Problem("mean-reverting, every 10th", [[-1]], 1000, 10, 0.05, ou),
        Problem("double well, every 5th", None, 1000, 5, 0.05, well),
        Problem("hidden velocity", [[0, 1], [-1, -1]], 200, 1, 0.2, ["--config", str(model)]),
    ]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seeds", type=int, default=5)
    options.add_argument("--largest", type=int, default=100_000)
    options.add_argument("--only", type=int, help="number of one problem, for a trial; draws nothing")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        found = []
        for number, problem in enumerate(problems(directory)):
            if given.only in (None, number):
                found.append((problem, measure(problem, given.seeds, given.largest, directory)))
    print("| problem | method | particles | CPU s | rms error, nats |\n|---|---|---|---|---|")
    for problem, (truth, uncertain, rows) in found:
        own = f" ± {uncertain:.3f}" if uncertain else ""
        print(f"| {problem.name}: reference {truth:.4f}{own} | | | | |")
        for method, size, seconds, error in rows:
            print(f"| | {method} | {size} | {seconds:.2f} | {error:.2g} |")
    if given.only is None:
        draw(found)


if __name__ == "__main__":
    main()
