"""The schedule of a finding that threads have, as a trace of its own.

A trace with threads is a tree of schedules (tracer/FORMAT.md). A root cause is looked for, and a fix tried, in the one
schedule that leads to the finding's crash point: a run as any other, whose events other schedules do not share.
"""

from pathlib import Path

from powercut.base.errors import UsageError
from powercut.engine import engine, events
from powercut.minimise.examine import Examiner
from powercut.minimise.same_bug import same_bug
from powercut.runs.run_request import Context
from powercut_reports.records.finding import FindingRecord


def has_threads(record: FindingRecord) -> bool:
    """Whether the finding's plan has a phase of threads."""
    return record.plan is not None and any("threads" in phase for phase in record.plan["scenario"]["phases"])


def schedule_alone(record: FindingRecord, trace: Path, *, context: Context, folder: Path) -> tuple[FindingRecord, Path]:
    """The finding and the trace of its schedule, in `folder`.

    UsageError when the schedule does not show the finding by itself.
    """
    alone = folder / "schedule.pct"
    words = ["schedule", "--trace", str(trace), "--crash-point", str(record.crash_point.index), "--out", str(alone)]
    engine.single(context.engine_path, words, events.ScheduleWritten, interrupt=context.interrupt)
    examiner = Examiner(record, context=context, folder=folder, executions=None)
    last = None
    for found in examiner.findings(alone, examiner.options_within(None)):
        if same_bug(found, record):
            last = found
    if last is None:
        raise UsageError(
            "the schedule that leads to the finding does not show it by itself",
            where=str(trace),
            next_step="Report this as a bug of powercut.",
        )
    return last, alone
