"""Fixes as edits of a trace (checker/EDITS.md), and what becomes of the trace with them.

A fix belongs to a line of source. It is applied wherever the run passes that line by the same path of calls, not only
where the finding is. Three fixes are known:

- `fence`: B's line is flushed before A, but no fence follows the flush: a fence after each such flush.
- `flush-and-fence`: the line of B is flushed and a fence follows, right after B.
- `reorder`: A is stored before B. A is moved behind B, and each is flushed and fenced. The program may store to A's
  bytes again before it comes to B. Then everything that it does from A until the last such store is moved, in its
  order.

Known inaccuracies: the values in an edited trace are those that were recorded. Where the code would compute others
after the change, the trace does not know them.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from powercut.base import scratch
from powercut.cause.culprits import Culprit, Culprits, RecoveryStore
from powercut.cause.trace_view import RawStack, TraceEvent, TraceView
from powercut.engine import engine
from powercut.engine.events import Module
from powercut.symbols.symbolize import of_record
from powercut_records import places

FixKind = Literal["fence", "flush-and-fence", "reorder"]


@dataclass(frozen=True, kw_only=True)
class Edits:
    """The edits of a trace that apply a fix; empty when the fix fits nowhere in the trace."""

    insert: tuple[dict[str, Any], ...] = ()
    move: tuple[dict[str, Any], ...] = ()
    recovery: tuple[dict[str, Any], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.insert or self.move or self.recovery)

    def as_json(self) -> dict[str, Any]:
        return {
            "edits": 1,
            "drop": [],
            "insert": list(self.insert),
            "move": list(self.move),
            "recovery": list(self.recovery),
        }


@dataclass(frozen=True, kw_only=True)
class Fix:
    """A fix by the paths of its code, so that the fix can be applied to any trace of that code."""

    kind: FixKind
    first: tuple[tuple[str, ...], ...]
    second: tuple[tuple[str, ...], ...] = ()
    #: Stacks of recovery's stores, as frames of a finding record.
    recovery: tuple[tuple[places.Frame, ...], ...] = ()
    #: For `reorder`: A is moved with all events up to the last store to A's bytes.
    block: bool = False

    def edits(self, view: TraceView) -> Edits:
        """The edits that apply the fix to a trace."""
        recovery = tuple(_after(frames) for stack in self.recovery if (frames := _physical(stack, view.modules)))
        if self.kind == "fence":
            return Edits(insert=tuple(self._fences(view)), recovery=recovery)
        if self.kind == "flush-and-fence":
            groups = self._firsts(view)
            if not view.edits_reach_recovery or view.medium.device:  # no edit reaches what recovery flushes there
                return Edits(insert=tuple(_durable(group, view) for group in groups))
            # Recovery may pass the same line: it is mended there as well.
            stacks = dict.fromkeys(_own_frames(group[0].stack, view) for group in groups)
            recovery += tuple(_after([list(frame) for frame in stack]) for stack in stacks if stack)
            return Edits(insert=tuple(_durable(group, view) for group in groups), recovery=recovery)
        insert, move = self._blocks_reordered(view) if self.block else self._reordered(view)
        return Edits(insert=tuple(insert), move=tuple(move), recovery=recovery)

    def _fences(self, view: TraceView) -> Iterator[dict[str, Any]]:
        """A fence after each flush of a line of B that lies between B and the end of its operation."""
        done = set()
        for path in self.first:
            for group in view.groups(path):
                lines = {line for event in group for line in event.lines()}
                _, end = view.operation_of(group[-1].index)
                for event in view.events[group[-1].index : end]:
                    if event.kind == "flush" and lines & set(event.lines()) and event.index not in done:
                        done.add(event.index)
                        yield {"after": event.index, "flush": None, "fence": "sfence", "stack_of": event.index}

    def _waiting(self, view: TraceView) -> Iterator[tuple[list[TraceEvent], list[list[TraceEvent]]]]:
        """Returns each A, or block of A, that is to be moved, with the B's behind it that it waits for; may be
        empty."""
        firsts = self._firsts(view)
        seconds = sorted((group for path in self.second for group in view.groups(path)), key=lambda g: g[0].index)
        for group in seconds:
            _, end = view.operation_of(group[0].index)
            moved = _block(group, view.events[group[0].index : end]) if self.block else group
            behind = [b for b in firsts if moved[-1].index < b[0].index < end]
            # Where one operation does this many times, each A waits for the B's up to the next A; several A's may
            # wait for one B.
            later = [a[0].index for a in seconds if behind and a[0].index > behind[0][0].index]
            yield moved, [b for b in behind if b[0].index < min(later, default=end)]

    def _firsts(self, view: TraceView) -> list[list[TraceEvent]]:
        return [group for path in self.first for group in view.groups(path)]

    def _reordered(self, view: TraceView) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        insert: list[dict[str, Any]] = []
        move: dict[int, list[int]] = {}
        for group, behind in self._waiting(view):
            if not behind:
                continue
            last = max(b[-1].index for b in behind)
            # Blocks that go to one place go together: they may store to the same bytes, and keep their order.
            if last not in move:
                insert += [_durable(b, view) for b in behind]
            move.setdefault(last, []).extend(event.index for event in group)
            insert.append(_durable(group, view))
        return insert, [{"events": events, "after": after} for after, events in move.items()]

    def _blocks_reordered(self, view: TraceView) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """As `_reordered`. A block that waits for what is itself moved goes behind that: a chain is turned around."""
        insert: list[dict[str, Any]] = []
        move: list[dict[str, Any]] = []
        firsts = self._firsts(view)
        durable: set[int] = set()
        gone_to: dict[int, int] = {}  # events of blocks -> the event behind which they stand now
        for block, behind in reversed(list(self._waiting(view))):
            if not behind:
                if any(block[0].index < b[0].index <= block[-1].index for b in firsts):
                    return [], []  # B is what the block ends with.
                continue
            insert += [_durable(b, view) for b in behind if b[-1].index not in durable]
            durable |= {b[-1].index for b in behind}
            last = max(b[-1].index for b in behind)
            place = gone_to.get(last, last)
            gone_to |= {event.index: place for event in block}
            move.append({"events": [event.index for event in block], "after": place})
            insert.append(_durable(block[-1:], view))
        return insert, move


def _block(group: Sequence[TraceEvent], until: Sequence[TraceEvent]) -> list[TraceEvent]:
    """Returns the thread's stores, flushes and fences from A on, up to its last store to A's bytes."""
    begin = min(event.offset for event in group)
    end = max(event.offset + event.size for event in group)
    mine = [
        event
        for event in until
        if event.thread == group[0].thread and (event.stores or event.kind in ("flush", "fence"))
    ]
    again = [
        n for n, event in enumerate(mine) if event.stores and event.offset < end and begin < event.offset + event.size
    ]
    return mine[: again[-1] + 1]


def _after(frames: Sequence[Sequence[int]]) -> dict[str, Any]:
    """A flush and a fence behind the stores that recovery makes at these frames."""
    return {"frames": list(frames), "do": "insert-after", "flush": True, "fence": True}


def _own_frames(stack: RawStack, view: TraceView) -> RawStack:
    """A stack out to the line that its place names."""
    for depth in range(1, len(stack) + 1):
        if any(frame.site == view.place(stack).site for frame in view.symbolizer.stack(view.modules, stack[:depth])):
            return stack[:depth]
    return stack[:1]


def _durable(group: Sequence[TraceEvent], view: TraceView) -> dict[str, Any]:
    """An edit that makes a group of stores durable right after its last store."""
    begin = min(event.offset for event in group)
    end = max(event.offset + event.size for event in group)
    last = group[-1].index
    return {"after": last, **view.medium.edit(begin, end), "stack_of": last}


def _physical(stack: Sequence[places.Frame], modules: Sequence[Module]) -> list[list[int]]:
    """The frames of a symbolised stack as (module, offset) of the trace, innermost first, out to the user's code."""
    numbers = {Path(module.path).name: number for number, module in enumerate(modules)}
    frames: list[list[int]] = []
    for frame in stack:
        number = numbers.get(frame.module)
        if number is None:
            return []
        if [number, frame.offset] not in frames[-1:]:
            frames.append([number, frame.offset])
        if of_record(frame).belongs_to_user:
            break
    return frames


