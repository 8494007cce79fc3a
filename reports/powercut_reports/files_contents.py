"""The bytes of one path in three trees, as lines of text or rows of bytes, with those marked that differ.

A record has a part of each file: from near the first byte that differs on (reports/EVENTS.md, `TreePath.head`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

from powercut_records.files import TreePath
from powercut_reports import format as fmt

_ROW = 8  # bytes
_LINES = 12
_WIDTH = 60


@dataclass(frozen=True)
class Span:
    """Neighbouring bytes, or a line, with one answer to whether all three trees have them."""

    text: str
    differs: bool


@dataclass(frozen=True)
class Line:
    """`label`: the offset of a row of bytes; empty of text."""

    label: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class Cell:
    """One path in one tree."""

    lines: tuple[Line, ...]
    more: str  # what is not shown


def cells(found: Sequence[TreePath | None]) -> tuple[Cell, ...]:
    """The contents of a path in each tree; empty cells where no tree has bytes to show."""
    whole = [bytes.fromhex(path.head) if path else b"" for path in found]
    heads = [head if any(head) else b"" for head in whole]  # zeroes are told in words
    shown = [_text(head) for head in heads]
    lines: list[list[Line]]
    if all(text is not None for text in shown):
        lines = _lines([text or [] for text in shown])
    else:
        base = min((path.head_offset for path in found if path and path.head), default=0)
        lines = _rows(heads, base)
    return tuple(
        Cell(tuple(own[:_LINES]), _more(path, len(head), len(own) - _LINES))
        for own, path, head in zip(lines, found, whole, strict=True)
    )


def _text(head: bytes) -> list[str] | None:
    """The lines of a text; None for other bytes. A character that is cut off at the end does not count."""
    text = head.decode("utf-8", "ignore")
    if len(text.encode()) < len(head) - 3 or not all(c.isprintable() or c in "\n\t" for c in text):
        return None
    return text.splitlines()


def _lines(texts: Sequence[list[str]]) -> list[list[Line]]:
    found: list[list[Line]] = [[] for _ in texts]
    for row in zip_longest(*texts):
        differs = len(set(row)) > 1
        for own, text in zip(found, row, strict=True):
            if text is not None:
                own.append(Line("", (Span(text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…", differs),)))
    return found


def _rows(heads: Sequence[bytes], base: int) -> list[list[Line]]:
    found: list[list[Line]] = [[] for _ in heads]
    for at in range(0, max(map(len, heads), default=0), _ROW):
        columns = list(zip_longest(*(head[at : at + _ROW] for head in heads)))
        for own, column in zip(found, zip(*columns, strict=True), strict=True):
            marked = [
                (f"{byte:02x}", len(set(all_three)) > 1)
                for byte, all_three in zip(column, columns, strict=True)
                if byte is not None
            ]
            spans = [
                Span(" ".join(text for text, _ in members), differs)
                for differs, members in groupby(marked, key=lambda item: item[1])
            ]
            if spans:
                own.append(Line(fmt.offset(base + at), tuple(spans)))
    return found


def _more(path: TreePath | None, shown: int, lines: int) -> str:
    if path is None or path.kind != "file":
        return ""
    begin = f"from byte {fmt.grouped(path.head_offset)} on" if path.head_offset and shown else ""
    rest = path.size - path.head_offset - shown
    left = [begin, f"{fmt.plural(rest, 'more byte')}" if rest > 0 and shown else ""]
    left += [f"{fmt.plural(lines, 'more line')}"] if lines > 0 else []
    return ", ".join(part for part in left if part)
