"""Put the program's own help into the page of commands: `<!-- help fit -->` becomes the output of `levytilt fit --help`."""

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


def on_page_markdown(markdown: str, *, page, config, files) -> str:
    def help_of(match: re.Match) -> str:
        words = [word for word in match[1].split() if word != "levytilt"]
        done = subprocess.run([program(), *words, "--help"], capture_output=True, text=True)
        if done.returncode != 0:
            raise PluginError(f"{page.file.src_uri}: `levytilt {match[1]} --help` failed: {done.stderr}")
        return f"```text\n{done.stdout.rstrip()}\n```"

    return re.sub(r"<!-- help ([\w -]+?) -->", help_of, markdown)
