"""Show the package's docstrings as they are meant: examples as code, and a line `name: …` as an item of a list."""

import re

import griffe


def as_markdown(text: str) -> str:
    """Fence each run of `>>>` lines, and start an item at each line that opens with the name of a parameter and a colon."""
    lines, fenced = [], False
    for line in text.splitlines():
        example = line.startswith((">>>", "..."))
        if example != fenced:
            lines.append("```python" if example else "```")
            fenced = example
        if example:
            line = re.sub(r"\s*# doctest:.*$", "", line[4:])
        elif re.match(r"[a-z_]+: ", line):
            line = "\n- " + re.sub(r"^([a-z_]+): ", r"`\1`: ", line)
        lines.append(line)
    return "\n".join([*lines, "```"] if fenced else lines)


class Docstrings(griffe.Extension):
    """Rewrite every docstring when its object is loaded."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        if obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)
