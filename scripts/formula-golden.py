#!/usr/bin/env python3
"""Compute flows of drift formulas and all their derivatives with SciPy, as golden values for the tests.

    python3 -m venv venv && venv/bin/pip install numpy scipy sympy
    venv/bin/python scripts/formula-golden.py > crates/levytilt/src/drift/formula/golden.csv

Right-hand sides and Jacobians come from SymPy; states and variational equations are integrated together by
scipy.integrate.solve_ivp at rtol = 1e-12 (the least it allows is 2.2e-14), stiff ones by Radau, others by DOP853.
A row: name; states; formulas; parameters; values; t; dt; x; flow; d flow / d x; d flow / d parameter (both row by row).
"""
import sys

import numpy as np
import sympy
from scipy.integrate import solve_ivp

# name, states, formulas, parameters (in order of appearance), t, dt, first states, stiff
CASES = [
    ("logistic", "x", ["r*x*(1 - x/k)"], {"r": 1.3, "k": 2.5}, 0.0, 0.7, [[0.1], [2.0], [30.0]], False),
    ("double well", "x", ["theta1*x - theta2*x^3"], {"theta1": 4.0, "theta2": 1.0}, 0.0, 0.3, [[0.2], [-3.0], [1e3]], False),
    ("cubic from afar", "x", ["-k*x^3"], {"k": 1.0}, 0.0, 0.1, [[1e4], [-1e4]], False),
    ("quintic well", "x", ["a - b*x^5"], {"a": 1.0, "b": 0.2}, 0.0, 0.5, [[0.3], [-100.0]], False),
    ("stiff well", "x", ["k*(mu - x^3)"], {"k": 1e4, "mu": 2.0}, 0.0, 0.5, [[0.5], [50.0]], True),
    ("sine", "x", ["a*sin(b*x) - c*x"], {"a": 2.0, "b": 3.0, "c": 0.4}, 0.0, 1.0, [[0.1], [-4.0]], False),
    ("season", "x", ["theta*(mu + a*sin(2*pi*t) - x)"], {"theta": 3.0, "mu": 1.0, "a": 0.5}, 0.3, 0.45, [[2.0]], False),
    ("season bent", "x", ["-k*tanh(x) + a*cos(2*pi*t)"], {"k": 2.0, "a": 1.5}, 1.2, 0.8, [[0.3], [20.0]], False),
    ("gompertz", "x", ["-r*x*log(x/k)"], {"r": 0.8, "k": 3.0}, 0.0, 1.0, [[0.01], [40.0]], False),
    ("square root", "x", ["a - b*sqrt(x)"], {"a": 1.0, "b": 0.3}, 0.0, 2.0, [[0.5], [100.0]], False),
    ("exponential", "x", ["a*exp(-b*x) - c"], {"a": 2.0, "b": 0.7, "c": 0.1}, 0.0, 1.5, [[-2.0], [5.0]], False),
    ("power law", "x", ["a - b*x^p"], {"a": 1.0, "b": 0.5, "p": 1.7}, 0.0, 0.6, [[0.2], [9.0]], False),
    ("oscillator", "x v", ["v", "-k*x - c*v"], {"k": 4.0, "c": 0.3}, 0.0, 1.0, [[1.0, -0.5]], False),
    ("pendulum", "x v", ["v", "-g*sin(x) - c*v"], {"g": 9.81, "c": 0.2}, 0.0, 0.9, [[2.5, 0.0], [0.0, 7.0]], False),
    ("van der Pol", "x v", ["v", "mu*(1 - x^2)*v - x"], {"mu": 2.0}, 0.0, 1.5, [[2.0, 0.0]], False),
    ("stiff van der Pol", "x v", ["v", "mu*((1 - x^2)*v - x)"], {"mu": 1e6}, 0.0, 0.1, [[2.0, 0.0], [2.0, -0.6]], True),
    ("predator", "x y", ["a*x - b*x*y", "c*x*y - d*y"], {"a": 1.1, "b": 0.4, "c": 0.1, "d": 0.4}, 0.0, 2.0, [[10.0, 5.0]], False),
    ("FitzHugh", "v w", ["v - v^3/3 - w + drive", "(v + a - b*w)/tau"], {"drive": 0.5, "a": 0.7, "b": 0.8, "tau": 12.5}, 0.0, 3.0, [[-1.0, 1.0], [40.0, 0.0]], False),
    ("Lorenz", "x y z", ["s*(y - x)", "x*(r - z) - y", "x*y - b*z"], {"s": 10.0, "r": 28.0, "b": 8 / 3}, 0.0, 0.5, [[1.0, 1.0, 20.0]], False),
    ("two wells coupled", "x y u v", ["u", "v", "x - x^3 - c*u + e*(y - x)", "y - y^3 - c*v + e*(x - y)"], {"c": 0.5, "e": 0.2}, 0.0, 1.2, [[1.5, -0.5, 0.2, 0.0]], False),
    ("chain", "p q r s", ["-a*p", "a*p - b*q", "b*q - c*r*r", "c*r*r - s/(1 + s^2)"], {"a": 1.0, "b": 2.0, "c": 0.5}, 0.0, 1.5, [[3.0, 0.1, 0.4, 0.2]], False),
]


def solve(case, start):
    name, states, formulas, values, t0, dt, _, stiff = case
    names = states.split()
    symbols = {n: sympy.Symbol(n) for n in [*names, *values, "t"]}
    f = sympy.Matrix([sympy.sympify(text.replace("^", "**"), locals=symbols) for text in formulas])
    x, theta = [symbols[n] for n in names], [symbols[n] for n in values]
    d, p = len(x), len(theta)
    everything = [symbols["t"], *x, *theta]
    rate = sympy.lambdify(everything, list(f), "numpy")
    by_x = sympy.lambdify(everything, f.jacobian(x), "numpy")
    by_theta = sympy.lambdify(everything, f.jacobian(theta), "numpy")

    def right(t, y):
        arguments = [t, *y[:d], *values.values()]
        columns = y[d:].reshape(d, d + p)
        slopes = np.asarray(by_x(*arguments), float) @ columns
        slopes[:, d:] += np.asarray(by_theta(*arguments), float)
        return np.concatenate([np.asarray(rate(*arguments), float), slopes.ravel()])

    begin = np.concatenate([start, np.hstack([np.eye(d), np.zeros((d, p))]).ravel()])
    # Absolute tolerance far below what is compared, so that the relative one decides.
    options = dict(rtol=1e-12, atol=1e-14 if stiff else 1e-18)
    if stiff:
        found = solve_ivp(right, (t0, t0 + dt), begin, method="Radau", **options)
    else:
        found = solve_ivp(right, (t0, t0 + dt), begin, method="DOP853", **options)
    assert found.success, (name, found.message)
    y = found.y[:, -1]
    columns = y[d:].reshape(d, d + p)
    row = lambda numbers: " ".join(repr(float(n)) for n in np.ravel(numbers))
    fields = [name, states, " , ".join(formulas), " ".join(values), row(list(values.values())), repr(t0), repr(dt), row(start), row(y[:d]), row(columns[:, :d]), row(columns[:, d:])]
    print(";".join(fields), flush=True)


print("name;states;formulas;parameters;values;t;dt;x;flow;by_state;by_parameter")
for case in CASES:
    for start in case[6]:
        print(case[0], file=sys.stderr, flush=True)
        solve(case, start)
