"""One run: record a scenario (unless a trace is given), explore the trace, and keep what was found."""

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from powercut.base.errors import HarnessError
from powercut.base.exit_codes import ExitCode
from powercut.base.output_files import unwritable, write_json
from powercut.claims.run import RunClaims
from powercut.engine import engine, events
from powercut.engine.options import CLAIMS
from powercut.findings import checkpoints
from powercut.findings.collector import Collector, as_listed
from powercut.findings.failures import Failures
from powercut.findings.store import FindingStore
from powercut.runs import replays, subjects
from powercut.runs.machines import Here, Machines
from powercut.runs.run_request import Cache, Context, Listener, Request, Silent
from powercut.symbols.symbolize import Symbolizer
from powercut_records.base import changed
from powercut_records.run import RunRecord, Since


@contextmanager
def open_context(
    engine_path: Path,
    out: Path,
    *,
    listener: Listener | None = None,
    checkpoints: bool = False,
    resume: bool = False,
    mark: Callable[[RunRecord], None] = lambda run: None,
    database: Failures | None = None,
    cache: Cache | None = None,
    machines: Machines | None = None,
) -> Iterator[Context]:
    """A context whose output folder exists and can be written; nothing in it was touched."""
    prepare_out(out)
    with Symbolizer() as symbolizer:
        yield Context(
            engine_path=engine_path,
            out=out,
            store=FindingStore(out),
            symbolizer=symbolizer,
            listener=listener or Silent(),
            checkpoints=checkpoints,
            resume=resume,
            mark=mark,
            failures=database,
            cache=cache,
            machines=machines or Here(),
        )


def prepare_out(out: Path) -> None:
    """Makes the output folder; UsageError when it cannot be written."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=out, prefix=".write-test."):
            pass
    except OSError as error:
        raise unwritable(out, error) from error


def slug(*parts: str) -> str:
    """A file name of the parts, joined by '-', with everything unusual replaced."""
    return re.sub(r"[^\w.-]+", "_", "-".join(parts))


def run_one(request: Request, context: Context, *, order: int = 0) -> RunRecord:
    """Carries out one run and returns its record, which lies in `runs/` as well.

    Raises UsageError when the request is at fault (nothing is written then). Every other failure
    becomes part of the record.
    """
    return settle(explore(request, context, order=order), request, context)


def explore(request: Request, context: Context, *, order: int = 0) -> RunRecord:
    """Carries out one run, or takes it from the cache. Its record is not settled yet; errors as of `run_one`.

    A run that ended at a finding that needs no power cut goes on where a gate accepts that finding: it would never be
    complete again otherwise.
    """
    run = _explored_once(request, context, order=order)
    if not run.functional or run.interrupted:
        return run
    context.mark(run)
    if any(finding.counts for finding in run.findings if not finding.needs_power_cut):
        return run
    accepting = replace(request, options=replace(request.options, keep_going=True))
    return _explored_once(accepting, replace(context, resume=context.checkpoints), order=order)


def _explored_once(request: Request, context: Context, *, order: int) -> RunRecord:
    held, since = _looked_up(request, context, order=order)
    if held is not None:
        return held
    begun = time.monotonic()
    subject = subjects.of(request)
    made = RunClaims(request.plan, request.scenario, model=request.options.model)
    context.listener.started(order, request.name)
    header = {**request.options.described(), **request.header, "since": since}
    collector = Collector(
        {**header, "trace": str(request.trace) if request.trace else None},
        plan=request.plan,
        order=order,
        store=context.store,
        symbolizer=context.symbolizer,
    )
    error: HarnessError | None = None
    interrupted = False
    trace = request.trace
    checkpoint = checkpoint_of(request, context)
    earlier = replays.Replays(request, context, order, name=f"{request.slug}-{slug(request.options.model)}")
    try:
        if trace is None:
            trace = trace_of(request, context)
            context.listener.phase(order, "recording")
            answer = subject.record(request, trace, made, context=context, checkpoint=checkpoint)
            collector.recorded(answer, trace)
            earlier.begin(trace)
        context.listener.phase(order, subject.first_phase)
        exploring = subjects.Exploring(
            request=request,
            trace=trace,
            context=context,
            checkpoint=checkpoint,
            order=order,
            name=request.slug or slug(trace.stem),
            spent=time.monotonic() - begun,
        )
        for event, raw in subject.explore(exploring):
            collector.add(event, raw)
            if isinstance(event, events.Finding):
                context.listener.found(order, collector.finding(event))
            if isinstance(event, events.Progress):
                context.listener.progressed(order, event, collector.finding_count)
    except engine.Interrupted:
        interrupted = True
    except HarnessError as failure:
        error = failure
    finally:
        context.listener.ended(order)
    run = collector.finish(error=error, interrupted=interrupted or context.interrupt.requested)
    if request.claims:
        run.claims = made.check(
            run,
            collector.plan,
            engine_path=context.engine_path,
            symbolizer=context.symbolizer,
            interrupt=context.interrupt,
        )
    earlier.settle(run, complete=is_complete(run))
    return run


def recalled(request: Request, context: Context, *, order: int) -> RunRecord | None:
    """The run as it is in the cache; None where it is not, or without --since."""
    return _looked_up(request, context, order=order)[0]


def _looked_up(request: Request, context: Context, *, order: int) -> tuple[RunRecord | None, Since | None]:
    """A run of the cache as the run of this command, its findings in files again; and `since` of the run's record."""
    held, since = context.cache.recall(request) if context.cache else (None, None)
    if held is None:
        return None, since
    trace = held.trace if held.trace and Path(held.trace).is_file() else ""
    stored = [context.store.put(changed(finding, trace=trace), order=order) for finding in held.findings]
    listed = [as_listed(finding) for finding in stored]
    return changed(held, **request.header, trace=trace, since=since, findings=listed), since


