"""The Python in the documentation runs, page by page, as a reader would run it."""

import re
from pathlib import Path

import pytest

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
