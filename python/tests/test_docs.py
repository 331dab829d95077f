"""The Python in the documentation runs, page by page, as a reader would run it."""

import doctest
import inspect
import re
import sys
from pathlib import Path

import pytest

import levytilt as lt

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["docs/python.md", "docs/install.md", "docs/forecasting.md", "docs/live.md", "docs/panels.md", "docs/files.md", "docs/recipes.md", "docs/states.md", "README.md"])
def test_blocks_run(page, tmp_path, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    blocks = re.findall(r"```python\n(.*?)\n```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks, f"{page} has no Python"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("time,value\n" + "".join(f"{k / 10},{(-1) ** k * (k % 7)}\n" for k in range(80)))
    names: dict = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


def test_stubs_are_those_of_the_module():
    from mypy import stubtest

    options = stubtest.parse_options(["levytilt._levytilt", "--ignore-missing-stub", "--concise"])
    assert stubtest.test_stubs(options) == 0


def public():
    """Every public function and class but errors, and the methods of the latter, by name."""
    for name in lt.__all__:
        found = getattr(lt, name)
        if callable(found) and not (inspect.isclass(found) and issubclass(found, (Exception, Warning))):
            yield name, found
            own = vars(found).items() if inspect.isclass(found) else ()
            yield from ((f"{name}.{key}", value) for key, value in own if not key.startswith("_") and inspect.isfunction(value))


@pytest.mark.parametrize("name, found", list(public()), ids=lambda value: value if isinstance(value, str) else "")
def test_docstrings_name_every_parameter(name, found):
    text = inspect.getdoc(found)
    assert text, f"{name} has no docstring"
    asked = [key for key in inspect.signature(found).parameters if key != "self"]
    if "Parameters\n---" in text:
        missing = [key for key in asked if not re.search(rf"\b{key}\b", text)]
        assert not missing, f"{name} does not name {missing}"
    else:
        # A class that only functions make, few arguments that the line explains, or those of another function.
        assert inspect.isclass(found) or len(asked) <= 3 or "see `" in text, f"{name} has no section on its parameters"


def test_examples_in_docstrings_run():
    modules = [module for module in map(sys.modules.get, sorted(sys.modules)) if getattr(module, "__name__", "").startswith("levytilt.")]
    failed = [doctest.testmod(module) for module in modules if hasattr(module, "__file__") and module.__file__.endswith(".py")]
    assert sum(result.attempted for result in failed) >= 10
    assert sum(result.failed for result in failed) == 0
