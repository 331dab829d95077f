"""Run windows on a Dask cluster: the data are sent to every worker once, a task is a window number and model names."""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from typing import Any, Iterator

from ._backtest import AHEAD, Window, luggage, unpacked, window_lines
from ._extras import need
from ._levytilt import Backtest, ComputationError, InputError

#: Seconds between checks of the number of workers.
PATIENCE = 5.0
_plans: dict[str, Backtest] = {}


class DaskWorkers:
    """The workers of a cluster, given its scheduler address or a client."""

    def __init__(self, request: str, table: Any, address: str | None = None, client: Any = None):
        self.distributed = need("distributed", "dask")
        self.key, self.payload = luggage(request, table)
        self.address = address
        self.client = client

    def __enter__(self) -> DaskWorkers:
        if self.client is None:
            try:
                self.client = self.distributed.Client(self.address, set_as_default=False)
            except (OSError, TimeoutError) as error:
                raise InputError(f"cluster {self.address}: no scheduler answers ({error})") from error
        else:
            self.address = None
        return self

    def __exit__(self, *_: Any) -> None:
        if self.address is not None:
            self.client.close(timeout=2)

    def results(self, windows: list[Window]) -> Iterator[list[str]]:
        if not windows:
            return
        # Sent to all workers at once; a worker that joins later gets it from another.
        place = self.client.scatter(self.payload, broadcast=True, hash=False)
        waiting = list(reversed(windows))
        flying = self.distributed.as_completed([], loop=self.client.loop, raise_errors=False)
        count, most, looked = 0, 0, float("-inf")
        try:
            while waiting or count:
                # Workers come and go; asking after every window would cost as much as the window's own messages.
                if time.monotonic() - looked > PATIENCE:
                    most, looked = AHEAD * max(1, sum(self.client.nthreads().values())), time.monotonic()
                while waiting and count < most:
                    flying.add(self._submit(place, *waiting.pop()))
                    count += 1
                future = next(flying)
                count -= 1
                yield self._result(future)
        except (OSError, RuntimeError, CancelledError) as error:
            if isinstance(error, ComputationError):
                raise
            raise self._lost(error) from error

    def _submit(self, place: Any, number: int, models: list[str]) -> Any:
        return self.client.submit(
            _lines, self.key, place, number, models, key=f"levytilt-{self.key}-{number}-{'+'.join(models)}"
        )

    def _result(self, future: Any) -> list[str]:
        if future.status == "finished":
            lines = future.result()
            # A received result need not be kept on the cluster, nor computed again when its worker dies.
            future.release()
            return lines
        if future.status in ("cancelled", "lost", "pending"):
            raise self._lost("the scheduler is gone")
        error = future.exception()
        if isinstance(error, self.distributed.KilledWorker):
            raise ComputationError(f"a window may be what kills workers; finished windows are kept: {error}") from error
        raise error

    def _lost(self, why: Any) -> ComputationError:
        return ComputationError(
            f"the cluster was lost ({why}); finished windows are kept, and the same call with the same out resumes from there"
        )


def _lines(key: str, payload: bytes, number: int, models: list[str]) -> list[str]:
    plan = _plans.get(key)
    if plan is None:
        # A worker keeps one data set at a time.
        _plans.clear()
        plan = _plans.setdefault(key, unpacked(payload))
    return window_lines(plan, number, models)
