"""Costs of single operations of a recorded run, counted in its trace.

Counted for each operation are: stores (non-temporal ones also by themselves) and their bytes; distinct 64-byte lines
and 256-byte blocks stored to; flushes and fences; distinct lines of the pool that were read before the operation stored
to them (the recorder counts these; a trace holds no loads); and *write-backs*, the lines that go to memory:

- a flush of a line that was stored to since its last write-back counts; a flush of a clean line does not;
- all non-temporal stores of a thread to one line between two of its fences are one: they leave a write-combining
  buffer together.

*Write amplification* is 64 * write-backs / (bytes of key + bytes of value), of the item that an insert, an update or an
erase is about. Where items differ in size, the bytes are the mean of all items that the run writes. Other operations
have none. Known inaccuracies: a line that is never flushed is written back when the
cache evicts it, at a time that nobody knows; it counts nowhere. The bytes of the medium are more still where it
reads and writes in blocks of 256 bytes: `blocks` tells how many an operation stored to, `blocks_read` how many it read.
A cache of `cached_lines` lines lies before these reads; without one every operation reads all its lines from there.

With `zeroing` off, a flush counts only if its line has ever held something besides zeroes. A table whose allocator
hands out zeroed memory, as the paper's do, makes no such flush.

An operation that a scenario's power cut ended is left out: it did not do all that it does. Counted are operations of
explored phases. A `maintain` is called by its command: a resize is `expand`. A phase of threads is counted as one
caller makes its operations, thread after thread: a count knows what locks cost, and no contention.
"""

import json
import struct
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.engine import engine, events, trace_events
from powercut.engine.engine import Interrupt
from powercut.engine.trace_events import BLOCK_SHIFT, LINE_SHIFT, units
from powercut.scenarios.sizes import are_mixed, ends, of_plan

#: Operations that are about one item.
_OF_AN_ITEM = ("insert", "update", "erase")


@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """Sums or averages over operations, or the counts of one."""

    stores: float = 0
    nt_stores: float = 0
    store_bytes: float = 0
    lines: float = 0
    blocks: float = 0
    flushes: float = 0
    fences: float = 0
    lines_read: float = 0
    blocks_read: float = 0
    write_backs: float = 0

    def divided(self, count: float) -> "Counts":
        """Each number divided by `count`."""
        return Counts(**{name: getattr(self, name) / count for name in COUNTS})


