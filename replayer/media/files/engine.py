"""The engine's answers about programs of calls: `powercut-engine trees --programs` as a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from powercut.models.switches import Switches
from replayer.reference.engine_lines import EngineLines

from .calls import Call
from .trees import Content, Tree


class EngineTrees(EngineLines):
    """One engine process, many programs."""

    def __init__(self, executable: Path) -> None:
        super().__init__(executable, "trees", "--programs")

    def crash_points(
        self, calls: Sequence[Call], switches: Switches, *, sector: int, page: int, listed: bool = True
    ) -> list[dict[str, Any]]:
        """The crash points in the form of `reference.answer`; without floors and trees if not `listed`."""
        request = {"switches": asdict(switches), "sector": sector, "page": page, "listed": listed}
        answer = self.ask(request | {"calls": [call.to_json() for call in calls]})
        if "crash_points" not in answer:
            raise RuntimeError(f"the engine says: {answer}")
        found: list[dict[str, Any]] = answer["crash_points"]
        return found

    def transcripts(
        self,
        calls: Sequence[Call],
        switches: Switches,
        reader: tuple[int, int, Sequence[str]],
        *,
        sector: int,
        page: int,
    ) -> list[list[str]]:
        """The transcripts of a scripted reader (seed, questions, paths) at each crash point (scripted_reader.py)."""
        seed, questions, paths = reader
        request = {"switches": asdict(switches), "sector": sector, "page": page, "listed": False}
        script = {"seed": seed, "questions": questions, "paths": list(paths)}
        answer = self.ask(request | {"reader": script, "calls": [call.to_json() for call in calls]})
        if "crash_points" not in answer:
            raise RuntimeError(f"the engine says: {answer}")
        return [point["transcripts"] for point in answer["crash_points"]]

    def trees_after(self, effects: Sequence[Call], switches: Switches, *, sector: int, page: int) -> frozenset[Tree]:
        """The legal trees after some effects of calls. The sync of a write through O_DSYNC is an effect of its own."""
        alone = [replace(effect, through="none") for effect in effects]
        point = self.crash_points(alone, switches, sector=sector, page=page)[-1]
        return frozenset(
            tuple((path, (kind, target, _content(sectors))) for path, kind, target, sectors in tree)
            for tree in point["trees"]
        )


def _content(sectors: Sequence[str]) -> Content:
    return tuple(len(sector) if "?" in sector else bytes.fromhex(sector) for sector in sectors)
