"""The table of a finding as buckets and slots: with everything persisted, and as recovery left it.

The scheme itself says what lies where (targets/ABI.md, "Drawing"); a record has the buckets that tell something. Here
the two states of a bucket become two rows, slot under slot, and what differs is said in words as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from powercut_records.drawing import Bucket, Cell, CellState, Drawing, Group
from powercut_reports import format as fmt
from powercut_reports.medium import MEMORY, Medium

_SAID = 8  # differences in words
_WIDE = 8  # slots of a bucket that are always drawn
_FEW = 3  # columns that are drawn although all are empty


@dataclass(frozen=True)
class DrawnCell:
    """`status`: same, gone (an item that is not there any more), new (one that was not), changed."""

    state: CellState | None
    status: str
    hit: bool  # a store to it was lost or torn
    title: str
    asked: bool = False  # it holds the key that was asked for
    folded: int = 0  # slots that this one stands for, all of them empty


@dataclass(frozen=True)
class Row:
    label: str  # before, after, or both
    words: tuple[tuple[str, str, bool], ...]  # name, text, differs
    slots: tuple[DrawnCell, ...]


@dataclass(frozen=True)
class BucketView:
    number: int
    rows: tuple[Row, ...]  # one where nothing differs


@dataclass(frozen=True)
class GroupView:
    name: str
    slots: int  # of the widest bucket, with one for all that are folded
    buckets: tuple[BucketView, ...]


@dataclass(frozen=True)
class DrawingView:
    groups: tuple[GroupView, ...]
    has_after: bool
    differences: tuple[str, ...]
    more_differences: int
    left_out: int
    differing_left_out: int
    counts: str = ""  # of a counter: where the parts of the sum lie that was asked for
    has_counts: bool = False  # values are parts of sums
    row: str = MEMORY.words.row  # what a bucket is called


def _differs(cell: Cell) -> bool:
    a, b = cell.before, cell.after
    if a is None or b is None:
        return a is not b
    return (a.kind, a.key, a.value, a.text) != (b.kind, b.key, b.value, b.text)


def _is_word(cell: Cell) -> bool:
    return any(state is not None and state.kind == "word" for state in (cell.before, cell.after))


def _place(cell: Cell) -> tuple[bool, int]:
    """Words first, as they came; then the slots by their number."""
    return (not _is_word(cell), int(cell.name) if cell.name.isdecimal() and not _is_word(cell) else 0)


def _status(cell: Cell) -> str:
    if not _differs(cell):
        return "same"
    before = cell.before is not None and cell.before.kind == "item"
    after = cell.after is not None and cell.after.kind == "item"
    if before and after:
        return "changed"
    return "gone" if before else "new" if after else "changed"


def _drawn(state: CellState | None, status: str, about: _About, *, after: bool) -> DrawnCell:
    if state is None:
        return DrawnCell(None, status, False, "")
    lost = about.lost if after else []
    hit = any(start < state.offset + state.size and state.offset < end for start, end in lost)
    title = f"{state.said}; {about.medium.extent(state.offset, state.size) if state.size else 'in RAM'}"
    title = f"{title}; value {state.value}" if state.value else title
    return DrawnCell(state, status, hit, title, bool(state.key) and state.key == about.key)


@dataclass(frozen=True)
class _About:
    """The finding: the bytes, as (begin, end), that the power cut took; the key that was asked for; what it lies on."""

    lost: list[tuple[int, int]]
    key: str
    medium: Medium


def _row(label: str, cells: Sequence[Cell], about: _About, *, after: bool, has_after: bool) -> Row:
    def state(cell: Cell) -> CellState | None:
        return cell.after if after else cell.before

    words = tuple(
        (cell.name, found.text if found else "none", has_after and _differs(cell))
        for cell in cells
        if _is_word(cell)
        for found in [state(cell)]
    )
    slots = tuple(
        _drawn(state(cell), _status(cell) if has_after else "same", about, after=after)
        for cell in cells
        if not _is_word(cell)
    )
    return Row(label, words, slots)


def drawing_view(
    drawing: Drawing | None, lost: list[tuple[int, int]], *, key: str = "", medium: Medium = MEMORY
) -> DrawingView | None:
    """`lost`: the bytes, as (begin, end), that stores were to change and that the power cut took."""
    if drawing is None or not drawing.groups:
        return None
    about = _About(lost, key, medium)
    groups, said = [], []
    for group in drawing.groups:
        buckets = []
        for bucket in group.buckets:
            cells = tuple(
                sorted(bucket.cells, key=lambda c: (not _is_word(c), int(c.name) if c.name.isdecimal() else 0))
            )
            differing = [cell for cell in cells if _differs(cell)] if drawing.after else []
            labels = (
                [("before", False), ("after", True)]
                if differing
                else [("both" if drawing.after else "before", drawing.after)]
            )
            rows = tuple(_row(label, cells, about, after=after, has_after=drawing.after) for label, after in labels)
            buckets.append(BucketView(bucket.bucket, rows))
            said += [
                f"{_place_of(group, bucket, cell, medium)}: {_difference(cell)}"
                for cell in differing
                if not _is_word(cell)
            ]
        groups.append(_folded(group.name, buckets))
    return DrawingView(
        tuple(groups),
        drawing.after,
        tuple(said[:_SAID]),
        max(0, len(said) - _SAID),
        drawing.left_out,
        drawing.differing_left_out,
        _counts(drawing, about),
        any(
            state is not None and state.count is not None
            for group in drawing.groups
            for bucket in group.buckets
            for cell in bucket.cells
            for state in (cell.before, cell.after)
        ),
        medium.words.row,
    )


def _folded(name: str, buckets: list[BucketView]) -> GroupView:
    """Joins columns of a wide bucket that lie side by side and are empty in all rows."""
    rows = [row for bucket in buckets for row in bucket.rows]
    widest = max((len(row.slots) for row in rows), default=0)
    told = [any(_tells(row.slots[n]) for row in rows if n < len(row.slots)) for n in range(widest)]
    runs = [
        (tells, [n for n, _ in members]) for tells, members in groupby(enumerate(told), key=lambda column: column[1])
    ]
    folds = [not tells and len(run) > _FEW and widest > _WIDE for tells, run in runs]

    def slots(row: Row) -> tuple[DrawnCell, ...]:
        kept: list[DrawnCell] = []
        for fold, (_, run) in zip(folds, runs, strict=True):
            here = row.slots[run[0] : run[-1] + 1]
            kept += [replace(here[0], folded=len(here))] if fold and here else here
        return tuple(kept)

    folded = tuple(
        BucketView(bucket.number, tuple(replace(row, slots=slots(row)) for row in bucket.rows)) for bucket in buckets
    )
    return GroupView(name, sum(1 if fold else len(run) for fold, (_, run) in zip(folds, runs, strict=True)), folded)


def _tells(cell: DrawnCell) -> bool:
    return cell.status != "same" or (cell.state is not None and (cell.state.kind != "empty" or bool(cell.state.text)))


def _place_of(group: Group, bucket: Bucket, cell: Cell, medium: Medium) -> str:
    return f"{group.name}, {medium.words.row} {bucket.bucket}, {medium.words.cell} {cell.name}"


def _difference(cell: Cell) -> str:
    before = cell.before.said if cell.before else "nothing"
    after = cell.after.said if cell.after else "nothing"
    return f"{before}; after recovery {after}."


def _counts(drawing: Drawing, about: _About) -> str:
    """Where the parts of the sum lie that was asked for; nothing of a table whose values are no counts."""
    parts = [
        (count, _place_of(group, bucket, cell, about.medium))
        for group in drawing.groups
        for bucket in group.buckets
        for cell in bucket.cells
        for state in [cell.after if drawing.after else cell.before]
        if state is not None and state.kind == "item" and state.key == about.key
        for count in [state.count]
        if count is not None
    ]
    if not parts:
        return ""
    when = "after recovery" if drawing.after else "with everything persisted"
    places = "; ".join(f"{count:+} in {place}" for count, place in parts)
    total = f", {sum(count for count, _ in parts):+} together" if len(parts) > 1 else ""
    return f"Key {about.key} counts {when} in {fmt.plural(len(parts), 'place')}{total}: {places}."
