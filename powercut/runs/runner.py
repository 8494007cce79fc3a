"""One run: record a scenario (unless a trace is given), explore the trace, and keep what was found."""

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

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
from powercut.program import run as program_run
from powercut.runs import plan_recording, replays
from powercut.runs.machines import Exploring, Here, Machines
from powercut.runs.run_request import DEFAULT_TRACER, Cache, Context, Listener, Request, Silent
from powercut.symbols.symbolize import Symbolizer
from powercut_records.base import changed
from powercut_records.run import RunRecord, Since

#: The engine's own limit of an operation that is recorded, and how much longer than a budget one may take, in seconds.
_OPERATION_SECONDS, _PATIENCE = 60.0, 1.0


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
            collector.recorded(recorded(request, trace, made, context=context, checkpoint=checkpoint), trace)
            earlier.begin(trace)
        context.listener.phase(order, request.subject.first_phase)
        for event, raw in _explored(request, trace, context=context, checkpoint=checkpoint, order=order, begun=begun):
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


def _explored(
    request: Request,
    trace: Path,
    *,
    context: Context,
    checkpoint: checkpoints.Checkpoint | None,
    order: int,
    begun: float,
) -> Iterator[engine.StreamItem]:
    if request.program is not None:
        return program_run.explore(
            request.program,
            trace,
            options=request.options,
            engine_path=context.engine_path,
            keep_image=context.out / "images" / f"{request.slug or slug(trace.stem)}.image",
            interrupt=context.interrupt,
            spent=time.monotonic() - begun,
        )
    arguments = ["explore", "--trace", str(trace), *request.options.arguments()]
    if checkpoint is not None and context.chunks:
        arguments += ["--checkpoint", str(checkpoint.chunks)]
    if context.resume and context.chunks:
        arguments.append("--resume")
    exploring = Exploring(
        name=request.name,
        trace=trace,
        options=request.options,
        engine_path=context.engine_path,
        folder=checkpoint.parts if checkpoint else None,
        resume=context.resume,
        interrupt=context.interrupt,
        progressed=lambda progress: context.listener.progressed(order, progress, 0),
    )
    for path in context.machines.explored(exploring):
        arguments += ["--take", str(path)]
    return engine.stream(context.engine_path, arguments, interrupt=context.interrupt)


def trace_of(request: Request, context: Context) -> Path:
    """Where a run records."""
    return context.out / "traces" / f"{request.slug}.pct"


def checkpoint_of(request: Request, context: Context) -> checkpoints.Checkpoint | None:
    """The file in which a run keeps finished chunks; begun anew, unless the run is resumed."""
    if not context.checkpoints or not request.subject.in_chunks:
        return None
    name = request.slug or slug(request.trace.stem if request.trace else "trace")
    found = checkpoints.of_run(context.out, f"{name}-{slug(request.options.model)}")
    if not context.resume:
        found.begin()
    return found


def recorded(
    request: Request, trace: Path, made: RunClaims, *, context: Context, checkpoint: checkpoints.Checkpoint | None
) -> dict[str, Any]:
    """Records, unless there is a run to go on with that has recorded the same."""
    if request.program is not None:
        return program_run.record(
            request.program, trace, interrupt=context.interrupt, within=request.options.budget.seconds
        )
    assert request.plan is not None
    record_here = partial(
        plan_recording.record,
        request.plan,
        trace,
        context=context,
        tracer=request.tracer,
        loads=made.needs_lines_read,
        limit=_limit(request),
    )
    if checkpoint is None:
        return record_here()
    # Two tracers make two traces of one plan.
    key = request.plan if request.tracer == DEFAULT_TRACER else {**request.plan, "tracer": request.tracer}
    if context.resume and (earlier := checkpoint.recorded(key, trace)):
        return earlier
    checkpoint.begin()
    checkpoint.chunks.unlink(missing_ok=True)  # of another trace than the one that is recorded now
    answer = record_here()
    checkpoint.keep_recording(key, answer)
    return answer


def _limit(request: Request) -> float | None:
    """Seconds that an operation may take while it is recorded: as many as one that is explored, and a budget's."""
    watchdog, budget = request.options.watchdog, request.options.budget.seconds
    limits = [watchdog] if watchdog is not None else []
    if budget is not None and (watchdog or _OPERATION_SECONDS) > budget + _PATIENCE:
        limits.append(budget + _PATIENCE)
    return min(limits, default=None)


def exit_code(run: RunRecord, *, fail_on: frozenset[str] = frozenset()) -> ExitCode:
    """Returns the exit status that one run record means. Findings that a gate accepts do not count."""
    if (
        any(finding.counts for finding in run.findings)
        or any(item.kind in fail_on for item in run.performance_bugs)
        or (CLAIMS in fail_on and any(item.holds is False for item in run.claims))
    ):
        return ExitCode.FINDINGS
    return ExitCode.CLEAN if is_complete(run) else ExitCode.INCOMPLETE


def is_complete(run: RunRecord) -> bool:
    """True when the run was judged, over all states, to the depth that was asked for."""
    coverage, nested = run.coverage, run.coverage.nested_complete
    # `nested_complete` is a depth or a yes/no; None means that the question does not arise.
    deep = nested is not False if nested is None or isinstance(nested, bool) else nested >= (run.nested or 0)
    judged = run.verdict != "unknown" and run.error is None
    return bool(judged and coverage.kind == "complete" and deep)
