"""A program of the user's, whose commands run on images that are files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.claims.run import RunClaims
from powercut.engine import engine
from powercut.findings.checkpoints import Checkpoint
from powercut.findings.traces import trace_of
from powercut.program import endings
from powercut.program import run as program_run
from powercut.program.program import Program
from powercut.runs.run_request import Context, Request
from powercut.runs.subjects.subject import Exploring, Replaying, Reproduction, Subject
from powercut_records.base import changed
from powercut_records.finding import FindingRecord


@dataclass(frozen=True)
class Commands(Subject):
    program: Program

    word = "program"
    in_chunks = False
    recorded_alike = False
    strategy = "program mode"
    first_phase = "trying recovery"
    explained_in_budget = True
    in_engine = False

    def record(
        self, request: Request, trace: Path, made: RunClaims, *, context: Context, checkpoint: Checkpoint | None
    ) -> dict[str, Any]:
        within = request.options.budget.seconds
        return program_run.record(self.program, trace, interrupt=context.interrupt, within=within)

    def explore(self, exploring: Exploring) -> Iterator[engine.StreamItem]:
        context = exploring.context
        return program_run.explore(
            self.program,
            exploring.trace,
            options=exploring.request.options,
            engine_path=context.engine_path,
            keep_image=context.out / "images" / f"{exploring.name}.image",
            interrupt=context.interrupt,
            spent=exploring.spent,
        )

    def judge(
        self, engine_path: Path, arguments: list[str], *, seconds: float | None, interrupt: engine.Interrupt | None
    ) -> Iterator[engine.StreamItem]:
        recovery = self.program.recovery
        words = ["program-judge", *arguments, *recovery.engine_words()]
        if seconds is not None:
            words += ["--budget-seconds", f"{seconds:g}"]
        under = ((), endings.environment())
        return engine.stream(engine_path, words, interrupt=interrupt, under=under, cwd=recovery.cwd)

    def reproduce(self, replaying: Replaying) -> Reproduction:
        finding = replaying.finding
        shown = self.replay(replaying, _trace(finding, replaying.file))
        return Reproduction(
            held=shown.held,
            fresh_trace=False,
            finding=finding,
            invariant=shown.invariant,
            message=shown.message,
            files=shown.files,
        )

    def replay(self, replaying: Replaying, trace: Path) -> program_run.Replayed:
        """Runs the commands on the finding's image."""
        finding, file = replaying.finding, replaying.file
        return program_run.reproduce(
            finding, file, trace, engine_path=replaying.context.engine_path, out=replaying.image_out
        )

    def has_threads(self, finding: FindingRecord) -> bool:
        return bool(finding.turns)

    def to_explain(self, finding: FindingRecord, file: Path) -> FindingRecord:
        return changed(finding, trace=str(_trace(finding, file)))

    def refuse_shortening(self, finding: FindingRecord) -> None:
        raise UsageError(
            "what a program was asked to do is not ours to shorten: it has no plan",
            where=f"finding {finding.fingerprint}",
            next_step="Give its --record command less to do, and run it again.",
        )


def _trace(finding: FindingRecord, file: Path) -> Path:
    """The trace of a program's finding; UsageError when it is gone, since only that recording shows the finding."""
    trace = trace_of(finding, file)
    if trace is None:
        raise UsageError(
            f"its trace is gone ({finding.trace}), and another recording of the program need not be the same",
            where=str(file),
            next_step="Run 'powercut run' with the program's commands again.",
        )
    return trace
