"""Crash points and the answer for each, in the form that `powercut-engine model` gives.

`adr`: before every event that takes a content away from some line, and after every `end`; before a `begin` when there
were stores since the crash point before, and at the end of the program. Between two of these the sets of legal contents
only grow: a content that is legal at an instant is legal at the next crash point. Devices: as `adr`, with force and
flush of the device in the place of flush and fence. `eadr`: each store while it is in flight, after every `end`, and at
the end of the program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

from .devices import Block, Device, Flash
from .models import Adr, Eadr
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


def crash_points(program: Program, model: Adr | Device | None = None) -> list[CrashPoint]:
    """Every crash point of the program, in order. `model` replaces the model (tests pass broken ones)."""
    if model is None:
        makers: dict[str, type[Adr] | type[Device]] = {"adr": Adr, "eadr": Eadr, "block": Block, "flash": Flash}
        model = makers[program.model](program)
    return list(_eadr_points(program, model) if isinstance(model, Eadr) else _adr_points(program, model))


def answer(program: Program) -> dict[str, Any]:
    return {"crash_points": [point.to_json() for point in crash_points(program)]}


def point_now(model: Adr | Device, side: str, index: int) -> CrashPoint:
    contents = {line: model.contents(line) for line in model.lines()}
    pending = {line: choices for line, choices in contents.items() if len(choices) > 1}
    return CrashPoint(side, index, prod(len(choices) for choices in pending.values()), pending)


def _adr_points(program: Program, model: Adr | Device) -> Iterator[CrashPoint]:
    stored = False  # since the last crash point
    for index, event in enumerate(program.events):
        if event.op == "begin" and stored:
            yield point_now(model, "after", index - 1)
            stored = False
        takes_away = event.op in ("flush", "fence", "rmw", "cas-fail")
        before = point_now(model, "before", index) if takes_away else None
        if before and _loses_content(model, event, before):
            yield before
            stored = False
        model.apply(event, index)
        stored = stored or event.op in STORE_OPS
        if event.op == "end" or index == len(program.events) - 1:
            yield point_now(model, "after", index)
            stored = False


def _loses_content(model: Adr | Device, event: Event, before: CrashPoint) -> bool:
    """Applies the event's fence or flush (harmless to repeat) and looks whether any line lost a content."""
    if isinstance(model, Device):
        model.apply(event, before.index)
    elif event.op == "flush":
        model.flush(event)
    else:
        model.fence(event)
    return point_now(model, "before", before.index).lines != before.lines


def _eadr_points(program: Program, model: Eadr) -> Iterator[CrashPoint]:
    for index, event in enumerate(program.events):
        model.apply(event, index)
        goes_on = index + 1 < len(program.events) and program.events[index + 1].continues
        if event.op in STORE_OPS and not goes_on:
            model.in_flight = model.last_store
            yield point_now(model, "after", index)
            model.in_flight = None
        if event.op == "end" or index == len(program.events) - 1:
            yield point_now(model, "after", index)
