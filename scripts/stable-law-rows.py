#!/usr/bin/env python3
"""Show which rows of the published distribution of skewed stable laws at alpha = 1 are wrong, with mpmath alone.

    scripts/stable-law-rows.py DIRECTORY      of SciPy's test data

For S1, alpha = 1, beta > -1 and x > 0 the Fourier integral along the negative imaginary axis is
P(X > x) = (1/pi) int_0^oo exp(-x y - (2 beta/pi) y ln y) sin((1 + beta) y)/y dy; the other tail is that of -beta.
"""

import csv
import sys

from mpmath import exp, inf, log, mp, mpf, nstr, pi, quad, sin

mp.dps = 40


def upper(x, beta):
    """P(X > x), to about 30 digits."""
    edges = [0] + [mpf(10) ** k / x for k in range(-6, 3)] + ([inf] if beta > 0 else [])
    return quad(lambda y: exp(-y * x - 2 * beta / pi * y * log(y)) * sin((1 + beta) * y) / y, edges) / pi


with open(f"{sys.argv[1]}/stable-Z1-cdf-sample-data.csv") as table:
    for row in csv.DictReader(table):
        alpha, beta, x, p = (mpf(row[name]) for name in ("alpha", "beta", "x", "p"))
        if alpha == 1 and beta != 0 and abs(x) > 2:
            tail, printed = (upper(x, beta), 1 - p) if x > 0 else (upper(-x, -beta), p)
            if abs(tail / printed - 1) > 1e-8:
                print(f"beta {row['beta']}, x {row['x']}: table {nstr(printed, 6)}, integral {nstr(tail, 15)}")
