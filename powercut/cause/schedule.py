"""The schedule of a finding that threads have, as a trace of its own.

A trace with threads is a tree of schedules (tracer/FORMAT.md). A root cause is looked for, and a fix tried, in the one
schedule that leads to the finding's crash point: a run as any other, whose events other schedules do not share.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from powercut.base.errors import UsageError
from powercut.engine import engine, events
from powercut.engine.options import ExploreOptions
from powercut.findings.store import FindingStore
from powercut.minimise.examine import Examiner
from powercut.minimise.same_bug import same_bug
from powercut.runs import runner, subjects
from powercut.runs.run_request import Context, Request, Silent
from powercut_records.base import changed
from powercut_records.finding import FindingRecord


def has_threads(record: FindingRecord) -> bool:
    """Whether the finding is of one schedule in a tree of them: of a phase of threads, or of a scheduled program."""
    return subjects.of_record(record).has_threads(record)


def schedule_alone(record: FindingRecord, trace: Path, *, context: Context, folder: Path) -> tuple[FindingRecord, Path]:
    """The finding and the trace of its schedule, in `folder`.

    UsageError when the schedule does not show the finding by itself.
    """
    alone = folder / "schedule.pct"
    words = ["schedule", "--trace", str(trace), "--crash-point", str(record.crash_point.index), "--out", str(alone)]
    words += ["--model", record.engine.model]  # a plan has its own
    engine.single(context.engine_path, words, events.ScheduleWritten, interrupt=context.interrupt)
    last = None
    shown = {subjects.Library.word: _of_target, subjects.Commands.word: _of_program}
    for found in shown[subjects.of_record(record).word](record, alone, context, folder):
        if same_bug(found, record):
            last = found
    if last is None:
        raise UsageError(
            "the schedule that leads to the finding does not show it by itself",
            where=str(trace),
            next_step="Report this as a bug of powercut.",
        )
    return last, alone


def _of_target(record: FindingRecord, trace: Path, context: Context, folder: Path) -> Iterable[FindingRecord]:
    examiner = Examiner(record, context=context, folder=folder, executions=None)
    return examiner.findings(trace, examiner.options_within(None))


def _of_program(record: FindingRecord, trace: Path, context: Context, folder: Path) -> Iterable[FindingRecord]:
    """Returns the findings of the program's own commands in the trace of one schedule."""
    within = replace(
        context, out=folder, store=FindingStore(folder), listener=Silent(), checkpoints=False, resume=False,
        mark=lambda run: None,
    )  # fmt: skip
    made = record.engine
    options = ExploreOptions(model=made.model, atoms=made.atoms, nested=made.nested, seed=made.seed)
    program = subjects.of_record(record).program
    request = Request(name="schedule", slug="schedule", options=options, trace=trace, program=program, claims=False)
    return [changed(found, program=record.program) for found in runner.run_one(request, within).findings]
