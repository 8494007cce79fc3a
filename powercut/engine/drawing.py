"""The table of a finding as its target draws it: with everything persisted, and as recovery left it.

The engine replays the finding with `reproduce --draw` (targets/ABI.md, "Drawing") and picks the buckets that tell
something. This module only asks, and keeps the answer as the field `drawing` of the record (checker/RUN.md). The replay
also tells which bytes recovery loaded and stored (`--steps`). A picture is worth one start of the engine, so a run has
a limit of pictures; a failed picture is null and costs nothing else.
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base.errors import PowercutError
from powercut.engine import engine, events
from powercut_records.drawing import Drawing
from powercut_records.finding import FindingRecord

#: Findings of a run that are drawn; the page of one further down has its stores and bytes only.
MOST = 20
_WATCHDOG_SECONDS = 30


@dataclass(frozen=True, kw_only=True)
class Replayed:
    """The answer of a replay; `steps` is the engine's `Steps`, whose frames count into `modules`."""

    drawing: Drawing | None = None
    steps: dict[str, Any] | None = None
    modules: Sequence[events.Module] = ()


def draw(record: FindingRecord, trace: Path, *, engine_path: Path) -> Drawing | None:
    """The `drawing` of a finding record on its trace; None where the target draws nothing or the replay fails."""
    return replay(record, trace, engine_path=engine_path).drawing


def replay(record: FindingRecord, trace: Path, *, engine_path: Path) -> Replayed:
    """The drawing of a finding record on its trace, and the steps of its recovery; what cannot be had is None."""
    if not trace.is_file():
        return Replayed()
    with tempfile.TemporaryDirectory(prefix="powercut-draw-") as folder:
        file = Path(folder) / "finding.json"
        file.write_text(json.dumps(record.as_json()), encoding="utf-8")
        arguments = ["reproduce", "--draw", "--steps", "--trace", str(trace), "--finding", str(file)]
        arguments += ["--watchdog-seconds", str(_WATCHDOG_SECONDS)]
        modules: list[events.Module] = []
        shown: events.Reproduced | None = None
        try:
            for event, _ in engine.stream(engine_path, arguments):
                if isinstance(event, events.Modules):
                    modules = event.modules
                elif isinstance(event, events.Reproduced):
                    shown = event
        except PowercutError:
            return Replayed()
    if shown is None:
        return Replayed()
    drawn = None if shown.drawing is None else Drawing.model_validate(shown.drawing)
    return Replayed(drawing=drawn, steps=shown.steps, modules=modules)
