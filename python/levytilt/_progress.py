"""Show progress with tqdm, if installed, in notebooks and terminals."""

from __future__ import annotations

import sys
from typing import Any, Callable

from ._extras import need


def _bar() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


def _somebody_looks() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class Bar:
    """A progress bar for `total` items. `show`: True or False, or None for terminals and notebooks only."""

    def __init__(self, show: bool | None, total: int, unit: str, done: int = 0):
        wanted = _somebody_looks() if show is None else show
        tqdm = (need("tqdm.auto", "progress").tqdm if show else _bar()) if wanted else None
        self.bar = tqdm(total=total, initial=done, unit=f" {unit}", leave=False) if tqdm else None

    def step(self, count: int = 1) -> None:
        if self.bar is not None:
            self.bar.update(count)

    def at(self, place: int, total: int, note: str) -> None:
        """Set the position; a restarted search moves it back."""
        if self.bar is not None:
            self.bar.total = total
            self.bar.n = place
            self.bar.set_postfix_str(note, refresh=True)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def learning(progress: bool | Callable[[int, int, float, float], None] | None) -> tuple[Any, Bar]:
    """A progress callback for a fit, and the bar to close after it."""
    if callable(progress):
        return progress, Bar(False, 0, "")
    bar = Bar(progress, 1, "steps")
    if bar.bar is None:
        return None, bar

    def tell(iteration: int, most: int, bound: float, error: float) -> None:
        bar.at(iteration, most, f"ELBO {bound:.2f} ± {error:.2f}")

    return tell, bar
