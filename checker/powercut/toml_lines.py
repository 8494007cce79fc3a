"""Finds the line of a TOML file that a validation error means."""

import re
import tomllib
from collections.abc import Sequence


def syntax_error(error: tomllib.TOMLDecodeError, text: str) -> tuple[str, int]:
    """What is wrong with a file that is no TOML, and in which line (from 1)."""
    line = re.search(r"at line (\d+)", str(error))
    what = re.sub(r"\s*\(at .*\)$", "", str(error))
    return what, int(line[1]) if line else text.count("\n") + 1


def locate(text: str, location: Sequence[int | str]) -> int:
    """The line (from 1) that `location` most likely means: the key itself, else its table, else line 1.

    tomllib keeps no positions. Table headers and keys are looked up in order, which is exact for the
    files that SCHEMA.md describes; an unusual spelling gives the line of the nearest enclosing table.
    """
    lines = text.splitlines()
    start, best = 0, 1
    parts = list(location)
    while parts:
        part = parts.pop(0)
        if isinstance(part, int):
            continue
        index = parts[0] if parts and isinstance(parts[0], int) else 0
        header = re.compile(rf"\s*\[\[?\s*{re.escape(part)}\s*\]")
        headers = [number for number, line in enumerate(lines) if header.match(line)]
        if len(headers) > index:
            start = headers[index]
            best = start + 1
            continue
        key = re.compile(rf"(^|[\s{{,]){re.escape(part)}\s*=")
        occurrences = [number for number in range(start, len(lines)) if key.search(lines[number].split("#")[0])]
        if not occurrences:
            break
        start = occurrences[0]
        best = start + 1
        plain_values = re.search(rf"{re.escape(part)}\s*=\s*\[\s*[^\s{{]", lines[start])
        if parts and isinstance(parts[0], int) and not plain_values:
            # An array: the index-th inline table after the key.
            tables = [number for number in range(start, len(lines)) for _ in re.findall(r"\{", lines[number])]
            if len(tables) > index:
                start = tables[index]
                best = start + 1
    return best
