"""A program of the user's, whose commands run on trees of files below a folder."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from powercut.claims.run import RunClaims
from powercut.engine import engine
from powercut.files import recording as files_recording
from powercut.files import run as files_run
from powercut.findings.checkpoints import Checkpoint
from powercut.program.run import Replayed
from powercut.runs.run_request import Context, Request
from powercut.runs.subjects.program import Commands
from powercut.runs.subjects.subject import Exploring, Replaying


@dataclass(frozen=True)
class Folder(Commands):
    word = "folder"
    strategy = "folder"

    def record(
        self, request: Request, trace: Path, made: RunClaims, *, context: Context, checkpoint: Checkpoint | None
    ) -> dict[str, Any]:
        assert self.program.recording is not None
        recording = replace(self.program.recording, within=request.options.budget.seconds)
        return files_recording.record(recording, trace, name=self.program.name, interrupt=context.interrupt)

    def explore(self, exploring: Exploring) -> Iterator[engine.StreamItem]:
        context = exploring.context
        return files_run.explore(
            self.program,
            exploring.trace,
            options=exploring.request.options,
            engine_path=context.engine_path,
            interrupt=context.interrupt,
            spent=exploring.spent,
        )

    def replay(self, replaying: Replaying, trace: Path) -> Replayed:
        finding, file = replaying.finding, replaying.file
        return files_run.reproduce(
            finding, file, trace, engine_path=replaying.context.engine_path, out=replaying.image_out
        )