def settle(run: RunRecord, request: Request, context: Context) -> RunRecord:
    """Marks a run record, and puts it into `runs/` and into the cache."""
    name = request.slug or slug(run.target, run.variant, run.scenario)
    run.file = str(context.out / "runs" / f"{name}-{slug(run.model)}.json")
    if context.cache:
        context.cache.settled(request, run)
    context.mark(run)
    write_json(Path(run.file), run.as_json())
    return run


def trace_of(request: Request, context: Context) -> Path:
    """Where a run records."""
    return context.out / "traces" / f"{request.slug}.pct"


def checkpoint_of(request: Request, context: Context) -> checkpoints.Checkpoint | None:
    """The file in which a run keeps finished chunks; begun anew, unless the run is resumed."""
    if not context.checkpoints or not subjects.of(request).in_chunks:
        return None
    name = request.slug or slug(request.trace.stem if request.trace else "trace")
    found = checkpoints.of_run(context.out, f"{name}-{slug(request.options.model)}")
    if not context.resume:
        found.begin()
    return found


def exit_code(run: RunRecord, *, fail_on: frozenset[str] = frozenset()) -> ExitCode:
    """Returns the exit status that one run record means. Findings that a gate accepts do not count."""
    if (
        any(finding.counts for finding in run.findings)
        or any(item.kind in fail_on for item in run.performance_bugs)
        or (CLAIMS in fail_on and any(item.holds is False for item in run.claims))
    ):
        return ExitCode.FINDINGS
    return ExitCode.CLEAN if is_complete(run, fail_on=fail_on) else ExitCode.INCOMPLETE


def is_complete(run: RunRecord, *, fail_on: frozenset[str] = frozenset()) -> bool:
    """True when the run was judged, over all states, to the depth that was asked for; under the file systems that
    `fail_on` names, if it names some."""
    if fail_on and (rows := run.deciding(fail_on)):
        return run.error is None and all(row.complete and row.verdict != "unknown" for row in rows)
    coverage, nested = run.coverage, run.coverage.nested_complete
    # `nested_complete` is a depth or a yes/no; None means that the question does not arise.
    deep = nested is not False if nested is None or isinstance(nested, bool) else nested >= (run.nested or 0)
    judged = run.verdict != "unknown" and run.error is None
    return bool(judged and coverage.kind == "complete" and deep)
