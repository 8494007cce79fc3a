"""Examples of a property-based test that are not the last one: judged fast, and nothing of them is kept.

Hypothesis runs a test some hundred times, and more while it shrinks what failed. All of these share one scratch folder,
one symboliser and no failure database; an example then costs two starts of the engine. Only the run of the final,
smallest example goes to the output folder, by the usual way.

A table that answers FULL, or that refuses a drawn configuration, has not failed: the example is rejected, and
Hypothesis draws another.
"""

import atexit
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError, UsageError
from powercut.claims.run import RunClaims
from powercut.engine import engine, events
from powercut.findings.collector import blank_run
from powercut.findings.store import FindingStore
from powercut.runs import plan_recording, subjects
from powercut.runs.run_request import Context, Request
from powercut.symbols.symbolize import Symbolizer
from powercut_records.base import changed
from powercut_records.finding import Coverage, FindingRecord
from powercut_records.run import RunError, RunRecord

#: The engine's words for a workload or a configuration that the target cannot take.
_REFUSALS = (
    "answered FULL",
    "answered TOO_LARGE",
    "answered UNSUPPORTED",
    "the target does not support",
    "refuses the configuration",
    "refuses this configuration",
    ", and the target takes ",
    "pool is too small",
)


def in_progress() -> bool:
    """True inside an example of Hypothesis, unless it is the last run of the smallest one that fails."""
    control: Any = sys.modules.get("hypothesis.control")
    return bool(control and control.currently_in_test_context() and not control.current_build_context().is_final)


def in_example() -> bool:
    """True inside any example of Hypothesis."""
    control: Any = sys.modules.get("hypothesis.control")
    return bool(control and control.currently_in_test_context())


def judge(request: Request) -> RunRecord:
    """Returns a run record without the parts that only a report needs. The run ends at the first finding, which has its
    name.

    Rejects the example when the target cannot take it.
    """
    import hypothesis

    try:
        return _explored(request, _bench())
    except UsageError as error:
        if is_refusal(error):
            hypothesis.reject()
        raise


def folder() -> Path:
    """The scratch folder of all examples."""
    return _bench().out


def _explored(request: Request, context: Context) -> RunRecord:
    run = blank_run({**request.options.described(), **request.header})
    try:
        with closing(_stream(request, context, context.out / "example.pct")) as stream:
            for event, raw in stream:
                if isinstance(event, events.Finding):
                    named = {name: raw[name] for name in ("invariant", "underlying", "message")}
                    return changed(run, verdict="inconsistent", findings=[FindingRecord.model_validate(named)])
                if isinstance(event, events.Result):
                    run.verdict = event.verdict
                    run.coverage = Coverage.model_validate(event.coverage.model_dump())
    except HarnessError as error:
        run.error = RunError.model_validate(error.described())
    return run


def _stream(request: Request, context: Context, trace: Path) -> Generator[engine.StreamItem, None, None]:
    """The events of an exploration of a new recording."""
    if request.plan is not None:
        plan_recording.record(request.plan, trace, context=context)
        arguments = ["explore", "--trace", str(trace), *request.options.arguments()]
        yield from engine.stream(context.engine_path, arguments)
        return
    subject = subjects.of(request)
    claims = RunClaims(None, None, model=request.options.model)
    subject.record(request, trace, claims, context=context, checkpoint=None)
    yield from subject.explore(
        subjects.Exploring(
            request=request, trace=trace, context=context, checkpoint=None, order=0, name="example", spent=0.0
        )
    )


def is_refusal(error: UsageError) -> bool:
    """True when the request was understood, and the target cannot take the workload."""
    return any(words in error.what for words in _REFUSALS)


@cache
def _bench() -> Context:
    """The scratch folder and the symboliser of this process, until it ends."""
    opened = ExitStack()
    atexit.register(opened.close)
    out = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="powercut-examples-")))
    symbolizer = opened.enter_context(Symbolizer())
    return Context(engine_path=paths.engine(), out=out, store=FindingStore(out), symbolizer=symbolizer)
