"""Import optional packages."""

from __future__ import annotations

import importlib
from typing import Any


def need(package: str, extra: str) -> Any:
    """Import a package, or explain how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"this needs {package}: pip install 'levytilt[{extra}]'") from error
