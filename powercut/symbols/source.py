"""Lines of source around a site, for reports."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from powercut.base import paths

#: Lines shown before and after the site.
CONTEXT = 3
_LONGEST = 400


@lru_cache(maxsize=256)
def _content(path: Path, changed: int) -> str | None:
    del changed  # a file that was edited is read again
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _read(path: Path) -> str | None:
    try:
        return _content(path, path.stat().st_mtime_ns)
    except (OSError, ValueError):
        return None


def find(file: str) -> Path | None:
    """Where a source file lies, which a record names relative to the project or to here; None without the file."""
    return next((path for path in (paths.home() / file, Path.cwd() / file) if _read(path) is not None), None)


def text(file: str) -> str | None:
    """The text of such a file; None without the file."""
    path = find(file)
    return _read(path) if path else None


@lru_cache(maxsize=256)
def _split(content: str) -> Sequence[str]:
    return content.splitlines()


def _text(file: str) -> Sequence[str] | None:
    content = text(file)
    return None if content is None else _split(content)


def line(file: str, number: int) -> str:
    """Line `number` (from 1) of the file; empty when the file does not have it."""
    text = _text(file)
    return text[number - 1] if text is not None and 1 <= number <= len(text) else ""


def table(sites: Iterable[str]) -> dict[str, dict[int, str]]:
    """`{file: {line: text}}` of the lines around sites ("file:line"), each line once, ascending."""
    found: dict[str, dict[int, str]] = {}
    for site in dict.fromkeys(sites):
        file, _, number = site.rpartition(":")
        if file and number.isdecimal():
            found.setdefault(file, {}).update({row["line"]: row["text"] for row in context(file, int(number)) or ()})
    return {file: dict(sorted(rows.items())) for file, rows in sorted(found.items()) if rows}


def context(file: str, line: int) -> list[dict[str, Any]] | None:
    """`[{line, text, focus}]` around `line` (from 1), or None when the file does not have it."""
    text = _text(file)
    if text is None or not 1 <= line <= len(text):
        return None
    first, last = max(line - CONTEXT, 1), min(line + CONTEXT, len(text))
    return [
        {"line": number, "text": text[number - 1][:_LONGEST], "focus": number == line}
        for number in range(first, last + 1)
    ]
