"""Crash points, and the rules of a model that give the contents at each.

A model's rules are in its medium's folder, `replayer/media/<medium>/reference.py`; `media.py` lists them. A crash
point is before every event that takes a content away from some line, and after every `end`; before a `begin` when there
were stores since the crash point before, and at the end of the program. Between two of these the sets of legal contents
only grow: a content that is legal at an instant is legal at the next crash point. A model may have other crash points.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar

from .program import STORE_OPS, Event, Program

Contents = dict[int, list[bytes]]  # line -> its sorted distinct contents


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """One instant: `side` is "before" or "after" the event `index`; `lines` holds the pending lines only."""

    side: str
    index: int
    states: int
    lines: Contents

    def to_json(self) -> dict[str, Any]:
        lines = {str(line): [c.hex() for c in contents] for line, contents in sorted(self.lines.items())}
        return {self.side: self.index, "states": str(self.states), "lines": lines}


class Rules(ABC):
    """The rules of a model, as they stand at one instant of a program."""

    #: Kinds of flushes and fences that a program of the model may have.
    kinds: ClassVar[tuple[str, ...]]

    def __init__(self, program: Program) -> None:
        self.program = program

    @abstractmethod
    def apply(self, event: Event, index: int) -> None:
        """Makes the event, number `index` of the program."""

    @abstractmethod
    def make_durable(self, event: Event) -> None:
        """Does the event's part as a flush or a fence. A second time it changes nothing."""

    @abstractmethod
    def lines(self) -> list[int]:
        """The addresses of all lines that a store has reached."""

    @abstractmethod
    def contents(self, line: int) -> list[bytes]:
        """Sorted distinct contents of this line after a crash now."""

    def crash_points(self) -> Iterator[CrashPoint]:
        """Every crash point of the program, in order."""
        stored = False  # since the last crash point
        events = self.program.events
        for index, event in enumerate(events):
            if event.op == "begin" and stored:
                yield point_now(self, "after", index - 1)
                stored = False
            takes_away = event.op in ("flush", "fence", "rmw", "cas-fail")
            before = point_now(self, "before", index) if takes_away else None
            if before and self._loses_content(event, before):
                yield before
                stored = False
            self.apply(event, index)
            stored = stored or event.op in STORE_OPS
            if event.op == "end" or index == len(events) - 1:
                yield point_now(self, "after", index)
                stored = False

    def _loses_content(self, event: Event, before: CrashPoint) -> bool:
        self.make_durable(event)
        return point_now(self, "before", before.index).lines != before.lines


def point_now(model: Rules, side: str, index: int) -> CrashPoint:
    contents = {line: model.contents(line) for line in model.lines()}
    pending = {line: choices for line, choices in contents.items() if len(choices) > 1}
    return CrashPoint(side, index, prod(len(choices) for choices in pending.values()), pending)
