"""The geometry of a finding's timeline: one track a line, events from left to right, then the power cut, and what
recovery stored before it was cut as well.

x is the order of events, not their distance: a thousand events that touched none of these lines take no room. A hot
line can have any number of events. The oldest ones beyond `_MAX_COLUMNS` are therefore folded into the first column,
and tracks beyond `_MAX_TRACKS` are counted, not drawn. The template only writes it down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from powercut_records.finding import FindingRecord, RecoveryStore, Store, TimelineEvent, TimelineLine
from powercut_reports import format as fmt
from powercut_reports.medium import Medium, medium_of

_MAX_COLUMNS, _MAX_TRACKS, _MAX_RECOVERY = 40, 12, 16
_LABEL, _FATE, _TOP, _TRACK, _BAR, _AXIS = 92, 150, 30, 38, 14, 26
_MIN_SLOT, _MAX_SLOT, _WIDTH = 26, 110, 1030
_TICK_WIDTH = 8  # pixels a digit, with the gap
_LINE_BYTES = 64


@dataclass(frozen=True)
class Segment:
    x: int
    width: int
    state: str
    title: str


@dataclass(frozen=True)
class Mark:
    x: int
    shape: str  # store, flush or fence
    fate: str
    title: str


@dataclass(frozen=True)
class Track:
    y: int
    label: str
    fate: str  # of the track's stores: persisted, lost, torn, or empty
    decisive: bool  # the failing execution saw this line
    segments: tuple[Segment, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Tick:
    x: int
    text: str


@dataclass(frozen=True)
class Later:
    """After the power cut: a store of recovery, or the next cut."""

    x: int
    store: RecoveryStore | None  # None: a cut
    track: int  # of the store's line; -1: it is not drawn
    after_return: bool  # of a cut: recovery had returned
    folded: int  # stores of recovery before this one that are not drawn


@dataclass(frozen=True)
class Timeline:
    width: int
    height: int
    bar: int
    start_x: int
    crash_x: int
    bottom: int
    tracks: tuple[Track, ...]
    ticks: tuple[Tick, ...]
    folded_events: int
    hidden_tracks: int
    lines: tuple[TimelineLine, ...]  # of the tracks
    columns: Mapping[int, int]  # x of each event that has a column
    later: tuple[Later, ...]
    end_x: int  # of the last cut


def _line_size(finding: FindingRecord) -> int:
    """64 bytes, or the sector of a block medium, read off the image."""
    return max((len(line.bytes) // 2 for line in finding.image), default=0) or _LINE_BYTES


def _stores_in(line: TimelineLine, finding: FindingRecord, size: int) -> list[Store]:
    return [s for s in finding.stores if s.offset < line.offset + size and s.offset + max(s.size, 1) > line.offset]


def _fate(stores: list[Store]) -> str:
    fates = {store.fate for store in [s for s in stores if s.decisive] or stores}
    return next(iter(fates)) if len(fates) == 1 else "torn" if fates else ""


def shape(kind: str) -> str:
    if "store" in kind or kind == "rmw":
        return "store"
    return "fence" if "fence" in kind else "flush"


def _title(event: TimelineEvent, medium: Medium) -> str:
    # "clwb" and "sfence" say more than "flush" and "fence"; "8 bytes" does not.
    named = event.kind in ("flush", "fence") and event.detail
    kind = medium.words.store if event.kind == "store" else event.kind
    words = [event.detail] if named else [kind, medium.told(event.detail)]
    parts = [f"event {fmt.grouped(event.event)}: {words[0]}", *words[1:], event.place]
    return ", ".join(part for part in parts if part) + (
        f"; the {medium.words.line} is now {event.state}" if event.state else ""
    )


def build(finding: FindingRecord) -> Timeline | None:
    """None when the finding has no timeline."""
    size, medium = _line_size(finding), medium_of(finding)
    lines = [line for line in finding.timeline.lines if line.events]
    if not lines:
        return None

    def importance(line: TimelineLine) -> tuple[int, int]:
        stores = _stores_in(line, finding, size)
        return (0 if any(s.decisive for s in stores) else 1 if stores else 2, line.offset)

    shown = sorted(lines, key=importance)[:_MAX_TRACKS]
    shown += _touched_by_recovery(finding, {line.offset for line in lines}, size)[: _MAX_TRACKS - len(shown)]
    numbers = sorted({event.event for line in shown for event in line.events})
    folded = numbers[: max(0, len(numbers) - _MAX_COLUMNS)]
    kept = numbers[len(folded) :]
    # Column 0 stands for everything folded away, or for the time before the first event.
    after = sum(min(len(nested.recovery_stores), _MAX_RECOVERY) + 1 for nested in finding.nested_image)
    slot = max(_MIN_SLOT, min(_MAX_SLOT, (_WIDTH - _LABEL - _FATE) // (len(kept) + 1 + after)))
    column = {number: _LABEL + slot * (index + 1) for index, number in enumerate(kept)}
    crash_x = _LABEL + slot * (len(kept) + 1)

    tracks = []
    for index, line in enumerate(shown):
        stores = _stores_in(line, finding, size)
        fates = {store.event: store.fate for store in stores}
        events = sorted(line.events, key=lambda event: event.event)
        segments, marks = [], []
        for at, event in enumerate(events):
            x = column.get(event.event, _LABEL)
            end = column.get(events[at + 1].event, _LABEL) if at + 1 < len(events) else crash_x
            if end > x:  # equal inside the folded column: only its last state shows
                until = f"event {fmt.grouped(events[at + 1].event)}" if at + 1 < len(events) else "the power cut"
                title = f"{event.state} from event {fmt.grouped(event.event)} until {until}"
                segments.append(Segment(x, end - x, event.state, title))
            if event.event in column:
                marks.append(Mark(x, shape(event.kind), fates.get(event.event, ""), _title(event, medium)))
        y = _TOP + index * _TRACK
        decisive = any(store.decisive for store in stores)
        tracks.append(Track(y, medium.label(line.offset), _fate(stores), decisive, tuple(segments), tuple(marks)))

    later = _later(finding, shown, size, crash_x, slot)
    end_x = later[-1].x if later else crash_x
    bottom = _TOP + len(shown) * _TRACK
    digits = max(len(fmt.grouped(number)) for number in kept)
    step = -(-digits * _TICK_WIDTH // slot)
    ticks = tuple(Tick(column[number], fmt.grouped(number)) for number in kept[::-1][::step][::-1])
    return Timeline(
        width=end_x + _FATE,
        height=bottom + _AXIS,
        bar=_BAR,
        start_x=_LABEL,
        crash_x=crash_x,
        bottom=bottom,
        tracks=tuple(tracks),
        ticks=ticks,
        folded_events=len(folded),
        hidden_tracks=len(lines) - sum(bool(line.events) for line in shown),
        lines=tuple(shown),
        columns=column,
        later=later,
        end_x=end_x,
    )


def _touched_by_recovery(finding: FindingRecord, known: set[int], size: int) -> list[TimelineLine]:
    stores = [store for nested in finding.nested_image for store in nested.recovery_stores]
    offsets = dict.fromkeys(store.offset - store.offset % size for store in stores)
    return [TimelineLine(offset=offset) for offset in offsets if offset not in known]


def _later(finding: FindingRecord, shown: list[TimelineLine], size: int, crash_x: int, slot: int) -> tuple[Later, ...]:
    later: list[Later] = []
    x = crash_x
    for nested in finding.nested_image:
        folded = max(0, len(nested.recovery_stores) - _MAX_RECOVERY)
        for store in nested.recovery_stores[folded:]:
            x += slot
            track = next((n for n, line in enumerate(shown) if 0 <= store.offset - line.offset < size), -1)
            later.append(Later(x, store, track, False, folded))
            folded = 0
        x += slot
        later.append(Later(x, None, -1, nested.after_return, 0))
    return tuple(later)
