"""Which lines of a file belong to which of its scenarios: a variant or an entry is a section (scenarios/SCHEMA.md)."""

import re
from collections.abc import Sequence

from powercut.base.toml_lines import locate

#: The line where the file's own scenario begins, or what all entries of the file share.
FIRST = 1
#: The tables whose members are entries.
ENTRIES = ("begin", "scenario", "bug")
_KEY = r'(?:[\w-]+|"[^"]*")'
_ENTRY = rf"(?:{'|'.join(ENTRIES)})\s*\.\s*{_KEY}"
_BEGIN = re.compile(rf"\s*(?:\[\[\s*variant\s*\]\]|\[\s*{_ENTRY}\s*\])")
_HEADER = re.compile(rf"\s*\[\s*({'|'.join(ENTRIES)})\s*\.\s*({_KEY})\s*\]")
#: The header of a table that is not the section's.
_END = re.compile(rf"\s*\[(?!\[?\s*(?:variant|{_ENTRY})\s*\.)\[?\s*{_KEY}(?:\s*\.\s*{_KEY})*\s*\]\]?\s*(?:#|$)")
_DOTTED = re.compile(rf"\s*(\[*)\s*({_KEY}(?:\s*\.\s*{_KEY})+)\s*(\]*=?)")


def line_in(text: str, start: int, location: Sequence[int | str]) -> int:
    """The line of `location` in the section that begins at `start`; `start` where the section does not say it."""
    own = text_from(text, start)
    line = locate(own, location)
    return line if own.splitlines()[line - 1] else start


def text_on(text: str, start: int, key: str) -> str:
    """For `locate`: the section that begins at `start` if it has `key`, else the lines of the file itself."""
    own = text_from(text, start)
    return own if re.search(rf"^\s*(\[\[?\s*)?{key}\b", own, re.MULTILINE) else text_from(text, FIRST)


def text_from(text: str, start: int) -> str:
    """For `locate`: the lines of the section that begins at `start`; all other lines are empty.

    Headers and dotted keys of a section are spelled as those of a file.
    """
    shown, inside = [], FIRST
    for number, line in enumerate(text.splitlines(), FIRST):
        if _BEGIN.match(line):
            inside = number
        elif _END.match(line):
            inside = FIRST
        shown.append(_as_in_a_file(line) if inside == start else "")
    return "\n".join([*shown, ""])


def entry_lines(text: str) -> dict[tuple[str, str], int]:
    """The line of each entry's header, by its kind and its name."""
    found = ((number, _HEADER.match(line)) for number, line in enumerate(text.splitlines(), FIRST))
    return {(match[1], match[2].strip('"')): number for number, match in found if match}


def _as_in_a_file(line: str) -> str:
    """`[variant.a.b]` as `[a] b =`, and `a.b = 1` as `a = b = 1`, in which `locate` finds `a` and `b`."""
    if _BEGIN.match(line):
        return f"#{line}"
    dotted = _DOTTED.match(line)
    if dotted is None:
        return line
    begin, names, end = dotted.groups()
    keys = [key.strip('"') for key in re.findall(_KEY, names)]
    if begin and keys[0] in ("variant", *ENTRIES):
        own = keys[1:] if keys[0] == "variant" else keys[2:]
        return f"[{own[0]}]" + "".join(f" {key} =" for key in own[1:])
    if end != "=":
        return line
    value = line[dotted.end() :]
    if keys[0] == "phase" and len(keys) == 2:
        value = value.replace("{", "", 1)  # `locate` counts the tables of `steps`, without the phase's own
    return " = ".join([*keys, value])
