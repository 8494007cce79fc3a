"""Effects of a trace's flushes and fences: which had nothing to do, and whether a set of them can go without a trace.

Both follow the floors of the persistency model (replayer/MODELS.md) through the trace, as numbers of stores instead of
bytes: `clwb` and `clflushopt` of a thread remember what a line holds, the next fence of that thread makes it durable,
`clflush` does so at once. A fence makes its thread's non-temporal stores durable. With caches inside the persistence
domain (`eadr`) flushes do nothing, and fences wait for non-temporal stores alone.

`unchanged` is what redundancy stands on. It follows the run with and without the dropped events side by side. It holds
when the floors are the same at every instant that can show the difference. Such an instant is a store, the begin or end
of an operation, another fence that makes something durable, or a power cut. Floors may differ between two such instants
(a flush whose work the next one does). Both runs then have the same crash states under the same obligations, at another
event. Only explored phases count. A store of the bytes that are there already adds no content to its line and counts as
none; this assumes that the pool begins zeroed, as all recorded targets' pools do.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from powercut.engine.trace_events import LINE_SHIFT, units

_LINE = 1 << LINE_SHIFT


@dataclass
class _Floors:
    """How far the stores to each line are durable, and what waits for a thread's fence."""

    cached: bool  # caches are volatile
    stored: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))  # by line: its last store
    durable: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    flushed: defaultdict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))  # by thread
    streaming: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))  # by thread

    def store(self, line: int, number: int) -> None:
        if self.cached:
            self.stored[line] = number

    def flush(self, record: dict[str, Any]) -> bool:
        """Whether the flush had anything to do."""
        line, mine = record["offset"] >> LINE_SHIFT, self.flushed[record["thread"]]
        mark, at_once = self.stored[line], record["code"] == "clflush"
        # Lines that clwb has taken wait for a fence still; those of clflush do not.
        if mark <= max(self.durable[line], 0 if at_once else mine.get(line, 0)):
            return False
        if at_once:
            self.durable[line] = mark
        else:
            mine[line] = mark
        return True

    def fence(self, thread: int) -> tuple[list[int], bool]:
        """The lines of which more is durable now, and whether non-temporal stores are."""
        waiting = self.flushed.pop(thread, {})
        raised = [line for line, mark in waiting.items() if mark > self.durable[line]]
        self.durable.update({line: waiting[line] for line in raised})
        return raised, self.streaming.pop(thread, 0) > 0

    def cut(self) -> None:
        self.durable.update(self.stored)
        self.flushed.clear()
        self.streaming.clear()


def idle_events(records: Iterable[dict[str, Any]], *, model: str) -> frozenset[int]:
    """Indexes of the flushes and fences that had nothing to do: no floor is lower at any instant without them.

    All can be dropped together, since one that had nothing to do left the model as it was.
    """
    floors = _Floors(cached=model != "eadr")
    idle: set[int] = set()
    for number, record in enumerate(records, start=1):
        kind = record["kind"]
        if kind == "store":
            for line in units(record["offset"], len(record["bytes"]) // 2, LINE_SHIFT):
                floors.store(line, number)
        elif kind == "nt-store":
            floors.streaming[record["thread"]] = number
        elif kind == "flush":
            if not floors.flush(record):
                idle.add(record["index"])
        elif kind == "fence":
            if floors.fence(record["thread"]) == ([], False):
                idle.add(record["index"])
        elif kind == "cut":
            floors.cut()
    return frozenset(idle)


def unchanged(records: Iterable[dict[str, Any]], dropped: frozenset[int], *, model: str, explored: bool = True) -> bool:
    """True when the run without the `dropped` flushes and fences provably has the same crash states.

    `explored`: whether what comes before the first phase is.
    """
    before, after = _Floors(cached=model != "eadr"), _Floors(cached=model != "eadr")
    image: defaultdict[int, bytearray] = defaultdict(lambda: bytearray(_LINE))
    lines: set[int] = set()  # whose floors differ
    threads: set[int] = set()  # whose non-temporal stores are durable in one run only
    for number, record in enumerate(records, start=1):
        kind = record["kind"]
        if kind == "flush":
            acts = before.flush(record) and record["code"] == "clflush"
            if acts and explored and (lines or threads):
                return False
            if record["index"] not in dropped:
                after.flush(record)
            _compare([record["offset"] >> LINE_SHIFT], before, after, lines)
            continue
        if kind == "fence":
            thread = record["thread"]
            raised, streamed = before.fence(thread)
            if (raised or streamed) and explored and (lines or threads):
                return False
            if record["index"] not in dropped:
                raised = [*raised, *after.fence(thread)[0]]
            _compare(raised, before, after, lines)
            if before.streaming[thread] == after.streaming[thread]:
                threads.discard(thread)
            else:
                threads.add(thread)
            continue
        if kind not in _SHOWING:
            continue
        if explored and (lines or threads):
            return False
        if kind in ("store", "nt-store"):
            _store(record, number, image, before, after)
        elif kind == "phase":
            explored = record["explore"]
            if explored and (lines or threads):
                return False
        elif kind == "cut":
            before.cut()
            after.cut()
            lines.clear()
            threads.clear()
    return not (explored and (lines or threads))


#: Records at which a difference of floors can be seen.
_SHOWING = frozenset({"store", "nt-store", "op-begin", "op-end", "phase", "cut"})


def _compare(lines: Iterable[int], before: _Floors, after: _Floors, differing: set[int]) -> None:
    for line in lines:
        if before.durable[line] == after.durable[line]:
            differing.discard(line)
        else:
            differing.add(line)


def _store(record: dict[str, Any], number: int, image: dict[int, bytearray], before: _Floors, after: _Floors) -> None:
    content, at = bytes.fromhex(record["bytes"]), record["offset"]
    for line in units(at, len(content), LINE_SHIFT):
        start, end = max(at, line * _LINE), min(at + len(content), (line + 1) * _LINE)
        part = content[start - at : end - at]
        held = image[line]
        place = slice(start - line * _LINE, end - line * _LINE)
        if record["kind"] == "store" and held[place] == part:
            continue
        held[place] = part
        if record["kind"] == "store":
            before.store(line, number)
            after.store(line, number)
    if record["kind"] == "nt-store":
        for floors in (before, after):
            floors.streaming[record["thread"]] = number
