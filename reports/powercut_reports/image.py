"""The pending lines of a finding, byte by byte: floor, this image, and what the program could see.

A byte that floor and visible content agree on was not at stake. This image kept the newest content of another byte, or
lost it (the floor remains). It may also hold something in between (an older store, or a torn one).

The image of a device goes sector by sector: the name of each sector's content (powercut/contents.h).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby, zip_longest

from powercut_records.finding import ImageLine
from powercut_reports import format as fmt
from powercut_reports.medium import LINE, MEMORY, WORD, Medium

_ROW = 16  # bytes
_MISSING = "··"
_SECTOR_WORDS = {"kept": "what was written last", "lost": "the old content", "between": "an earlier content"}
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
    cells: str  # what a row is of: bytes or sectors
    place: str


def _bytes(text: str) -> list[str]:
    return [text[at : at + 2] for at in range(0, len(text), 2)]


def _sectors(text: str) -> list[str]:
    names = [text[at : at + 2 * WORD] for at in range(0, len(text), 2 * WORD)]
    return ["zeroes" if not name.strip("0") else name for name in names]


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


def _of_file(line: ImageLine, medium: Medium) -> str:
    """An image's part of a file's unit: which of its contents each sector at stake has."""
    if line.offset < LINE:
        texts = (line.bytes, line.floor, line.visible)
        sizes = [int.from_bytes(bytes.fromhex(text)[:WORD], "little") for text in texts]
        return "{} in this image, {} before, {} as the program saw it".format(*(fmt.plural(n, "byte") for n in sizes))
    told = []
    columns = map(_sectors, (line.bytes, line.floor, line.visible))
    for number, (image, floor, visible) in enumerate(zip_longest(*columns, fillvalue="")):
        status = _status(floor, image, visible)
        if status != "same":
            told.append(f"{medium.place(line.offset + number * WORD)}: {_SECTOR_WORDS[status]}")
    return "; ".join(told) or "all three contents agree"


def line_view(line: ImageLine, medium: Medium = MEMORY) -> LineView:
    if medium.file is not None:  # names of contents say nothing to the owner of a file
        return LineView(line, (), 0, _of_file(line, medium), (), medium.words.cells, medium.head(line))
    cells, wide = (_sectors, 1) if medium.device else (_bytes, _ROW)
    base = 0 if medium.device else line.offset
    columns = [cells(line.floor), cells(line.bytes), cells(line.visible)]
    size = max(map(len, columns))
    floor, image, visible = ([*column, *[_MISSING] * (size - len(column))] for column in columns)
    statuses = [_status(*at) for at in zip(floor, image, visible, strict=True)]
    rows = []
    for start in range(0, size, wide):
        part = slice(start, start + wide)
        if any(status != "same" for status in statuses[part]):
            spans = (_spans(column[part], statuses[part]) for column in (floor, image, visible))
            rows.append(Row(base + start, *spans))
    counts = Counter(statuses)
    words = [
        f"{fmt.plural(counts[status], medium.words.cells)} {word}"
        + ("" if medium.device else f" ({', '.join(_ranges(statuses, status, line.offset))})")
        for status, word in _STATUS_WORDS.items()
        if counts[status]
    ]
    total_rows = -(-size // wide)
    said = "; ".join(words) or "all three contents agree"
    return LineView(line, tuple(rows), total_rows - len(rows), said, (), medium.words.cells, medium.head(line))


def nested_view(line: ImageLine, medium: Medium = MEMORY) -> LineView:
    """The lines of a cut whose floor and visible content nobody kept: the bytes stand alone."""
    view = line_view(line, medium)
    if view.rows or not line.bytes:
        return view
    if medium.device:
        contents = tuple((at, name) for at, name in enumerate(_sectors(line.bytes)) if name != "zeroes" or at == 0)
    else:
        cells = _bytes(line.bytes)
        rows = range(0, len(cells), _ROW)
        contents = tuple((line.offset + at, " ".join(cells[at : at + _ROW])) for at in rows)
    return LineView(line, (), 0, "as the cut left it", contents, medium.words.cells, medium.head(line))
