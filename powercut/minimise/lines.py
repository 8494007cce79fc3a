"""The fewest lines of a program's file of operations that still show the bug of a finding.

A candidate is a whole run. The program is recorded on the lines that are left, as it was for the finding. Its crash
states are explored until the bug shows (`same_bug.py`). A candidate does not show the bug if it cannot be recorded, or
if its recovery refuses what the program has left. The pools, or the folder, are as they were before, after each.

Known limits: a local minimum, of which no line can be missed. Pools, or files of a folder, that have changed since the
finding was made may show something else; then even all lines do not show it.
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from powercut.base.cores import cores
from powercut.base.errors import HarnessError, UsageError
from powercut.engine.engine import StreamItem
from powercut.engine.options import Budget, ExploreOptions
from powercut.files import recording as files_recording
from powercut.files import run as files_run
from powercut.minimise.choose import lost
from powercut.minimise.ddmin import ddmin
from powercut.minimise.examine import told
from powercut.minimise.ledger import Ledger, LimitReached, Limits, Progress
from powercut.minimise.same_bug import same_bug
from powercut.program import run as program_run
from powercut.program.program import Program
from powercut.program.recording import Recording
from powercut.program.recovery import Recovery
from powercut.runs.run_request import Context
from powercut_records import finding as records
from powercut_records.base import changed, without
from powercut_records.finding import FindingRecord

Lines = tuple[bytes, ...]

#: A candidate is given up after so many times the seconds that all lines took, and at least after so many seconds.
_TIMES, _LEAST_SECONDS = 4, 30.0
_TRACE = "minimal.pct"


@dataclass(frozen=True, kw_only=True)
class FewestLines:
    """The lines of a file of operations that are left, and show the bug."""

    lines: Lines
    trace: Path
    finding: FindingRecord
    original: FindingRecord
    lines_before: int
    considered: int
    seconds: float
    #: Why the search ended before its time; empty when it did not.
    note: str

    def record(self) -> records.Minimal:
        """The field `minimal` of the finding's record."""
        return records.Minimal(
            operations=[
                records.MinimalOperation(
                    index=index, kind=records.LINE, text=line.decode("utf-8", "replace").rstrip("\r\n")
                )
                for index, line in enumerate(self.lines)
            ],
            operations_before=self.lines_before,
            crash_point=self.finding.crash_point,
            lost=lost(self.finding),
            lost_before=lost(self.original),
            considered=self.considered,
            seconds=round(self.seconds, 3),
            complete=not self.note,
            note=self.note,
            finding=without(self.finding, "plan", "program", "minimal", "cause"),
        )


