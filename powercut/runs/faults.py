"""Faults on top of power cuts (checker/FAULTS.md): asks the engine, and puts together what it answers.

A run is one kind of fault in one recorded scenario. Its record holds the engine's counts and its findings, with their
call stacks as source positions. For failing allocations it also holds the exploration of every trace that such a run
left. These explorations are ordinary runs, whose findings `powercut reproduce` replays.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from powercut.base.errors import HarnessError, PowercutError
from powercut.base.exit_codes import ExitCode, worst
from powercut.base.output_files import write_json
from powercut.engine import engine, events, options
from powercut.findings.finding_records import symbolised
from powercut.runs import plan_recording, runner
from powercut.runs.applicability import WithoutRuns, unjudged
from powercut.runs.run_request import Context, Request, Silent
from powercut_records import media
from powercut_records.run import RunRecord

FAULTS_VERSION = 1
#: The kinds of faults, and what each does.
KINDS = {
    "media": "a place cannot be read: a block of 256 bytes, of which every load raises SIGBUS, or a sector or page",
    "bitflip": "one bit of what the run wrote has the other value",
    "alloc": "one allocation fails, of memory or of the shared pool allocator",
    "stale": "the fresh pool is full of noise before format",
    "shorn": "of one write to a block device only a part reached the medium",
    "unserialisable": "a write that a block device made durable is missing, and later ones are there",
    "stale-mapping": "a run of sectors, a page, a cell or an erase block is what it was at an earlier time",
    "paired-page": "the cut program of a flash page destroys the page that it shares its cells with",
    "unstable-read": "a unit of NOR flash whose program was cut reads differently each time",
    "stuck-bits": "a bit of NOR flash reads as 0 or 1, whatever is programmed or erased",
}
#: Faults that only some media have: the media's name, and their models.
ONLY_ON = {
    "shorn": (media.BLOCK.many, media.BLOCK.models),
    "unserialisable": (media.BLOCK.many, media.BLOCK.models),
    "stale-mapping": ("devices", [model for medium in media.MEDIA if medium.device for model in medium.models]),
    "paired-page": (media.FLASH.many, media.FLASH.models),
    "unstable-read": (media.NOR.many, media.NOR.models),
    "stuck-bits": (media.NOR.many, media.NOR.models),
}


def fitting(model: str) -> tuple[str, ...]:
    """The kinds that a pool with this persistency model can have."""
    return tuple(kind for kind in KINDS if kind not in ONLY_ON or model in ONLY_ON[kind][1])


@dataclass(frozen=True, kw_only=True)
class FaultOptions:
    """Options that decide which cases are judged."""

    kinds: tuple[str, ...] = ()  # of those that fit the target's pool; none: all
    budget: int | None = None  # executions of recovery, for each run
    seed: int = options.DEFAULT_SEED


@dataclass(kw_only=True)
class Outcome(WithoutRuns):
    """The result of a command's runs."""

    runs: list[dict[str, Any]] = field(default_factory=list)


def run_all(
    requests: Sequence[Request],
    chosen: FaultOptions,
    context: Context,
    *,
    jobs: int,
    on_run: Callable[[dict[str, Any]], None] = lambda run: None,
) -> Outcome:
    """Carries out `requests`, at most `jobs` at a time; `on_run` hears of the records in the requests' order."""
    outcome = Outcome()
    with ThreadPoolExecutor(max_workers=max(1, min(jobs, len(requests)))) as pool:
        futures = [pool.submit(run_faults, item, chosen, context, order=n) for n, item in enumerate(requests)]
        try:
            for request, future in zip(requests, futures, strict=True):
                try:
                    runs = future.result()
                except PowercutError as error:
                    outcome.failed(request, error)
                    continue
                outcome.runs += runs
                for run in runs:
                    on_run(run)
        except BaseException:
            for waiting in futures:
                waiting.cancel()
            context.interrupt.request()
            raise
    outcome.errors += unjudged(requests, outcome.aside)
    return outcome


def run_faults(request: Request, chosen: FaultOptions, context: Context, *, order: int = 0) -> list[dict[str, Any]]:
    """Records the scenario of `request` and injects every kind of fault; one record a kind, each on disk.

    Raises UsageError when the scenario does not fit; a failure of the harness becomes part of the record.
    """
    assert request.plan is not None
    trace = context.out / "traces" / f"{request.slug}.pct"
    context.listener.started(order, request.name)
    try:
        plan_recording.record(request.plan, trace, context=context)
        return [
            _one(kind, request, trace, chosen, context, order=order)
            for kind in fitting(request.options.model)
            if not chosen.kinds or kind in chosen.kinds
        ]
    finally:
        context.listener.ended(order)


def _one(
    kind: str, request: Request, trace: Path, chosen: FaultOptions, context: Context, *, order: int
) -> dict[str, Any]:
    arguments = ["faults", "--trace", str(trace), "--fault", kind, "--seed", str(chosen.seed)]
    if chosen.budget is not None:
        arguments += ["--budget-executions", str(chosen.budget)]
    if kind == "alloc":
        folder = context.out / "traces" / f"{request.slug}-alloc"
        folder.mkdir(parents=True, exist_ok=True)
        arguments += ["--traces", str(folder)]
    run: dict[str, Any] = {
        "faults": FAULTS_VERSION,
        "fault": kind,
        "target": request.header.get("target", ""),
        "variant": request.header.get("variant", ""),
        "scenario": request.header.get("scenario", ""),
        "complete": False,
        "findings": [],
        "explored": [],
        "trace": str(trace),
        "error": None,
    }
    modules: list[events.Module] = []
    left: list[str] = []
    try:
        for event, raw in engine.stream(context.engine_path, arguments, interrupt=context.interrupt):
            if isinstance(event, events.Modules):
                modules = event.modules
            elif isinstance(event, events.FaultTrace):
                left.append(event.trace)
            elif isinstance(event, events.FaultFinding):
                item = symbolised(raw, modules, context.symbolizer)
                run["findings"].append({name: value for name, value in item.items() if name != "event"})
            elif isinstance(event, events.FaultResult):
                run.update({name: value for name, value in raw.items() if name not in ("event", "findings")})
    except HarnessError as failure:
        run["error"] = {"what": failure.what, "where": failure.where, "next": failure.next_step}
    run["explored"] = [record.as_json() for record in _explore(left, request, context, order=order)]
    write_json(context.out / "faults" / f"{request.slug}-{kind}.json", run)
    return run


def _explore(traces: Sequence[str], request: Request, context: Context, *, order: int) -> list[RunRecord]:
    """The crash states of the runs whose traces these are, each judged like any other run."""
    silent = replace(context, listener=Silent())
    return [
        runner.run_one(
            Request(
                name=f"{request.name} {Path(trace).stem}",
                slug=f"{request.slug}-{Path(trace).stem}",
                options=request.options,
                trace=Path(trace),
                header={**request.header, "command": f"powercut explore {trace}"},
            ),
            silent,
            order=order,
        )
        for trace in traces
    ]


def exit_code(run: dict[str, Any]) -> ExitCode:
    """Returns the exit status that one record means."""
    own = ExitCode.CLEAN
    if run["findings"]:
        own = ExitCode.FINDINGS
    elif run["error"] is not None or not run["complete"]:
        own = ExitCode.INCOMPLETE
    return worst([own, *(runner.exit_code(RunRecord.model_validate(item)) for item in run["explored"])])
