"""The pending lines of a finding, byte by byte: floor, this image, and what the program could see.

A byte that floor and visible content agree on was not at stake. Of the others this image either kept the
newest content, lost it (the floor remains), or holds something in between (an older store, or a torn one).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from powercut_reports import format as fmt
from powercut_reports.records.finding import ImageLine

_ROW = 16  # bytes
_MISSING = "··"
_STATUS_WORDS = {"kept": "persisted", "lost": "lost", "between": "in between"}


@dataclass(frozen=True)
class Span:
    """Neighbouring bytes of one status: same, kept, lost or between."""

    status: str
    text: str


@dataclass(frozen=True)
class Row:
    offset: int
    floor: tuple[Span, ...]
    image: tuple[Span, ...]
    visible: tuple[Span, ...]


@dataclass(frozen=True)
class LineView:
    line: ImageLine
    rows: tuple[Row, ...]  # only those in which the three contents differ
    same_rows: int
    summary: str
    contents: tuple[tuple[int, str], ...]  # (offset, bytes) rows, when there is nothing to compare with


def _bytes(text: str) -> list[str]:
    return [text[at : at + 2] for at in range(0, len(text), 2)]


def _status(floor: str, image: str, visible: str) -> str:
    if floor == image == visible:
        return "same"
    if image == visible:
        return "kept"
    return "lost" if image == floor else "between"


def _spans(cells: list[str], statuses: list[str]) -> tuple[Span, ...]:
    pairs = groupby(zip(statuses, cells, strict=True), key=lambda pair: pair[0])
    return tuple(Span(status, " ".join(cell for _, cell in members)) for status, members in pairs)


def _ranges(statuses: list[str], wanted: str, base: int) -> list[str]:
    ranges, at = [], 0
    for status, members in groupby(statuses):
        length = len(list(members))
        if status == wanted:
            first, last = fmt.offset(base + at), fmt.offset(base + at + length - 1)
            ranges.append(first if length == 1 else f"{first}–{last}")
        at += length
    return ranges


def line_view(line: ImageLine) -> LineView:
    columns = [_bytes(line.floor), _bytes(line.bytes), _bytes(line.visible)]
    size = max(map(len, columns))
    floor, image, visible = ([*column, *[_MISSING] * (size - len(column))] for column in columns)
    statuses = [_status(*at) for at in zip(floor, image, visible, strict=True)]
    rows = []
    for start in range(0, size, _ROW):
        part = slice(start, start + _ROW)
        if any(status != "same" for status in statuses[part]):
            spans = (_spans(column[part], statuses[part]) for column in (floor, image, visible))
            rows.append(Row(line.offset + start, *spans))
    counts = Counter(statuses)
    words = [
        f"{fmt.plural(counts[status], 'byte')} {word} ({', '.join(_ranges(statuses, status, line.offset))})"
        for status, word in _STATUS_WORDS.items()
        if counts[status]
    ]
    total_rows = -(-size // _ROW)
    summary = "; ".join(words) or "all three contents agree"
    return LineView(line, tuple(rows), total_rows - len(rows), summary, ())


def nested_view(line: ImageLine) -> LineView:
    """The same, for a cut whose floor and visible content nobody kept: then the bytes stand alone."""
    view = line_view(line)
    if view.rows or not line.bytes:
        return view
    cells = _bytes(line.bytes)
    contents = ((line.offset + at, " ".join(cells[at : at + _ROW])) for at in range(0, len(cells), _ROW))
    return LineView(line, (), 0, "as the cut left it", tuple(contents))
