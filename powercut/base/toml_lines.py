"""Reads the TOML files that people write, and finds the line that a mistake means."""

import re
import tomllib
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pydantic import ValidationError

from powercut.base.errors import UsageError, nearest
from powercut.base.user_files import Unreadable, parse_toml


def tables(text: str, *, place: str, form: str) -> dict[str, Any]:
    """Reads the TOML file at `place`. Raises UsageError, with the line, for a file that is no TOML. `form` says where
    the format is."""
    try:
        return parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"at line (\d+)", str(error))
        what, line = re.sub(r"\s*\(at .*\)$", "", str(error)), int(at[1]) if at else text.count("\n") + 1
        raise UsageError(
            f"malformed TOML ({what})", where=f"{place}:{line}", next_step=f"Correct this line; {form}"
        ) from error
    except Unreadable as error:
        raise UsageError(f"malformed TOML ({error})", where=place, next_step=f"Correct it; {form}") from error


def mistake(
    error: ValidationError,
    text: str,
    *,
    place: str,
    form: str,
    of: str,
    keys: Callable[[Sequence[int | str]], Collection[str]],
) -> UsageError:
    """The first mistake in the tables `of` a file as a person would put it; `keys` there may be beside a location.

    A misspelt key comes before the missing one that it is.
    """
    first = min(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
    location, missing = list(first["loc"]), first["type"] == "missing"
    where = f"{place}:{locate(text, location[:-1] if missing else location)}"
    name = str(location[-1])
    if first["type"] == "extra_forbidden":
        close = nearest(name, keys(location), limit=1)
        hint = f"Did you mean '{close[0]}'? " if close else ""
        return UsageError(f"unknown key '{name}'", where=where, next_step=hint + form)
    if missing:
        return UsageError(f"the key '{name}' is missing", where=where, next_step=f"Every {of} needs it; {form}")
    what = first["msg"].removeprefix("Value error, ")
    return UsageError(what if isinstance(location[-1], int) else f"{name}: {what}", where=where, next_step=form)


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
