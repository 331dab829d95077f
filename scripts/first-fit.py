"""What a user does first with an installed package: import it, fit a simulated record, forecast, run the program.

python scripts/first-fit.py      needs nothing but the package; prints what it found, fails if anything is missing
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

start = time.perf_counter()
import levytilt as lt  # noqa: E402  (timed)

imported = time.perf_counter() - start
made = lt.simulate(theta=3.0, mu=1.0, alpha=1.5, scale=2.0, observation_std=0.1, steps=300, span=3.0, seed=4)
start = time.perf_counter()
fit = lt.Model(drift="ou", noise="stable").fit(made.times, made.values, seed=1, paths=100)
fitted = time.perf_counter() - start
alpha = fit.parameters["alpha"]
assert 1.2 < alpha < 1.8, f"alpha = {alpha}, simulated with 1.5"
quantiles = fit.forecast(horizon=0.5).quantile([0.05, 0.5, 0.95])
with tempfile.TemporaryDirectory() as directory:
    fit.save(Path(directory) / "run")
    assert (Path(directory) / "run" / "report.html").stat().st_size > 10_000
version = subprocess.run([sys.executable, "-m", "levytilt", "--version"], check=True, capture_output=True, text=True)
assert version.stdout.split()[-1] == lt.__version__, version.stdout
print(f"levytilt {lt.__version__} on Python {sys.version.split()[0]}: import {imported:.2f} s, fit {fitted:.2f} s")