def fewest_lines(
    finding: FindingRecord,
    *,
    context: Context,
    folder: Path,
    limits: Limits,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> FewestLines | None:
    """The fewest lines that show the bug of a program's finding; None when all of them do not show it any more.

    `folder` keeps the trace. Raises UsageError for a program whose operations are in no file, and engine.Interrupted.
    """
    recording = recording_of(finding)
    assert recording.ops_file is not None
    begun = time.monotonic()
    lines: Lines = tuple(recording.ops_file.named.read_bytes().splitlines(keepends=True))
    runs = _Runs(finding, recording, context=context, folder=folder, limits=limits)
    if runs(lines) is None:
        return None
    runs.seconds = max(_LEAST_SECONDS, _TIMES * (time.monotonic() - begun))
    ledger = Ledger(runs, limits=limits, on_progress=on_progress, considered=1)
    ledger.operations = len(lines)

    def shows(candidate: Lines) -> bool:
        shown = ledger.ask(candidate) is not None
        if shown:
            ledger.operations = len(candidate)
        return shown

    note = ""
    try:
        ddmin(lines, shows)
    except LimitReached as reached:
        note = str(reached)
    best, found = runs.best
    return FewestLines(
        lines=best,
        trace=runs.trace,
        finding=changed(found, file="", reproduce="", trace=str(runs.trace), program=finding.program),
        original=finding,
        lines_before=len(lines),
        considered=ledger.considered,
        seconds=time.monotonic() - begun,
        note=note,
    )


def recording_of(finding: FindingRecord) -> Recording:
    """How the program of a finding was recorded, on its file of operations. UsageError where it cannot be again."""
    program_run.refuse_without_lines(finding)
    if finding.commands.folder:
        return files_recording.recording_again(finding.commands)
    return program_run.recording_of(finding)


class _Runs:
    """Records and explores the program on some lines; the finding that shows the bug, or None."""

    def __init__(
        self, finding: FindingRecord, recording: Recording, *, context: Context, folder: Path, limits: Limits
    ) -> None:
        self.trace = folder / _TRACE
        #: Seconds for one candidate; None for the first one, which is known to show the bug.
        self.seconds: float | None = None
        self._finding = finding
        self._recording = recording
        self._context = context
        self._folder = folder
        self._executions = limits.executions
        self._best: tuple[Lines, FindingRecord] | None = None

    @property
    def best(self) -> tuple[Lines, FindingRecord]:
        """The last lines that showed it, which are the fewest, and their finding; `trace` is theirs."""
        assert self._best is not None
        return self._best

    def __call__(self, lines: Lines) -> FindingRecord | None:
        trace = self._folder / "candidate.pct"
        try:
            found = self._shown(lines, trace)
        except UsageError:
            return None
        except HarnessError as error:
            if error.where == str(self._context.engine_path):
                raise
            return None
        if found is not None:
            trace.replace(self.trace)
            self._best = lines, found
        trace.unlink(missing_ok=True)
        return found

    def _shown(self, lines: Lines, trace: Path) -> FindingRecord | None:
        file = self._folder / "candidate.ops"
        file.write_bytes(b"".join(lines))
        assert self._recording.ops_file is not None
        recording = replace(self._recording, ops_file=replace(self._recording.ops_file, lines=file))
        stream = self._of_folder(recording, trace) if self._finding.files else self._of_pools(recording, trace)
        if stream is None:
            return None
        found = told(stream, symbolizer=self._context.symbolizer, wanted=self._finding)
        with contextlib.closing(found) as items:  # type: ignore[type-var]  # a generator, which can be closed
            shown = (item for item in items if isinstance(item, FindingRecord))
            return next((item for item in shown if same_bug(item, self._finding)), None)

    def _of_pools(self, recording: Recording, trace: Path) -> Iterator[StreamItem] | None:
        """The events of the exploration; None where findings of such a trace are withdrawn."""
        recovery = Recovery.of_record(self._finding.commands)
        program = Program(name=self._finding.target, recording=recording, recovery=recovery)
        raw = program_run.record(program, trace, interrupt=self._context.interrupt)
        if raw.get("unseen") or any(note["kind"] == "refused" for note in raw["notes"]):
            return None
        return program_run.explore(
            program,
            trace,
            options=self._options(),
            engine_path=self._context.engine_path,
            interrupt=self._context.interrupt,
        )

    def _of_folder(self, recording: Recording, trace: Path) -> Iterator[StreamItem] | None:
        """The events of the exploration; None where the recording has gaps."""
        raw = files_recording.record(recording, trace, name=self._finding.target, interrupt=self._context.interrupt)
        if raw["missed"]:
            return None
        return files_run.explore(
            files_run.of_record(self._finding.commands),
            trace,
            options=self._options(),
            engine_path=self._context.engine_path,
            interrupt=self._context.interrupt,
        )

    def _options(self) -> ExploreOptions:
        used = self._finding.engine
        budget = Budget() if self.seconds is None else Budget(executions=self._executions, seconds=self.seconds)
        options = ExploreOptions(nested=used.nested, seed=used.seed, jobs=cores(), budget=budget)
        # The models of a folder are its profiles.
        return options if self._finding.files else replace(options, model=used.model, atoms=used.atoms)
