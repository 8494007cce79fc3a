"""A trace as Python sees it: its events, the operations that they belong to, and the source lines that they come from.

The whole trace is held in memory, so this is for the small traces that findings are explained on (`LIMIT`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from powercut.base.errors import UsageError
from powercut.engine import engine
from powercut.engine.events import Module, Modules
from powercut.symbols import source
from powercut.symbols.function_names import function_name
from powercut.symbols.place_identity import PlaceIdentity, identity_of
from powercut.symbols.symbolize import Frame, Symbolizer, site_frame
from powercut_records.media import MEMORY, Medium

#: Most events that a trace may have to be looked through.
LIMIT = 200_000
LINE = 64
STORES = ("store", "nt-store")

RawStack = tuple[tuple[int, int], ...]
#: `function file:line` of the user's frames, innermost first: the same code path in every build and every trace.
Path_ = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class TraceEvent:
    """One event; `offset` and `size` in bytes of the pool, of stores and flushes."""

    index: int
    kind: str
    thread: int = 0
    offset: int = 0
    bytes: str = ""
    code: str = ""
    stack: RawStack = ()

    @property
    def size(self) -> int:
        return len(self.bytes) // 2

    @property
    def stores(self) -> bool:
        return self.kind in STORES

    def lines(self) -> range:
        """The lines that a store touches, or that of a flush, as numbers."""
        return range(self.offset // LINE, (self.offset + max(self.size, 1) - 1) // LINE + 1)


@dataclass(frozen=True, kw_only=True)
class Place:
    """A line of source, and the path of calls that led to it."""

    site: str | None
    function: str
    text: str
    path: Path_
    frames: tuple[Frame, ...] = field(repr=False, default=())
    identity: PlaceIdentity | None = None


@dataclass(frozen=True, kw_only=True)
class TraceView:
    """All events of a trace."""

    file: Path
    events: Sequence[TraceEvent]
    modules: Sequence[Module]
    symbolizer: Symbolizer = field(repr=False)
    #: Whether recovery makes the edits of a trace, too: not if recovery is another process than the engine.
    edits_reach_recovery: bool = True
    #: The medium of the pool.
    medium: Medium = MEMORY

    def place(self, stack: RawStack) -> Place:
        """Where in the source a stack points to."""
        if stack not in self._places:
            self._places[stack] = place_of(self.symbolizer.stack(self.modules, stack))
        return self._places[stack]

    @cached_property
    def _places(self) -> dict[RawStack, Place]:
        return {}

    def stores_between(self, first: int, last: int) -> list[TraceEvent]:
        """The stores among the events [first, last)."""
        return [event for event in self.events[max(first, 0) : last] if event.stores]

    def contents(self, offset: int, last: int) -> Iterator[tuple[TraceEvent, str]]:
        """For the line at `offset`, yields each store before event `last` and the line's 64 bytes after that store, in
        hex.

        Right for a pool that was zero when the trace began and was never cut; elsewhere no image has this content.
        """
        content = bytearray(LINE)
        for event in self.stores_between(0, last):
            begin, end = max(event.offset, offset), min(event.offset + event.size, offset + LINE)
            if begin < end:
                data = bytes.fromhex(event.bytes)
                content[begin - offset : end - offset] = data[begin - event.offset : end - event.offset]
                yield event, content.hex()

    def operation_of(self, index: int) -> tuple[int, int]:
        """The events [begin, end] of the operation that event `index` lies in; those around it, outside of any."""
        begin, end = index, index
        while begin > 0 and self.events[begin].kind not in ("op-begin", "op-end"):
            begin -= 1
        while end < len(self.events) - 1 and self.events[end].kind != "op-end":
            end += 1
        return begin, end

    def underway_until(self, index: int) -> int:
        """The event by which the operations that are under way right before event `index` have ended, or are cut.

        Where none is: the beginning of the next one, or the end of the trace. A program may store outside of
        operations, such as when it opens its file.
        """
        underway: set[int] = set()
        for event in self.events:
            if event.index >= index and (event.kind == "cut" or (event.kind == "op-begin" and not underway)):
                return event.index
            if event.kind == "op-begin" and event.index < index:
                underway.add(event.thread)
            elif event.kind == "op-end":
                underway.discard(event.thread)
                if event.index >= index and not underway:
                    return event.index
            elif event.kind == "cut":
                underway.clear()
        return len(self.events)

    def groups(self, path: Path_) -> Iterator[list[TraceEvent]]:
        """The stores that one run of the code at `path` made, as groups of neighbours: one `memcpy` is many stores."""
        group: list[TraceEvent] = []
        for event in self.events:
            if event.stores and self.place(event.stack).path == path:
                if group and event.stack != group[-1].stack:
                    yield group
                    group = []
                group.append(event)
            elif group and event.kind not in ("marker", "allocation", "free"):
                yield group
                group = []
        if group:
            yield group


def place_of(frames: Sequence[Frame]) -> Place:
    """The place that frames point to."""
    chosen = site_frame(frames)
    own = [frame for frame in frames if frame.belongs_to_user] or [frame for frame in frames if not frame.in_library]
    return Place(
        site=chosen.place if chosen else None,
        function=function_name(chosen.function) if chosen else "",
        text=source.line(chosen.file, chosen.line).strip() if chosen and chosen.file else "",
        path=tuple(f"{function_name(frame.function)} {frame.place}" for frame in own),
        frames=tuple(frames),
        identity=identity_of(chosen),
    )


def read(trace: Path, *, engine_path: Path, symbolizer: Symbolizer) -> TraceView:
    """Reads a trace whole; UsageError for one that is too long."""
    found: list[TraceEvent] = []
    modules: Sequence[Module] = ()
    for event, raw in engine.stream(engine_path, ["dump", "--format", "json", "--trace", str(trace)]):
        if isinstance(event, Modules):
            modules = event.modules
        elif raw["event"] == "trace_event":
            if len(found) == LIMIT:
                raise UsageError(
                    f"the trace has more than {LIMIT:,} events",
                    where=str(trace),
                    next_step="Minimise the finding first: 'powercut minimise'.",
                )
            found.append(
                TraceEvent(
                    index=raw["index"],
                    kind=raw["kind"],
                    thread=raw["thread"],
                    offset=raw.get("offset", 0),
                    bytes=raw.get("bytes", ""),
                    code=raw.get("code", ""),
                    stack=tuple((module, offset) for module, offset in raw["stack"]),
                )
            )
    return TraceView(file=trace, events=found, modules=modules, symbolizer=symbolizer)
