#!/usr/bin/env python3
"""How `levytilt update` finds jumps of ten scales, at their own row and two rows later: a table of docs/validation/jumps.md.

    scripts/live.py OUT [ROWS]

Ornstein-Uhlenbeck motion (theta = 3, mu = 1) with stable noise, steps of 0.01, filtered at the true parameters. Every 25th row
gets a jump of ten scales of a step, up or down, which decays with the drift. levytilt is the program on the path, or
LEVYTILT_PROGRAM.
"""

import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

PROGRAM = os.environ.get("LEVYTILT_PROGRAM", "levytilt")
DT, THETA, FIRST, EVERY = 0.01, 3.0, 300, 25


def run(*arguments: str) -> str:
    return subprocess.run([PROGRAM, *arguments], check=True, capture_output=True, text=True).stdout


def record(out: Path, model: list, rows: int, jump: float) -> set:
    """Write first.csv and next.csv with added jumps; the rows of next.csv that have one."""
    run("simulate", *model, "--steps", str(FIRST + rows - 1), "--span", repr(DT * (FIRST + rows - 1)), "--seed", "5", "--quiet",
        "--out", str(out / "sim"))  # fmt: skip
    lines = (out / "sim" / "data.csv").read_text().split()
    draw, added, where, made = random.Random(1), 0.0, set(), []
    for k, line in enumerate(lines[1:]):
        moment, value = line.split(",")
        added *= math.exp(-THETA * DT)
        if k >= FIRST and (k - FIRST) % EVERY == EVERY // 2:
            added += draw.choice([-jump, jump])
            where.add(k - FIRST)
        made.append(f"{moment},{float(value) + added!r}")
    (out / "first.csv").write_text("\n".join([lines[0], *made[:FIRST]]) + "\n")
    (out / "next.csv").write_text("\n".join([lines[0], *made[FIRST:]]) + "\n")
    return where


def main() -> None:
    out, rows = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    out.mkdir(parents=True, exist_ok=True)
    print("| α | error / scale of a step | jump from | jumps | p < 0.01 | found at the row | found two rows later | others called jumps | CPU ms per row |")
    print("|---|---|---|---|---|---|---|---|---|")
    for alpha in (1.8, 1.5):
        scale = 2.0 * DT ** (1.0 / alpha)
        for error in (0.3, 1.0):
            model = ["--drift", "ou", "--theta", str(THETA), "--mu", "1", "--noise", "stable", "--alpha", str(alpha), "--scale", "2",
                     "--observation-std", repr(error * scale)]  # fmt: skip
            where = record(out, model, rows, 10.0 * scale)
            for name, more in (("5 scales", ["--jump-above", repr(5.0 * scale)]), ("the model's own", [])):
                run("fit", str(out / "first.csv"), *model, "--paths", "20", "--quiet", "--out", str(out / "run"))
                began = sum(os.times()[2:4])
                said = run("update", str(out / "run"), str(out / "next.csv"), "--json", "--lag", "2", *more).splitlines()
                each = 1e3 * (sum(os.times()[2:4]) - began) / rows
                said = [json.loads(line) for line in said]
                at = [row["jump_probability"] > 0.5 for row in said]
                later = [row["revised"]["jump_probability"] > 0.5 for row in said[2:]]
                small = [row["p_value"] < 0.01 for row in said]
                share = lambda flags: sum(flags[k] for k in where if k < len(flags)) / sum(k < len(flags) for k in where)
                others = sum(at[k] for k in range(rows) if k not in where) / (rows - len(where))
                print(f"| {alpha} | {error} | {name} | {len(where)} | {share(small):.1%} | {share(at):.1%} | {share(later):.1%} "
                      f"| {others:.2%} | {each:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
