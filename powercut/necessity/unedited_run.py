"""The runs as they are: recorded, searched for sites, and explored completely, once for all drops."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.engine import engine, events, trace_events
from powercut.findings.collector import blank_run
from powercut.findings.finding_records import make_record
from powercut.necessity.effects import idle_events
from powercut.necessity.sites import Finder, Occurrences, Site, in_trace
from powercut.runs.plan_recording import record
from powercut.runs.run_request import Context, Request
from powercut.runs.runner import is_complete
from powercut_records.finding import Coverage, FindingRecord
from powercut_records.run import RunRecord

#: The engine's own limit of one crash point.
_WATCHDOG_SECONDS = 120.0


@dataclass(frozen=True, kw_only=True)
class Explored:
    """The result of one exploration."""

    verdict: str
    complete: bool
    reason: str | None
    crash_points: int
    crash_states: int
    executions: int
    loads: int
    #: Fingerprints of all findings that were announced, also of those that a better one of the same key replaced.
    fingerprints: frozenset[str]
    findings: list[FindingRecord]


@dataclass(frozen=True, kw_only=True)
class UneditedRun:
    """One run with all its flushes and fences."""

    request: Request
    trace: Path
    modules: list[events.Module]
    #: The trace without call stacks, and whether what comes before its first phase is explored.
    records: list[dict[str, Any]]
    starts: bool
    sites: dict[Site, Occurrences]
    explored: Explored

    @property
    def scenario(self) -> str:
        return str(self.request.header["scenario"])


def prepare(request: Request, folder: Path, *, context: Context, helpers: Sequence[str] = ()) -> UneditedRun:
    """Records and explores one run. UsageError and HarnessError are the caller's; Interrupted too."""
    assert request.plan is not None
    trace = folder / f"{request.slug}.pct"
    record(request.plan, trace, context=context)
    dumped = trace_events.read(context.engine_path, trace, interrupt=context.interrupt)
    finder = Finder(dumped.modules, context.symbolizer, helpers=helpers)
    sites = in_trace(dumped.records, finder, idle=idle_events(dumped.records, model=request.options.model))
    seen: list[events.RecoverySite] = []
    explored, modules = explore(request, trace, context=context, recovery_sites=seen)
    in_recovery = Finder(modules, context.symbolizer, helpers=helpers)
    for item in seen:
        if item.kind == "fence" and item.name not in ("sfence", "mfence"):
            continue
        site, prefix = in_recovery.site(item.kind, item.name, item.stack)
        occurrences = sites.setdefault(site, Occurrences())
        occurrences.in_recovery += item.count
        occurrences.prefixes.add(prefix)
    for one in dumped.records:
        one.pop("stack", None)
    return UneditedRun(
        request=request,
        trace=trace,
        modules=dumped.modules,
        records=dumped.records,
        starts=trace_events.starts_explored(request.plan),
        sites=sites,
        explored=explored,
    )


def explore(
    request: Request,
    trace: Path,
    *,
    context: Context,
    known: frozenset[str] | None = None,
    recovery_sites: list[events.RecoverySite] | None = None,
) -> tuple[Explored, list[events.Module]]:
    """Explores a trace with one worker. With `known`, it ends at the first finding that is not among these.

    One worker, so that the finding at which it ends is always the same one.
    """
    arguments = ["explore", "--trace", str(trace), *request.options.with_jobs(1).arguments()]
    limit = request.options.budget.seconds
    if limit is not None:
        # The engine looks at a budget between crash points; a single crash point may take longer than the whole budget.
        arguments += ["--crash-point-seconds", f"{min(limit, _WATCHDOG_SECONDS):g}"]
    if recovery_sites is not None:
        arguments.append("--list-recovery-sites")
    modules: list[events.Module] = []
    found: dict[str, FindingRecord] = {}
    fingerprints: set[str] = set()
    result: events.Result | None = None
    run = blank_run({**request.options.described(), **request.header})
    started = engine.stream(context.engine_path, arguments, interrupt=context.interrupt)
    # Closing it kills the engine.
    with contextlib.closing(started) as stream:
        for event, raw in stream:
            if isinstance(event, events.Modules):
                modules = event.modules
            elif isinstance(event, events.RecoverySite) and recovery_sites is not None:
                recovery_sites.append(event)
            elif isinstance(event, events.Finding):
                made = make_record(raw, modules, context.symbolizer, run=run)
                fingerprints.add(made.fingerprint)
                found[event.key] = made
                if known is not None and not known and made.fingerprint not in known:
                    break
            elif isinstance(event, events.Result):
                result = event
    return _explored(result, found, fingerprints, nested=request.options.nested), modules


def _explored(
    result: events.Result | None, found: dict[str, FindingRecord], fingerprints: set[str], *, nested: int
) -> Explored:
    findings = list({record.fingerprint: record for record in found.values()}.values())
    complete = result is not None and is_complete(
        RunRecord(coverage=Coverage.model_validate(result.coverage.model_dump()), nested=nested, verdict=result.verdict)
    )
    return Explored(
        verdict="inconsistent" if findings else result.verdict if result else "unknown",
        complete=complete,
        reason=result.coverage.reason if result else "it ended at its first finding",
        crash_points=result.crash_points if result else 0,
        crash_states=int(result.crash_states) if result else 0,
        executions=result.executions if result else 0,
        loads=result.loads if result else 0,
        fingerprints=frozenset(fingerprints),
        findings=findings,
    )
