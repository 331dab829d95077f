#!/usr/bin/env python3
"""Recovery of the parameter of a noise size: a row of docs/validation/inputs.md.

    scripts/recover-size.py OUT [RECORDS] [ROWS]

Ornstein-Uhlenbeck motion (theta = 1, mu = 0) with stable noise (alpha = 1.7, scale 0.3) of the size 1 + s*x^2 with s = 1, rows 0.1
apart, seen with standard deviation 0.05, which is given; everything else is learned. levytilt is the program on the path, or
LEVYTILT_PROGRAM.
"""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

PROGRAM = os.environ.get("LEVYTILT_PROGRAM", "levytilt")
SIZE = ["--size", "1 + s*x^2"]
TRUTH = ["--theta", "1", "--mu", "0", "--alpha", "1.7", "--scale", "0.3", "--observation-std", "0.05", "--set", "s=1", "--x0", "0"]


def run(*arguments: str) -> str:
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def main() -> None:
    out = Path(sys.argv[1])
    records, rows = (int(text) for text in (sys.argv[2:] + ["20", "500"][len(sys.argv) - 2 :]))
    out.mkdir(parents=True, exist_ok=True)
    found = []
    for seed in range(records):
        steps = str(rows - 1)
        run("simulate", *TRUTH, *SIZE, "--steps", steps, "--span", repr(0.1 * (rows - 1)), "--seed", str(seed), "--quiet", "--out",
            str(out / "sim"))  # fmt: skip
        fit = json.loads(run("fit", str(out / "sim" / "data.csv"), "--observation-std", "0.05", *SIZE, "--steps", steps, "--paths", "20",
                             "--json"))  # fmt: skip
        s = fit["parameters"]["s"]
        found.append((s["estimate"], s["std_error"]))
        print(f"{seed}: s = {s['estimate']:.4f} ± {s['std_error']:.4f}", flush=True)
    estimates = [estimate for estimate, _ in found]
    mean, sd = statistics.mean(estimates), statistics.stdev(estimates)
    covered = sum(abs(estimate - 1.0) < 1.645 * error for estimate, error in found)
    print(f"s: truth 1, mean {mean:.4f} (bias {(mean - 1.0) / (sd / records**0.5):+.2f} of its standard error), sd {sd:.4f}, "
          f"mean standard error {statistics.mean(error for _, error in found):.4f}, 90% intervals cover {covered} of {records}")  # fmt: skip


if __name__ == "__main__":
    main()
