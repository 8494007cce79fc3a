"""Holding the engine to the truth: random legal crash images, run plain, against what the engine predicts.

Each scenario is recorded as `powercut run` records it, and audited by an engine of its own. `--images` is
the number of images in all: every scenario gets the same share, and the first ones what is left over. The
images of a scenario are drawn uniformly, with replacement, from all its legal crash states.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError, PowercutError
from powercut.base.exit_codes import ExitCode, worst
from powercut.engine import engine, events
from powercut.runs import stopping
from powercut.runs.applicability import WithoutRuns, summary, unjudged
from powercut.runs.plan_recording import record
from powercut.runs.run_request import Context, Request

#: Images of a command line that does not say how many; a few seconds over the core scenarios.
DEFAULT_IMAGES = 10_000


@dataclass(kw_only=True)
class Outcome(WithoutRuns):
    """The result of an audit: one record a scenario, in the order asked for, with its differences."""

    audits: list[dict[str, Any]] = field(default_factory=list)
    interrupted: bool = False

    @property
    def images(self) -> int:
        """Images drawn and compared."""
        return sum(item["images"] for item in self.audits)

    @property
    def differences(self) -> int:
        """Distinct pairs of image and query whose result was not predicted."""
        return sum(item["differences"] for item in self.audits)

    def as_json(self) -> dict[str, Any]:
        """The object that `powercut audit --json` prints."""
        return {
            "images": self.images,
            "differences": self.differences,
            "cases": [case for item in self.audits for case in item["cases"]],
            "audits": [{name: value for name, value in item.items() if name != "cases"} for item in self.audits],
            **summary(self.aside),
        }

    def exit_code(self) -> ExitCode:
        """CLEAN when everything was audited and nothing differed, FINDINGS for differences."""
        codes = [error.exit_code for error in self.errors]
        codes += [ExitCode.FINDINGS] if self.differences else []
        return worst([*codes, ExitCode.INCOMPLETE] if self.interrupted else codes)


def shares(images: int, scenarios: int) -> list[int]:
    """`images` split equally, the remainder to the first ones."""
    each, rest = divmod(images, scenarios)
    return [each + (order < rest) for order in range(scenarios)]


def run_all(
    requests: Sequence[Request],
    context: Context,
    *,
    images: int,
    jobs: int,
    on_audit: Callable[[dict[str, Any]], None] = lambda audit: None,
) -> Outcome:
    """Audits every request with its share of `images`; at most `jobs` at a time. Ctrl-C stops them.

    A request without an image (fewer images than requests) is left out. An error of one request does not
    stop the others; it is in the outcome.
    """
    outcome = Outcome()
    wanted = [(item, share) for item, share in zip(requests, shares(images, len(requests)), strict=True) if share]
    tasks = [partial(run_one, item, context, images=share, order=order) for order, (item, share) in enumerate(wanted)]

    def stop() -> None:
        outcome.interrupted = True
        context.interrupt.request()

    with stopping.stoppable(tasks, jobs=jobs, stop=stop) as futures:
        for (request, _), future in zip(wanted, futures, strict=True):
            _take(request, future, outcome, on_audit)
    outcome.errors += unjudged([request for request, _ in wanted], outcome.aside)
    return outcome


def _take(
    request: Request, future: Future[dict[str, Any]], outcome: Outcome, on_audit: Callable[[dict[str, Any]], None]
) -> None:
    try:
        audit = future.result()
    except (CancelledError, engine.Interrupted):
        return
    except PowercutError as error:
        outcome.failed(request, error)
        return
    outcome.audits.append(audit)
    on_audit(audit)


def run_one(request: Request, context: Context, *, images: int, order: int = 0) -> dict[str, Any]:
    """Records one scenario and audits `images` of its crash images.

    Raises UsageError or HarnessError when it cannot be carried out, engine.Interrupted when asked to stop.
    """
    assert request.plan is not None
    context.listener.started(order, request.name)
    try:
        trace = context.out / "traces" / f"{request.slug}.pct"
        record(request.plan, trace, context=context)
        options = request.options
        arguments = ["audit", "--trace", str(trace), "--images", str(images), "--model", options.model]
        arguments += ["--atoms", options.atoms, "--seed", str(options.seed)]
        place = {name: request.header[name] for name in ("target", "variant", "scenario")}
        cases: list[dict[str, Any]] = []
        answer: dict[str, Any] | None = None
        for event, raw in engine.stream(context.engine_path, arguments, interrupt=context.interrupt):
            content = {name: value for name, value in raw.items() if name != "event"}
            if isinstance(event, events.Progress):
                context.listener.progressed(order, event, event.findings)
            elif isinstance(event, events.Difference):
                cases.append({**place, **content})
            elif isinstance(event, events.Audited):
                answer = content
    finally:
        context.listener.ended(order)
    if answer is None:
        raise HarnessError(
            "the engine ended without the result of the audit",
            where="powercut-engine",
            next_step=f"Engine and CLI are probably of different builds. {paths.BUILD}",
        )
    return {**place, "model": options.model, "atoms": options.atoms, "seed": options.seed, **answer, "cases": cases}
