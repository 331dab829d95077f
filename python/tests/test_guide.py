"""The guide builds as a site without a warning, and its links lead somewhere, in the repository too."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md")) + [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "RELEASING.md"]


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as repositories and the site make them."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    titles = re.findall(r"^#+ (.+?)\s*$", text, flags=re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", re.sub(r"\[(.*?)\]\(.*?\)|`(.*?)`", r"\1\2", title)) for title in titles)
    return {re.sub(r"\s", "-", title.strip().lower()) for title in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith("http"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{page.name}: {link}; {target.name} has {sorted(anchors(target))}"


def test_the_site_builds_without_warnings(tmp_path):
    done = subprocess.run(
        [ROOT / "scripts/guide", "--site-dir", str(tmp_path / "site")],
        capture_output=True,
        text=True,
        env={**os.environ, "LEVYTILT_PROGRAM": os.environ.get("LEVYTILT_PROGRAM", "levytilt")},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout + done.stderr
    commands = (tmp_path / "site/commands.html").read_text(encoding="utf-8")
    assert "--observation-std" in commands, "the help of the program is not on the page of commands"
    assert "levytilt.Fit.forecast" in (tmp_path / "site/python-api.html").read_text(encoding="utf-8")
