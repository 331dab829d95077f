"""Run the program `levytilt` from the package, with backtests on a cluster."""

from __future__ import annotations

import sys

from . import _levytilt
from ._backtest import run


def main() -> None:
    """Run the command line."""
    line = sys.argv[1:]
    asked = _levytilt.on_cluster(line)
    if asked is None:
        sys.exit(_levytilt.main(line))
    cluster, request = asked
    try:
        content, _ = run(_levytilt.Backtest(request), request, cluster=cluster, progress=_progress(line))
        _levytilt.tell(line, content)
    except _levytilt.InputError as error:
        sys.exit(_fail(error, 2))
    except _levytilt.ComputationError as error:
        sys.exit(_fail(error, 1))
    except KeyboardInterrupt:
        sys.exit(_fail("stopped; finished windows are kept, and the same command resumes from there", 1))


def _progress(line: list[str]) -> bool | None:
    return False if "--quiet" in line or "--json" in line else None


def _fail(error: object, code: int) -> int:
    print(f"error: {error}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
