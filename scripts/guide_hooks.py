"""What the guide takes from elsewhere: the program's own help, and the list of pages that nobody has to keep.

`<!-- help fit -->` becomes the output of `levytilt fit --help`. The section Validation lists every page of docs/validation; a
page of docs that the navigation in mkdocs.yml does not name comes under "More".
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parents[1]


def program() -> str:
    """The program named by LEVYTILT_PROGRAM, else a built one, else the one on the path."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    named = os.environ.get("LEVYTILT_PROGRAM")
    built = [named] if named else [str(target / kind / "levytilt") for kind in ("release", "debug")]
    found = next((path for path in built if Path(path).exists()), None) or shutil.which("levytilt")
    if not found:
        raise PluginError("no program for the page of commands: run `cargo build -p levytilt-cli`, or set LEVYTILT_PROGRAM")
    return str(Path(found).resolve())


def named(nav: list) -> set[str]:
    """Every page that a navigation names."""
    inner = [value for entry in nav for value in (entry.values() if isinstance(entry, dict) else [entry])]
    return {page for value in inner for page in (named(value) if isinstance(value, list) else [value])}


def on_config(config):
    docs = Path(config.docs_dir)
    measured = [f"validation/{page.name}" for page in sorted(docs.glob("validation/*.md"))]
    for section in config.nav:
        for entry in next(iter(section.values())) if isinstance(next(iter(section.values())), list) else []:
            if isinstance(entry, dict) and "Validation" in entry:
                entry["Validation"] = measured
    pages = [page.relative_to(docs).as_posix() for page in [*docs.glob("*.md"), *docs.glob("gallery/*.md")]]
    more = sorted(set(pages) - named(config.nav))
    if more:
        config.nav.append({"More": more})
    return config


def on_page_markdown(markdown: str, *, page, config, files) -> str:
    def help_of(match: re.Match) -> str:
        words = [word for word in match[1].split() if word != "levytilt"]
        done = subprocess.run([program(), *words, "--help"], capture_output=True, text=True)
        if done.returncode != 0:
            raise PluginError(f"{page.file.src_uri}: `levytilt {match[1]} --help` failed: {done.stderr}")
        return f"```text\n{done.stdout.rstrip()}\n```"

    return re.sub(r"<!-- help ([\w -]+?) -->", help_of, markdown)
