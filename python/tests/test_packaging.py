"""What a release consists of agrees with itself, and the check that it makes of a wheel passes here."""

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def ran(*arguments):
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True)


def test_every_place_names_the_same_version():
    done = ran("scripts/release-check")
    assert done.returncode == 0, done.stderr
    assert importlib.metadata.version("levytilt") in done.stdout


def test_a_tag_of_another_version_is_refused():
    done = ran("scripts/release-check", "v9.9.9")
    assert done.returncode != 0
    assert "v9.9.9" in done.stderr


def test_notes_are_the_section_of_the_changelog():
    notes = ran("scripts/release-check", "--notes", f"v{importlib.metadata.version('levytilt')}").stdout
    assert "### Library" in notes
    assert "## 0" not in notes


def test_the_first_fit_of_the_release_workflow():
    done = ran("scripts/first-fit.py")
    assert done.returncode == 0, done.stderr


def test_workflows_are_yaml_and_name_files_that_exist():
    pages = list((ROOT / ".github/workflows").glob("*.yml"))
    assert pages
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert yaml.safe_load(text)["jobs"]
        for script in re.findall(r"scripts/[\w.-]+", text):
            assert (ROOT / script).exists(), f"{page.name}: {script}"


def test_metadata_of_the_package():
    about = importlib.metadata.metadata("levytilt")
    assert about["Requires-Python"] == ">=3.9"
    assert about["License-Expression"] == "MIT OR Apache-2.0"
    assert {"LICENSE-MIT", "LICENSE-APACHE"} <= {Path(name).name for name in about.get_all("License-File")}
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "title", "message", "version", "license", "authors", "references"} <= citation.keys()
