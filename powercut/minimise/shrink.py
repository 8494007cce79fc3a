"""Puts the minimiser together: spell the plan out, shrink it, and choose the case to show."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from powercut.base import scratch
from powercut.base.errors import PowercutError, UsageError
from powercut.minimise.case import Case
from powercut.minimise.choose import clearest
from powercut.minimise.concrete import spelled_out
from powercut.minimise.examine import Examiner, Seen
from powercut.minimise.ledger import Ledger, LimitReached, Limits, Progress
from powercut.minimise.minimal import Minimal
from powercut.minimise.passes.beginnings import beginnings
from powercut.minimise.passes.configure import shrink_options
from powercut.minimise.passes.delete import delete_pairs, delete_runs
from powercut.minimise.passes.other_keys import other_keys
from powercut.minimise.passes.phases import join_phases
from powercut.minimise.passes.pool import shrink_pool
from powercut.minimise.passes.restart import restart
from powercut.minimise.passes.simplify import lower_keys, simplify_operations
from powercut.minimise.passes.substitute import substitute
from powercut.minimise.passes.threads import drop_threads
from powercut.minimise.passes.truncate import truncate
from powercut.minimise.scenario_text import scenario_text
from powercut.minimise.search import Search
from powercut.runs import subjects
from powercut.runs.run_request import Context
from powercut.scenarios import targets
from powercut.scenarios.plan import BUG_OPTION, option_values
from powercut_records.base import changed
from powercut_records.finding import FindingRecord

#: The last exploration may take this much longer than that of a candidate: it is not left at the first finding.
_LAST = 10
#: Operations of a workload that is spelled out, at most: every candidate of it is a file as long.
MOST_OPERATIONS = 20_000
#: The trace of the minimal case.
_TRACE = "minimal.pct"


@dataclass(frozen=True, kw_only=True)
class _Start:
    """The case that a finding came from."""

    case: Case
    seen: Seen
    operations_before: int
    considered: int


def minimise(
    finding: FindingRecord,
    *,
    context: Context,
    folder: Path,
    limits: Limits | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Minimal | None:
    """The smallest case that shows the bug of a finding record, or None when its plan does not show it any more.

    `folder` keeps the trace of the minimal case, `minimal.pct`. Raises UsageError for a finding without a plan (of a
    program, or of a trace from elsewhere) or with too long a workload, and engine.Interrupted.
    """
    refuse_without_plan(finding)
    limits = limits or Limits()
    begun = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    with scratch.folder("powercut-minimise-") as work:
        examiner = Examiner(finding, context=context, folder=work, executions=limits.executions)
        start = _start(examiner, context=context, folder=work)
        if start is None:
            return None
        ledger = Ledger(examiner, limits=limits, on_progress=on_progress, considered=start.considered)
        search = Search(start.case, start.seen, ledger=ledger)
        note = shrink(search, *_of_the_target(finding))
        return _finished(
            search,
            examiner,
            start,
            folder / _TRACE,
            limits=limits,
            note=note,
            begun=begun,
            original=finding,
            considered=ledger.considered,
        )


def refuse_without_plan(finding: FindingRecord) -> None:
    """UsageError for a finding whose workload cannot be recorded again, smaller."""
    subjects.of_record(finding).refuse_shortening(finding)


def shrink(search: Search, options: Mapping[str, Sequence[str]], commands: Sequence[str] = ()) -> str:
    """Runs the passes until none of them changes anything. Returns why the search ended earlier, or nothing.

    `options` and `commands` are what the target can be set to and what its `maintain` takes.

    The configuration is tried before operations are taken away one by one, since a smaller table has fewer. It is tried
    again after, since a table that is no longer filled may be smaller still. Passes that change no number of operations
    come last.
    """
    fewer: list[Callable[[Search], None]] = [
        truncate,
        drop_threads,
        join_phases,
        lambda now: shrink_options(now, options),
        truncate,
        delete_runs,
        lambda now: substitute(now, commands),
        join_phases,
        delete_pairs,
    ]
    simpler = [simplify_operations, shrink_pool, lower_keys]
    start = search.best
    try:
        _until_settled(search, fewer)
        restart(search, start, options)
        _until_settled(search, [*fewer, *simpler])
        # Last, since these try much, and change nothing of a short case.
        new = [lambda now: beginnings(now, options, commands), lambda now: other_keys(now, options)]
        _until_settled(search, [*new, *fewer, *simpler])
        return ""
    except LimitReached as reached:
        return str(reached)


def _until_settled(search: Search, passes: Sequence[Callable[[Search], None]]) -> None:
    """Runs the passes until all of them together change nothing."""
    before = None
    while search.best != before:
        before = search.best
        for one in passes:
            one(search)


def _of_the_target(finding: FindingRecord) -> tuple[dict[str, list[str]], list[str]]:
    """Returns the target's options and its maintenance; nothing where it does not load (its traces fail as well)."""
    assert finding.plan is not None
    try:
        description = targets.describe(Path(finding.plan["target"]["library"])).description
    except PowercutError:
        return {}, []
    options = {name: values for name, values in option_values(description).items() if name != BUG_OPTION}
    return options, description.commands


def _start(examiner: Examiner, *, context: Context, folder: Path) -> _Start | None:
    """The finding's plan, spelled out: up to the operation that was cut, or whole where that does not show the bug."""
    trace = folder / "original.pct"
    operations = examiner.record(examiner.template, trace).operations
    if operations > MOST_OPERATIONS:
        raise UsageError(
            f"a workload of {operations:,} operations is too long to be spelled out",
            where=f"finding {examiner.finding.fingerprint}",
            next_step=f"Find it in a scenario of at most {MOST_OPERATIONS:,}.",
        )
    case, indices = spelled_out(
        examiner.template,
        trace,
        engine_path=context.engine_path,
        bug_option=BUG_OPTION,
        interrupt=context.interrupt,
    )
    crash = examiner.finding.operation.index or 0
    up_to_crash = max(1, sum(index <= crash for index in indices))
    # With threads, no operation comes surely after the crash.
    forms = [case] if case.race else [case.without(up_to_crash, len(indices)), case]
    for number, form in enumerate(dict.fromkeys(forms), start=1):
        if not form.is_explored:
            continue
        seen = examiner.unhurried(form)
        if seen.finding is not None:
            return _Start(case=form, seen=seen, operations_before=len(indices), considered=number)
    return None


def _finished(
    search: Search,
    examiner: Examiner,
    start: _Start,
    trace: Path,
    *,
    limits: Limits,
    note: str,
    begun: float,
    original: FindingRecord,
    considered: int,
) -> Minimal:
    """Records the best case for good, and explores it to its end."""
    plan = examiner.plan(search.best)
    examiner.record(plan, trace)
    options = examiner.options_within(limits.executions * _LAST)
    found = clearest(examiner.findings(trace, options), original) or search.best_seen.finding
    assert found is not None
    finding = changed(found, file="", reproduce="", trace=str(trace), plan=plan)
    before = examiner.template["target"]["options"]
    return Minimal(
        case=search.best,
        plan=plan,
        trace=trace,
        finding=finding,
        original=original,
        operations_before=start.operations_before,
        config_before={name: value for name, value in before.items() if name != BUG_OPTION},
        scenario=scenario_text(search.best, finding=finding, original=original, toggle=examiner.toggle),
        considered=considered,
        seconds=time.monotonic() - begun,
        complete=not note,
        note=note,
    )
