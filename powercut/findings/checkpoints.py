"""Files from which `--resume` goes on with a killed run (checker/RUN.md).

The engine keeps its finished chunks in a file of its own. Beside it lies what the recording was: a run is
resumed on the very trace that it was begun on, since the chunks are of that trace.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.base.output_files import unwritable, write_json
from powercut.base.user_files import json_of

FOLDER = "checkpoints"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """The files of one run."""

    #: Finished chunks; only the engine reads and writes it.
    chunks: Path
    #: The plan and the `recorded` event of the trace, once it is complete.
    recording: Path
    #: For a run on many machines: a folder of chunks that others have finished.
    parts: Path

    def begin(self) -> None:
        """Forgets an earlier run: what is recorded from here on is another trace."""
        try:
            self.chunks.parent.mkdir(parents=True, exist_ok=True)
            self.recording.unlink(missing_ok=True)
        except OSError as error:
            raise unwritable(self.chunks, error) from error

    def keep_recording(self, plan: dict[str, Any], recorded: dict[str, Any]) -> None:
        """The trace of `plan` is complete and in its place."""
        write_json(self.recording, {"plan": plan, "recorded": recorded})

    def recorded(self, plan: dict[str, Any], trace: Path) -> dict[str, Any] | None:
        """The `recorded` event of the run to go on with; None when it was killed before there was a trace."""
        try:
            content = json_of(self.recording)
        except (OSError, ValueError):
            return None
        if not isinstance(content, dict):
            return None
        if content.get("plan") != json.loads(json.dumps(plan)):
            raise UsageError(
                "the run to resume was begun with another plan: scenario, target or seed have changed since",
                where=str(self.recording),
                next_step="Start again without --resume.",
            )
        recorded = content.get("recorded")
        return recorded if isinstance(recorded, dict) and trace.is_file() else None


def of_run(out: Path, name: str) -> Checkpoint:
    """The checkpoint of the run that is called `name`, which is unique within `out`."""
    return Checkpoint(
        chunks=out / FOLDER / f"{name}.checkpoint",
        recording=out / FOLDER / f"{name}.json",
        parts=out / FOLDER / f"{name}.parts",
    )