#: Names of what is counted, in the order of tables.
COUNTS = tuple(item.name for item in fields(Counts))


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """One operation. `index` counts all operations of the trace; `items` were in the table when it began.

    `code` is what the operation answered.
    """

    index: int
    kind: str
    key: str | None
    items: int
    counts: Counts
    code: str = "OK"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The operations of explored phases, and the bytes of an item of the scenario: of its key and its value.

    Where items differ in size, the bytes are the mean of what was written, rounded.
    """

    operations: list[Operation]
    item_bytes: int

    def kinds(self) -> list[str]:
        """In the order in which they first occur."""
        return list(dict.fromkeys(operation.kind for operation in self.operations))

    def of(self, kind: str) -> list[Operation]:
        """The operations of a kind."""
        return [operation for operation in self.operations if operation.kind == kind]

    def amplification(self, kind: str, counts: Counts) -> float | None:
        """Bytes written back for each byte of an item; None for operations that are about no item."""
        return counts.write_backs * 64 / self.item_bytes if kind in _OF_AN_ITEM and self.item_bytes else None


def total(operations: Iterable[Operation]) -> Counts:
    """Their sums."""
    return _combined(operations, sum)


def bounds(operations: Sequence[Operation]) -> tuple[Counts, Counts]:
    """The least and the most of each count, each on its own."""
    return _combined(operations, min), _combined(operations, max)


def _combined(operations: Iterable[Operation], how: Any) -> Counts:
    each = [operation.counts for operation in operations]
    return Counts(**{name: how(getattr(counts, name) for counts in each) for name in COUNTS})


@dataclass
class _Running:
    begin: dict[str, Any]
    index: int
    items: int
    explored: bool
    #: The names of COUNTS that are sums.
    sums: Counter[str] = field(default_factory=Counter)
    lines: set[int] = field(default_factory=set)
    blocks: set[int] = field(default_factory=set)


class Meter:
    """Counts, one record of a trace after the other.

    `lines_read` and `blocks_read` are of each operation, by its index.
    """

    def __init__(
        self,
        lines_read: Sequence[int] = (),
        blocks_read: Sequence[int] = (),
        *,
        explored: bool = False,
        zeroing: bool = True,
    ) -> None:
        self.operations: list[Operation] = []
        self._lines_read, self._blocks_read = lines_read, blocks_read
        self._explored = explored
        self._begun = 0
        self._items = 0
        self._written: list[int] = []  # bytes of each item that an insert or an update wrote
        self._running: dict[int, _Running] = {}
        self._dirty: set[int] = set()
        self._held: set[int] | None = None if zeroing else set()  # lines that have held something besides zeroes
        self._combining: dict[int, set[int]] = {}  # by thread: lines with non-temporal stores since its last fence

    def add(self, record: dict[str, Any]) -> None:
        """The next record."""
        kind, thread = record["kind"], record["thread"]
        running = self._running.get(thread)
        if kind in ("store", "nt-store"):
            self._store(record, running, is_nt=kind == "nt-store")
        elif kind == "flush":
            line = record["offset"] >> LINE_SHIFT
            if running and (self._held is None or line in self._held):
                running.sums.update(flushes=1, write_backs=line in self._dirty)
            self._dirty.discard(line)
        elif kind == "fence":
            if running:
                running.sums["fences"] += 1
            self._combining.pop(thread, None)
        elif kind == "op-begin":
            self._running[thread] = _Running(record, self._begun, self._items, self._explored)
            self._begun += 1
            if record["code"] in ("insert", "update"):
                self._written.append(len(record["key"] + record["value"]) // 2)
        elif kind == "op-end" and running:
            self._end(record, running)
        elif kind == "phase":
            self._explored = record["explore"]
        elif kind == "cut":
            self._running.clear()
            self._dirty.clear()
            self._combining.clear()

    @property
    def item_bytes(self) -> int:
        """The mean bytes of the items that were written, rounded; 0 if none was."""
        return round(sum(self._written) / len(self._written)) if self._written else 0

    def _store(self, record: dict[str, Any], running: _Running | None, *, is_nt: bool) -> None:
        offset, size = record["offset"], len(record["bytes"]) // 2
        lines = units(offset, size, LINE_SHIFT)
        if self._held is not None and record["bytes"].strip("0"):
            self._held.update(lines)
        combined = 0
        if is_nt:
            waiting = self._combining.setdefault(record["thread"], set())
            combined = sum(line not in waiting for line in lines)
            waiting.update(lines)
        else:
            self._dirty.update(lines)
        if running:
            running.sums.update(stores=1, nt_stores=is_nt, store_bytes=size, write_backs=combined)
            running.lines.update(lines)
            running.blocks.update(units(offset, size, BLOCK_SHIFT))

    def _end(self, record: dict[str, Any], running: _Running) -> None:
        del self._running[record["thread"]]
        kind = running.begin["code"]
        if record["code"] == "OK":
            self._items += (kind == "insert") - (kind == "erase")
        if not running.explored:
            return
        counts = Counts(
            **running.sums,
            lines=len(running.lines),
            blocks=len(running.blocks),
            lines_read=_at(self._lines_read, running.index),
            blocks_read=_at(self._blocks_read, running.index),
        )
        self.operations.append(
            Operation(
                index=running.index,
                kind=(running.begin.get("text") or kind) if kind == "maintain" else kind,
                key=trace_events.key_name(running.begin.get("key") or ""),
                items=running.items,
                counts=counts,
                code=record["code"],
            )
        )


def _at(counts: Sequence[int], index: int) -> int:
    return counts[index] if index < len(counts) else 0


def measure(plan: dict[str, Any], *, cached_lines: int = 0, interrupt: Interrupt | None = None) -> Measured:
    """Records `plan` and measures its operations; nothing is kept on disk."""
    (measured,) = measure_each(plan, zeroing=(True,), cached_lines=cached_lines, interrupt=interrupt)
    return measured


def measure_each(
    plan: dict[str, Any], *, zeroing: Sequence[bool], cached_lines: int = 0, interrupt: Interrupt | None = None
) -> list[Measured]:
    """Measures one recording of `plan` as often as `zeroing` says, each time with that word of the module."""
    engine_path = paths.engine()
    plan = in_turn(plan)
    with tempfile.TemporaryDirectory(prefix="powercut-costs-") as folder:
        plan_file, trace, loads, blocks = (Path(folder) / name for name in ("plan.json", "run.pct", "loads", "blocks"))
        plan_file.write_text(json.dumps(plan), encoding="utf-8")
        given = ["record", "--plan", str(plan_file), "--trace", str(trace), "--count-loads", "--loads", str(loads)]
        given += ["--media-reads", str(blocks), "--cached-lines", str(cached_lines)]
        engine.single(engine_path, given, events.Recorded, interrupt=interrupt)
        read = [[number for (number,) in struct.iter_unpack("<I", file.read_bytes())] for file in (loads, blocks)]
        explored = trace_events.starts_explored(plan)
        meters = [Meter(*read, explored=explored, zeroing=each) for each in zeroing]
        for record in trace_events.records(engine_path, trace, interrupt=interrupt):
            for meter in meters:
                meter.add(record)
    sizes = of_plan(plan["scenario"]["key_size"]), of_plan(plan["scenario"]["value_size"])
    item_bytes = meters[0].item_bytes if are_mixed(sizes) else sum(ends(size)[1] for size in sizes)
    return [Measured(operations=meter.operations, item_bytes=item_bytes) for meter in meters]


def in_turn(plan: dict[str, Any]) -> dict[str, Any]:
    """Returns the plan with one caller in the place of its threads, who makes their operations in turn."""
    if not any(phase.get("threads") for phase in plan["scenario"]["phases"]):
        return plan
    phases = []
    for phase in plan["scenario"]["phases"]:
        steps = [step for thread in phase.get("threads", []) for step in thread]
        if any("any" in step for step in steps):
            raise UsageError(
                "its threads choose between operations, and a cost is that of one choice",
                where=f"scenario {plan['scenario']['name']}",
                next_step="Write one operation in the place of each 'any'.",
            )
        kept = {key: value for key, value in phase.items() if key not in ("threads", "alike")}
        phases.append({**kept, "steps": steps} if steps else phase)
    rest = {key: value for key, value in plan.items() if key != "search"}
    return {**rest, "scenario": {**plan["scenario"], "phases": phases}}
