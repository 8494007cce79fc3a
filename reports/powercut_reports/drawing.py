"""The table of a finding as buckets and slots: with everything persisted, and as recovery left it.

The scheme itself says what lies where (targets/ABI.md, "Drawing"); a record has the buckets that tell something. Here
the two states of a bucket become two rows, slot under slot, and what differs is said in words as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from powercut_reports import format as fmt
from powercut_reports.records.drawing import Bucket, Cell, CellState, Drawing, Group

_SAID = 8  # differences in words


@dataclass(frozen=True)
class DrawnCell:
    """`status`: same, gone (an item that is not there any more), new (one that was not), changed."""

    state: CellState | None
    status: str
    hit: bool  # a store to it was lost or torn
    title: str


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
    slots: int  # of the widest bucket
    buckets: tuple[BucketView, ...]


@dataclass(frozen=True)
class DrawingView:
    groups: tuple[GroupView, ...]
    has_after: bool
    differences: tuple[str, ...]
    more_differences: int
    left_out: int
    differing_left_out: int


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


def _drawn(state: CellState | None, status: str, lost: list[tuple[int, int]]) -> DrawnCell:
    if state is None:
        return DrawnCell(None, status, False, "")
    hit = any(start < state.offset + state.size and state.offset < end for start, end in lost)
    title = f"{state.said}; {fmt.plural(state.size, 'byte')} at {fmt.offset(state.offset)}"
    return DrawnCell(state, status, hit, f"{title}; value {state.value}" if state.value else title)


def _row(label: str, cells: Sequence[Cell], *, after: bool, has_after: bool, lost: list[tuple[int, int]]) -> Row:
    def state(cell: Cell) -> CellState | None:
        return cell.after if after else cell.before

    words = tuple(
        (cell.name, found.text if found else "none", has_after and _differs(cell))
        for cell in cells
        if _is_word(cell)
        for found in [state(cell)]
    )
    slots = tuple(
        _drawn(state(cell), _status(cell) if has_after else "same", lost if after else [])
        for cell in cells
        if not _is_word(cell)
    )
    return Row(label, words, slots)


def drawing_view(drawing: Drawing | None, lost: list[tuple[int, int]]) -> DrawingView | None:
    """`lost`: the bytes, as (begin, end), that stores were to change and that the power cut took."""
    if drawing is None or not drawing.groups:
        return None
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
            rows = tuple(_row(label, cells, after=after, has_after=drawing.after, lost=lost) for label, after in labels)
            buckets.append(BucketView(bucket.bucket, rows))
            said += [_difference(group, bucket, cell) for cell in differing if not _is_word(cell)]
        widest = max((len(row.slots) for bucket in buckets for row in bucket.rows), default=0)
        groups.append(GroupView(group.name, widest, tuple(buckets)))
    return DrawingView(
        tuple(groups),
        drawing.after,
        tuple(said[:_SAID]),
        max(0, len(said) - _SAID),
        drawing.left_out,
        drawing.differing_left_out,
    )


def _difference(group: Group, bucket: Bucket, cell: Cell) -> str:
    before = cell.before.said if cell.before else "nothing"
    after = cell.after.said if cell.after else "nothing"
    return f"{group.name}, bucket {bucket.bucket}, slot {cell.name}: {before}; after recovery {after}."
