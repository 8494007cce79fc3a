"""The library of a scheme, which runs in the engine's process and is undone by a journal."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.claims.run import RunClaims
from powercut.engine import engine, events
from powercut.engine.options import step_words
from powercut.findings.checkpoints import Checkpoint
from powercut.findings.traces import trace_of
from powercut.runs import machines, plan_recording
from powercut.runs.run_request import DEFAULT_TRACER, Context, Request
from powercut.runs.subjects.subject import Exploring, Replaying, Reproduction, Subject
from powercut_records.finding import FindingRecord

#: The engine's own limit of an operation that is recorded, and how much longer than a budget one may take, in seconds.
_OPERATION_SECONDS, _PATIENCE = 60.0, 1.0


class Library(Subject):
    word = "library"
    in_chunks = True
    recorded_alike = True
    in_engine = True
    # An exploration may take a fixed time, whatever the others took. It nearly always takes much less, so the answer
    # does not depend on the machine.
    part_of_search = 0.25

    def record(
        self, request: Request, trace: Path, made: RunClaims, *, context: Context, checkpoint: Checkpoint | None
    ) -> dict[str, Any]:
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

    def explore(self, exploring: Exploring) -> Iterator[engine.StreamItem]:
        request, context, checkpoint = exploring.request, exploring.context, exploring.checkpoint
        arguments = ["explore", "--trace", str(exploring.trace), *request.options.arguments()]
        if checkpoint is not None and context.chunks:
            arguments += ["--checkpoint", str(checkpoint.chunks)]
        if context.resume and context.chunks:
            arguments.append("--resume")
        elsewhere = machines.Exploring(
            name=request.name,
            trace=exploring.trace,
            options=request.options,
            engine_path=context.engine_path,
            folder=checkpoint.parts if checkpoint else None,
            resume=context.resume,
            interrupt=context.interrupt,
            progressed=lambda progress: context.listener.progressed(exploring.order, progress, 0),
        )
        for path in context.machines.explored(elsewhere):
            arguments += ["--take", str(path)]
        return engine.stream(context.engine_path, arguments, interrupt=context.interrupt)

    def judge(
        self, engine_path: Path, arguments: list[str], *, seconds: float | None, interrupt: engine.Interrupt | None
    ) -> Iterator[engine.StreamItem]:
        return engine.stream(engine_path, ["judge", *arguments], interrupt=interrupt)

    def reproduce(self, replaying: Replaying) -> Reproduction:
        finding, context = replaying.finding, replaying.context
        if replaying.image_out:
            raise UsageError(
                "only the finding of a recorded program has an image that is a file",
                where="--image-out",
                next_step="Leave it out; the finding's record has the image's lines.",
            )
        refused: UsageError | None = None
        trace = trace_of(finding, replaying.file)
        if trace is not None:
            try:
                return _replayed(replaying, trace, fresh=False)
            except UsageError as error:
                refused = error
        if finding.plan is None:
            raise refused or UsageError(
                f"its trace is gone ({finding.trace}), and it holds no plan to record it again",
                where=str(replaying.file),
                next_step="Record the scenario again and explore it.",
            )
        again = context.out / "again.pct"
        plan_recording.record(finding.plan, again, context=context)
        return _replayed(replaying, again, fresh=True)

    def has_threads(self, finding: FindingRecord) -> bool:
        return finding.plan is not None and any("threads" in phase for phase in finding.plan["scenario"]["phases"])

    def to_explain(self, finding: FindingRecord, file: Path) -> FindingRecord:
        self.refuse_shortening(finding)
        return finding

    def refuse_shortening(self, finding: FindingRecord) -> None:
        if not finding.plan:
            raise UsageError(
                "it holds no plan to record it again, smaller",
                where=f"finding {finding.fingerprint}",
                next_step="Find it by 'powercut run', which records what it explores.",
            )


def _limit(request: Request) -> float | None:
    """Seconds that an operation may take while it is recorded: as many as one that is explored, and a budget's."""
    watchdog, budget = request.options.watchdog, request.options.budget.seconds
    limits = [watchdog] if watchdog is not None else []
    if budget is not None and (watchdog or _OPERATION_SECONDS) > budget + _PATIENCE:
        limits.append(budget + _PATIENCE)
    return min(limits, default=None)


def _replayed(replaying: Replaying, trace: Path, *, fresh: bool) -> Reproduction:
    arguments = ["reproduce", "--trace", str(trace), "--finding", str(replaying.file.absolute())]
    arguments += step_words(replaying.step_budget)
    if replaying.watchdog is not None:
        arguments += ["--watchdog-seconds", f"{replaying.watchdog:g}"]
    event, _ = engine.single(replaying.context.engine_path, arguments, events.Reproduced)
    assert isinstance(event, events.Reproduced)
    shown = event.finding or {}
    return Reproduction(
        held=event.held,
        fresh_trace=fresh,
        finding=replaying.finding,
        invariant=shown.get("invariant", replaying.finding.invariant),
        message=shown.get("message", ""),
    )
