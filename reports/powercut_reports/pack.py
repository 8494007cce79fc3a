"""Details of a report, folded small: what many pieces say is kept once, the rest deflated piece by piece.

A report's findings repeat one another line for line: sources, stacks, timelines of the same lines. Deflate sees 32 kB
back, less than one finding, so lines of several pieces go into one shared table first. A piece is then a list of rows:
`=text` is a line of its own, `start+count` so many lines of the table. The remaining lines differ in their numbers
only; the commonest of them are a dictionary of 32 kB that every piece is deflated against. The page takes a piece apart
with the browser's own inflate, when the piece is opened (static/pieces.js). The browser's inflate knows no
dictionaries, but a raw deflate stream may begin with a stored block: the dictionary goes there.

Known limit: without JavaScript packed pieces are not seen, so a page packs only what would make
it slow (`html.INLINE_LIMIT`).
"""

from __future__ import annotations

import base64
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import TypedDict

_DICTIONARY_BYTES = 32_768
_SAMPLE = 200  # pieces that the dictionary is made from
_NUMBER = re.compile(r"\d+")


class Packed(TypedDict):
    """All base64: `shared` and `dictionary` are zlib streams, a piece is a raw deflate stream."""

    shared: str
    dictionary: str
    pieces: list[str]


def deflated(text: str) -> str:
    """`text` as base64 of its zlib stream; lone surrogates are spelled out."""
    return base64.b64encode(zlib.compress(text.encode("utf-8", "backslashreplace"), 9)).decode("ascii")


def inflated(text: str) -> str:
    """The opposite of `deflated`."""
    return zlib.decompress(base64.b64decode(text)).decode("utf-8")


def pack(pieces: Sequence[str]) -> Packed:
    """The pieces, to be taken apart by `unpack` or by the page. Same pieces, same bytes."""
    split = [piece.split("\n") for piece in pieces]
    owner: dict[str, int] = {}  # the piece that has the line, -1 for several
    for index, lines in enumerate(split):
        for line in lines:
            owner[line] = index if owner.get(line, index) == index else -1
    table = {line: place for place, line in enumerate(line for line, index in owner.items() if index < 0)}
    rows = [_rows(lines, table) for lines in split]
    dictionary = _dictionary(rows)
    return {
        "shared": deflated("\n".join(table)),
        "dictionary": deflated(dictionary.decode("utf-8")),
        "pieces": [_against(dictionary, "\n".join(each)) for each in rows],
    }


def _dictionary(rows: Sequence[Sequence[str]]) -> bytes:
    """The rows that most pieces have but for their numbers, the commonest last, where references to them are short."""
    counts: Counter[str] = Counter()
    for each in rows[:: max(1, len(rows) // _SAMPLE)]:
        counts.update(dict.fromkeys((_NUMBER.sub("0", row) for row in each), 1))
    chosen: list[bytes] = []
    room = _DICTIONARY_BYTES
    for row, count in counts.most_common():
        line = row.encode("utf-8", "backslashreplace") + b"\n"
        room -= len(line)
        if count < 2 or room < 0:
            break
        chosen.append(line)
    return b"".join(reversed(chosen))


def _against(dictionary: bytes, text: str) -> str:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, dictionary)
    stream = squeeze.compress(text.encode("utf-8", "backslashreplace")) + squeeze.flush()
    return base64.b64encode(stream).decode("ascii")


def _rows(lines: Sequence[str], table: dict[str, int]) -> list[str]:
    """Neighbours in the table become one row."""
    rows: list[str] = []
    start = count = 0
    for line in [*lines, None]:
        place = table.get(line) if line is not None else None
        if count and place == start + count:
            count += 1
            continue
        if count:
            rows.append(f"{start}+{count}")
        start, count = (place, 1) if place is not None else (0, 0)
        if place is None and line is not None:
            rows.append(f"={line}")
    return rows


def unpack(packed: Packed, index: int) -> str:
    """One piece again: the specification of what the page does."""
    shared = inflated(packed["shared"]).split("\n")
    lines: list[str] = []
    inflate = zlib.decompressobj(-15, inflated(packed["dictionary"]).encode("utf-8"))
    rows = inflate.decompress(base64.b64decode(packed["pieces"][index])).decode("utf-8")
    for row in rows.split("\n"):
        if row.startswith("="):
            lines.append(row[1:])
        else:
            start, count = map(int, row.split("+"))
            lines += shared[start : start + count]
    return "\n".join(lines)
