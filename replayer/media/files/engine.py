"""The engine's answers about programs of calls: `powercut-engine trees --programs` as a function."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from powercut.models.switches import Switches

from .calls import Call
from .trees import Content, Tree


class EngineTrees:
    """One engine process, many programs."""

    def __init__(self, executable: Path) -> None:
        words = [str(executable), "trees", "--programs"]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> EngineTrees:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.communicate(timeout=10)

    def crash_points(
        self, calls: Sequence[Call], switches: Switches, *, sector: int, page: int, listed: bool = True
    ) -> list[dict[str, Any]]:
        """The crash points in the form of `reference.answer`; without floors and trees if not `listed`."""
        request = {"switches": asdict(switches), "sector": sector, "page": page, "listed": listed}
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request | {"calls": [call.to_json() for call in calls]}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline() or '{"error": "the engine stopped"}')
        if "crash_points" not in answer:
            raise RuntimeError(f"the engine says: {answer}")
        found: list[dict[str, Any]] = answer["crash_points"]
        return found

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
