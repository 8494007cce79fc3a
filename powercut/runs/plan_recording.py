"""Records a plan into a trace, under one of the tracers of targets."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError, UsageError, unknown_name
from powercut.base.output_files import unwritable, write_json
from powercut.claims.run import loads_file
from powercut.engine import engine, events
from powercut.program import pin, valgrind
from powercut.runs.run_request import DEFAULT_TRACER, Context, Request
from powercut.scenarios import targets


def record(
    plan: dict[str, Any],
    trace: Path,
    *,
    context: Context,
    tracer: str = DEFAULT_TRACER,
    loads: bool = False,
    limit: float | None = None,
) -> dict[str, Any]:
    """Records `plan` into `trace` and returns the `recorded` event. A failure leaves an older trace alone.

    `loads`: the lines that each operation reads are counted too, by a tracer that can, into the file beside the trace.
    `limit`: seconds that one operation may take; None is the engine's own limit.
    """
    _refuse_device(plan, tracer)
    try:
        trace.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=trace.parent, prefix=".record.") as folder:
            plan_file, part = Path(folder) / "plan.json", Path(folder) / trace.name
            write_json(plan_file, plan)
            answer = TRACERS[tracer](plan_file, part, context, Taking(loads=loads, limit=limit))
            event = events.Recorded.model_validate(answer)
            _refuse_missing_marks(event, plan)
            if not part.is_file():
                raise _no_recording()
            part.replace(trace)
            loads_file(trace).unlink(missing_ok=True)  # of the trace that was there before
            if loads_file(part).is_file():
                loads_file(part).replace(loads_file(trace))
            return {**answer, "trace": str(trace)}
    except OSError as error:
        raise unwritable(trace, error) from error


@dataclass(frozen=True, kw_only=True)
class Taking:
    """How a plan is recorded, beside the tracer."""

    #: Whether the lines that each operation reads are counted.
    loads: bool = False
    #: Seconds that one operation may take; None: the engine's own limit.
    limit: float | None = None

    def words(self) -> list[str]:
        """The engine's options for the limit."""
        return [] if self.limit is None else ["--operation-timeout", f"{self.limit:g}"]


def _with_llvm(plan: Path, trace: Path, context: Context, taking: Taking) -> dict[str, Any]:
    """The instrumented library tells the engine, which runs it, of everything."""
    arguments = ["record", "--plan", str(plan), "--trace", str(trace), *taking.words()]
    arguments += ["--count-loads", "--loads", str(loads_file(trace))] if taking.loads else []
    answer: dict[str, Any] | None = None
    for event, raw in engine.stream(context.engine_path, arguments, interrupt=context.interrupt):
        if isinstance(event, events.Recorded):
            answer = raw
    if answer is None:
        raise _no_recording()
    return answer


def _with_valgrind(plan: Path, trace: Path, context: Context, taking: Taking) -> dict[str, Any]:
    """The plain library, as it would be shipped, under the Valgrind tool, which counts no loads."""
    return valgrind.record_plan(context.engine_path, plan, trace, more=taking.words(), interrupt=context.interrupt)


def _with_pin(plan: Path, trace: Path, context: Context, taking: Taking) -> dict[str, Any]:
    """Records with the plain library under the Pintool."""
    return valgrind.record_plan(
        context.engine_path, plan, trace, more=taking.words(), interrupt=context.interrupt, under=pin.command
    )


#: Tracers that can record a target: the compiler pass, or a tool that needs no special build.
TRACERS: dict[str, Callable[[Path, Path, Context, Taking], dict[str, Any]]] = {
    "llvm": _with_llvm,
    "valgrind": _with_valgrind,
    "pin": _with_pin,
}


def with_tracer(requests: Sequence[Request], tracer: str | None) -> list[Request]:
    """Returns the requests with `tracer`; None is the default."""
    if tracer is None:
        return list(requests)
    refuse_unknown_tracer(tracer)
    return [replace(request, tracer=tracer) for request in requests]


def refuse_unknown_tracer(tracer: str | None) -> None:
    """UsageError for a tracer that cannot record targets; None is the default."""
    if tracer is not None and tracer not in TRACERS:
        raise unknown_name("tracer of targets", tracer, TRACERS, list_command="powercut run --help-all")
    if tracer == "pin":
        pin.require()  # said once, and not by every run


def _refuse_device(plan: dict[str, Any], tracer: str) -> None:
    """UsageError for a device that only the compiler pass hears of: elsewhere its flushes are calls of nobody."""
    library = Path(plan["target"]["library"])
    if tracer == DEFAULT_TRACER or not library.is_file() or targets.describe(library).description.device is None:
        return
    raise UsageError(
        f"the target's pool is a device, which the tracer '{tracer}' knows nothing of",
        where=f"--tracer {tracer}",
        next_step=f"Leave it out, or write --tracer {DEFAULT_TRACER}.",
    )


def _no_recording() -> HarnessError:
    return HarnessError(
        "the engine ended without a recording",
        where="powercut-engine",
        next_step=f"Engine and CLI are probably of different builds. {paths.BUILD}",
    )


def _refuse_missing_marks(event: events.Recorded, plan: dict[str, Any]) -> None:
    if event.marks_missing:
        names = ", ".join(event.marks_missing)
        raise UsageError(
            f"the explored phases never reach {names}",
            where=f"scenario {plan['scenario']['name']}",
            next_step="Change its steps or its [config] until they do, or correct 'expect_marks'.",
        )
