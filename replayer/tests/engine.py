"""`powercut-engine model` as a function: one process, many programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from replayer.reference.engine_lines import EngineLines
from replayer.reference.program import Program
from replayer.reference.threads import Frontier, Threads, explored


class EngineModel(EngineLines):
    """The persistency models of the engine."""

    def __init__(self, executable: Path) -> None:
        super().__init__(executable, "model")

    def answer(self, program: Program | Threads) -> dict[str, Any]:
        """The engine's crash points, as `CrashPoint.to_json` writes them; of threads, its frontiers."""
        return self.ask(program.to_json())


def disagreement(program: Program, engine: dict[str, Any], reference: dict[str, Any]) -> str | None:
    """The first difference of two answers, with the program, or None."""
    for number, (ours, theirs) in enumerate(zip(engine["crash_points"], reference["crash_points"], strict=False)):
        if ours != theirs:
            return _explain(program, f"crash point {number}:\n  engine    {ours}\n  reference {theirs}")
    counts = len(engine["crash_points"]), len(reference["crash_points"])
    if counts[0] != counts[1]:
        return _explain(program, f"{counts[0]} crash points in the engine, {counts[1]} in the reference")
    return None


def disagreement_of_threads(program: Threads, engine: dict[str, Any]) -> str | None:
    """A frontier of the engine that no instant leaves, or one of an instant that lies in none of the engine's."""
    if "frontiers" not in engine:
        return _explain_threads(program, f"the engine says {engine}")
    every = {frontier.whole(program.pool_size) for frontier in explored(program).all}
    claimed = {Frontier.from_json(frontier) for frontier in engine["frontiers"]}
    if impossible := claimed - every:
        return _explain_threads(program, f"no instant leaves {impossible.pop().to_json()}")
    for frontier in every - claimed:
        if not any(frontier.within(cut) for cut in claimed):
            return _explain_threads(program, f"the engine misses {frontier.to_json()}")
    return None


def _explain_threads(program: Threads, difference: str) -> str:
    events = "\n".join(f"  {json.dumps(event.to_json())}" for events in program.threads for event in events)
    return f"{program.model}, atoms={program.atoms}\n{events}\n{difference}"


def _explain(program: Program, difference: str) -> str:
    events = "\n".join(f"  {index:2} {json.dumps(event.to_json())}" for index, event in enumerate(program.events))
    return f"{program.model}, atoms={program.atoms}\n{events}\n{difference}"