def candidates(culprits: Culprits, view: TraceView) -> list[Fix]:
    """The fixes to try, the smallest first; none where no flush, fence or order can help."""
    first = _paths(culprits.first, view)
    if culprits.in_recovery:
        stacks = tuple(tuple(s.record.stack) for s in culprits.first if isinstance(s, RecoveryStore))
        # The program may do the work of recovery by the same code.
        return [Fix(kind="flush-and-fence", first=(), recovery=stacks)] if stacks else []
    if not first:
        return []
    if not stored_first(culprits):
        second = _paths(culprits.second, view)
        return [Fix(kind="reorder", first=first, second=second, block=block) for block in (False, True) if second]
    fixes = [Fix(kind="flush-and-fence", first=first)]
    fence = Fix(kind="fence", first=first)
    return [fence, *fixes] if fence.edits(view) else fixes


def stored_first(culprits: Culprits) -> bool:
    """Whether the program stores B before A, so that only a flush or a fence is missing."""
    if culprits.second_role == "acknowledgement":
        return culprits.first_role == "store"
    if culprits.first_role != "store":
        return False
    before = [event.index for event in culprits.first if isinstance(event, TraceEvent)]
    after = [event.index for event in culprits.second if isinstance(event, TraceEvent)]
    return not after or (bool(before) and max(before) < max(after))


def _paths(stores: Sequence[Culprit], view: TraceView) -> tuple[tuple[str, ...], ...]:
    events = [event for event in stores if isinstance(event, TraceEvent)]
    return tuple(dict.fromkeys(view.place(event.stack).path for event in events))


def apply(edits: Edits, trace: Path, out: Path, *, engine_path: Path) -> None:
    """Writes the edited trace."""
    with scratch.file([json.dumps(edits.as_json())]) as written:
        out.parent.mkdir(parents=True, exist_ok=True)
        arguments = ["edit", "--trace", str(trace), "--edits", written, "--out", str(out)]
        for _ in engine.stream(engine_path, arguments):
            pass
