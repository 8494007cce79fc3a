"""The table of a finding as its target draws it: with everything persisted, and as recovery left it.

The engine replays the finding with `reproduce --draw` (targets/ABI.md, "Drawing") and picks the buckets that tell
something; this only asks, and keeps the answer as the field `drawing` of the record (checker/RUN.md). A picture is
worth one start of the engine, so a run has a limit of them; one that cannot be had is null and costs nothing else.
"""

import json
import tempfile
from pathlib import Path

from powercut.base.errors import PowercutError
from powercut.engine import engine, events
from powercut_reports.records.drawing import Drawing
from powercut_reports.records.finding import FindingRecord

#: Findings of a run that are drawn; the page of one further down has its stores and bytes only.
MOST = 20
_WATCHDOG_SECONDS = 30


def draw(record: FindingRecord, trace: Path, *, engine_path: Path) -> Drawing | None:
    """The `drawing` of a finding record on its trace; None where the target draws nothing or the replay fails."""
    if record.program or not trace.is_file():
        return None
    with tempfile.TemporaryDirectory(prefix="powercut-draw-") as folder:
        file = Path(folder) / "finding.json"
        file.write_text(json.dumps(record.as_json()), encoding="utf-8")
        arguments = ["reproduce", "--draw", "--trace", str(trace), "--finding", str(file)]
        arguments += ["--watchdog-seconds", str(_WATCHDOG_SECONDS)]
        try:
            event, _ = engine.single(engine_path, arguments, events.Reproduced)
        except PowercutError:
            return None
    assert isinstance(event, events.Reproduced)
    return None if event.drawing is None else Drawing.model_validate(event.drawing)
