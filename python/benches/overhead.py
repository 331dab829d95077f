"""What the Python call costs over the program's own fit, and how soon Ctrl-C is heard.

    python python/benches/overhead.py target/release/levytilt [ROUNDS]

Both fit the same 1001 observations with the same seed on one thread; rounds are interleaved, and user CPU time is compared,
because a machine may be busy. The package should be installed from `scripts/wheel`, which builds like the program.
"""

import json
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import levytilt as lt

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
GIVEN = {"theta": 3.0, "mu": 1.0, "alpha": 1.5, "scale": 2.0, "observation_std": 0.1}

def user_seconds(who, work):
    before = resource.getrusage(who).ru_utime
    work()
    return resource.getrusage(who).ru_utime - before


def interrupted():
    """Seconds from the signal to the exception in a fit that would take minutes."""
    from test_fit import LONG

    child = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    time.sleep(2.0)
    sent = time.time()
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted\n"
    return time.time() - sent


def main():
    program, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 15
    made = lt.simulate(steps=1000, span=10.0, seed=1, **GIVEN)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.csv"
        data.write_text("time,value\n" + "".join(f"{float(t)!r},{float(y)!r}\n" for t, y in zip(made.times, made.values)))
        command = [program, "fit", str(data), "--threads=1", "--json"]
        ours, theirs = [], []
        for _ in range(rounds):
            said = []
            theirs.append(
                user_seconds(
                    resource.RUSAGE_CHILDREN, lambda: said.append(subprocess.run(command, capture_output=True, check=True))
                )
            )
            found = []
            ours.append(
                user_seconds(
                    resource.RUSAGE_SELF,
                    lambda: found.append(lt.Model().fit(made.times, made.values, threads=1, progress=False)),
                )
            )
            assert {**found[0].summary, "seconds": 0} == {**json.loads(said[0].stdout), "seconds": 0}, "not the same fit"
    ratios = [a / b for a, b in zip(ours, theirs)]
    print(f"user CPU seconds of a fit, {rounds} interleaved rounds, one thread")
    print(f"  program  median {statistics.median(theirs):.3f}, lowest {min(theirs):.3f}")
    print(f"  package  median {statistics.median(ours):.3f}, lowest {min(ours):.3f}")
    print(f"  overhead {100 * (statistics.median(ratios) - 1):+.1f}% (median of ratios), {100 * (min(ours) / min(theirs) - 1):+.1f}% (lowest)")
    waits = [interrupted() for _ in range(3)]
    print(f"Ctrl-C heard after {', '.join(f'{wait:.2f}' for wait in waits)} s")


if __name__ == "__main__":
    main()
