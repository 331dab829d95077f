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
    """Every public function and class, and the methods with parameters of the latter."""
    for name in lt.__all__:
        found = getattr(lt, name)
        if not callable(found) or issubclass(type(found), type) and issubclass(found, Exception | Warning):
            continue
        yield name, found
        if inspect.isclass(found):
            for method, own in vars(found).items():
                if not method.startswith("_") and inspect.isfunction(own):
                    yield f"{name}.{method}", own


@pytest.mark.parametrize("name, found", public(), ids=lambda value: value if isinstance(value, str) else "")
def test_docstrings_name_every_parameter(name, found):
    text = inspect.getdoc(found)
    assert text, f"{name} has no docstring"
    asked = [key for key in inspect.signature(found).parameters if key != "self"]
    # A class that only functions make, and a method whose line says what its few arguments are, need no list.
    if "Parameters\n---" in text:
        missing = [key for key in asked if not re.search(rf"\b{key}\b", text)]
        assert not missing, f"{name} does not name {missing}"
    elif len(asked) > 2 and inspect.isfunction(found):
        pytest.fail(f"{name} has {len(asked)} parameters and no section on them")


def test_examples_in_docstrings_run():
    modules = [module for module in map(sys.modules.get, sorted(sys.modules)) if getattr(module, "__name__", "").startswith("levytilt.")]
    failed = [doctest.testmod(module) for module in modules if hasattr(module, "__file__") and module.__file__.endswith(".py")]
    assert sum(result.attempted for result in failed) >= 10
    assert sum(result.failed for result in failed) == 0
