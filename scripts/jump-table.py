#!/usr/bin/env python3
"""How the table of jumps meets simulated jumps, learned and at the true parameters: a table of docs/validation/jumps.md.

    scripts/jump-table.py OUT [RECORDS]

Ornstein-Uhlenbeck motion (theta = 3, mu = 1) with stable noise (alpha = 1.5) of scale 2, 1000 steps of 0.01, every step observed. A true
jump is an increment beyond five scales of a step. The posterior at the true parameters is exact, so no method can say more: its
figures are the ceiling. Of the increments that the observation error does not hide, those within twice its standard deviation of five
scales are left out. levytilt is the program on the path, or LEVYTILT_PROGRAM.
"""

import csv
import math
import os
import subprocess
import sys
from pathlib import Path

PROGRAM = os.environ.get("LEVYTILT_PROGRAM", "levytilt")
DT, THETA, MU, ALPHA, STEPS = 0.01, 3.0, 1.0, 1.5, 1000
SCALE = 2.0 * DT ** (1.0 / ALPHA)


def run(*arguments: str) -> None:
    subprocess.run([PROGRAM, *arguments, "--quiet"], check=True, capture_output=True)


def increments(file: Path) -> list:
    """Size in scales of every step of the hidden path beyond the drift."""
    with file.open() as rows:
        path = [float(row[1]) for row in list(csv.reader(rows))[1:]]
    decay = math.exp(-THETA * DT)
    return [(b - MU - (a - MU) * decay) / SCALE for a, b in zip(path, path[1:])]


def listed(file: Path) -> dict:
    """Number of the step of every listed jump -> its probability."""
    with file.open() as rows:
        return {round(float(row["time"]) / DT) - 1: float(row["probability"]) for row in csv.DictReader(rows)}


def share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "–"


def main() -> None:
    out, records = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 8
    out.mkdir(parents=True, exist_ok=True)
    print("| error / scale of a step | parameters | true jumps | precision | recall | clear jumps | precision | recall | mean distance of said and found |")
    print("|---|---|---|---|---|---|---|---|---|")
    for error in (0.2, 0.5, 1.0):
        truth = ["--drift", "ou", "--theta", str(THETA), "--mu", str(MU), "--noise", "stable", "--alpha", str(ALPHA), "--scale", "2",
                 "--observation-std", repr(error * SCALE)]  # fmt: skip
        # The error of a step is that of two values.
        doubt = 2.0 * math.sqrt(2.0) * error
        for name, flags in (("learned", ["--drift", "ou", "--noise", "stable"]), ("true", truth)):
            hits = said = true = clear_hits = clear_true = clear_false = 0
            bins = [[0.0, 0, 0] for _ in range(5)]
            for seed in range(1, records + 1):
                place = out / f"{error}-{seed}"
                if not (place / "data.csv").exists():
                    run("simulate", *truth, "--steps", str(STEPS), "--span", repr(STEPS * DT), "--seed", str(seed), "--out", str(place))
                run("fit", str(place / "data.csv"), *flags, "--jump-above", repr(5.0 * SCALE), "--paths", "1000", "--out", str(place / "run"))
                size, found = increments(place / "truth.csv"), listed(place / "run" / "jumps.csv")
                for j, x in enumerate(size):
                    p = found.get(j, 0.0)
                    jump, listed_here, far = abs(x) > 5.0, p >= 0.5, abs(x) > 5.0 + doubt
                    true, said, hits = true + jump, said + listed_here, hits + (jump and listed_here)
                    clear_true, clear_hits = clear_true + far, clear_hits + (far and listed_here)
                    clear_false += listed_here and abs(x) < 5.0 - doubt
                    if p >= 0.1:
                        one = bins[min(4, int((p - 0.1) / 0.2))] if p < 0.9 else bins[4]
                        one[0], one[1], one[2] = one[0] + p, one[1] + 1, one[2] + jump
            # Weighted by how many jumps each class of probability holds.
            distance = sum(abs(p - right) for p, _, right in bins) / max(1, sum(count for _, count, _ in bins))
            print(f"| {error} | {name} | {true} | {share(hits, said)} | {share(hits, true)} | {clear_true} "
                  f"| {share(clear_hits, clear_hits + clear_false)} | {share(clear_hits, clear_true)} | {100 * distance:.1f} points |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
