"""Variants: scenarios that say only how they differ from the scenario of their file (scenarios/SCHEMA.md)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from powercut.base.toml_lines import locate

#: The line where the file's own scenario begins.
FIRST = 1
_BEGIN = re.compile(r"\s*\[\[\s*variant\s*\]\]")
#: The header of a table that is not the variant's.
_END = re.compile(r"\s*\[(?!\[?\s*variant\s*\.)")
_KEY = r'(?:[\w-]+|"[^"]*")'
_DOTTED = re.compile(rf"\s*(\[*)\s*({_KEY}(?:\s*\.\s*{_KEY})+)\s*(\]*=?)")


def overlaid(base: Mapping[str, Any], variant: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of a variant as a file of its own would have them.

    A value of the variant replaces the file's value: a single key of a table or of a phase, any other value as a whole.
    """
    whole = {**base, **variant}
    for key, value in variant.items():
        if key == "phase":
            whole[key] = [{**phase, **value.get(phase["name"], {})} for phase in base[key]]
        elif isinstance(value, dict) and isinstance(base.get(key), dict):
            whole[key] = {**base[key], **value}
    return whole


def line_in(text: str, start: int, location: Sequence[int | str]) -> int:
    """The line of `location` in the variant that begins at `start`, which is the line of what it does not say."""
    own = text_from(text, start)
    line = locate(own, location)
    return line if own.splitlines()[line - 1] else start


def text_on(text: str, start: int, key: str) -> str:
    """For `locate`: the text of what the scenario that begins at `start` has under `key`; its own or its file's."""
    own = text_from(text, start)
    return own if re.search(rf"^\s*(\[\[?\s*)?{key}\b", own, re.MULTILINE) else text_from(text, FIRST)


def text_from(text: str, start: int) -> str:
    """For `locate`: only the lines of the scenario that begins at `start`; all others are empty.

    Headers and dotted keys of a variant are spelled as those of a file.
    """
    shown, inside = [], FIRST
    for number, line in enumerate(text.splitlines(), FIRST):
        if _BEGIN.match(line):
            inside = number
        elif _END.match(line):
            inside = FIRST
        shown.append(_as_in_a_file(line) if inside == start else "")
    return "\n".join([*shown, ""])


def _as_in_a_file(line: str) -> str:
    """`[variant.a.b]` as `[a] b =`, and `a.b = 1` as `a = b = 1`, in which `locate` finds `a` and `b`."""
    dotted = _DOTTED.match(line)
    if dotted is None:
        return line
    begin, names, end = dotted.groups()
    keys = [key.strip('"') for key in re.findall(_KEY, names)]
    if begin and keys[0] == "variant":
        return f"[{keys[1]}]" + "".join(f" {key} =" for key in keys[2:])
    return " = ".join([*keys, line[dotted.end() :]]) if end == "=" else line
