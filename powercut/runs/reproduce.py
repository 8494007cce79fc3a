"""Replays a finding record on the trace it was found in, or on a fresh recording of its plan.

A trace belongs to the build that it was recorded with. After the code under test was rebuilt the engine
refuses the old trace; the plan is then recorded again, and the finding is looked for there. Where the new
trace does not have the crash state any more the finding may have moved or gone: that is a UsageError, since
only `powercut run` can tell.
"""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from powercut.base import trust
from powercut.base.errors import UsageError
from powercut.base.user_files import read_json, refuse_other_kinds
from powercut.engine import engine, events
from powercut.engine.options import step_words
from powercut.findings.finding_records import FINDING_VERSION
from powercut.program import run as program_run
from powercut.runs.plan_recording import record
from powercut.runs.run_request import Context
from powercut_records.base import first_error
from powercut_records.finding import FindingRecord

#: Fields that a finding record must have to be replayed.
_NEEDED = ("fingerprint", "invariant", "target", "scenario", "crash_point", "image", "stores")


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """The result of replaying a finding."""

    held: bool
    fresh_trace: bool
    finding: FindingRecord
    #: The invariant that the crash image violates now; after a change of the code it may be another one.
    invariant: str
    message: str
    #: Files that the image was written to.
    files: tuple[str, ...] = ()


def load(path: Path, *, trusted: bool) -> FindingRecord:
    """A finding record; UsageError for anything else, and for one whose code may not run (`trust`)."""
    next_step = "Name a file of the folder 'findings' that 'powercut run' wrote."

    def refused(why: str) -> UsageError:
        return UsageError(f"not a finding ({why})", where=str(path), next_step=next_step)

    raw = read_json(path, "this finding", next_step=next_step)
    if not isinstance(raw, dict) or not isinstance(raw.get("finding"), int):
        raise refused("finding: the number of its version is missing")
    if raw["finding"] != FINDING_VERSION:
        raise UsageError(
            f"finding record version {raw['finding']}, this build reads {FINDING_VERSION}",
            where=str(path),
            next_step="Find it again with 'powercut run'.",
        )
    if missing := [name for name in _NEEDED if name not in raw]:
        raise refused(f"{missing[0]}: it is missing")
    try:
        content = FindingRecord.model_validate(raw)
    except ValidationError as error:
        raise refused(first_error(error)) from error
    trace = _trace(content, path)
    trust.require([*trust.of_finding(raw), *(trust.of_trace(trace) if trace else [])], file=path, granted=trusted)
    return content


def reproduce(
    path: Path,
    *,
    context: Context,
    image_out: Path | None = None,
    trusted: bool = False,
    watchdog: float | None = None,
    step_budget: int | None = None,
) -> Reproduction:
    """Replays the finding at `path`. Traces that must be recorded again go to `context.out`.

    `image_out`, for findings of programs: a file for the crash image.
    """
    content = load(path, trusted=trusted)
    if image_out:
        refuse_other_kinds(image_out, place=f"--image-out {image_out}", next_step="Name a file for the crash image.")
    if content.program:
        return _replay_program(path, context=context, content=content, image_out=image_out)
    if image_out:
        raise UsageError(
            "only the finding of a recorded program has an image that is a file",
            where="--image-out",
            next_step="Leave it out; the finding's record has the image's lines.",
        )
    refused: UsageError | None = None
    trace = _trace(content, path)
    if trace is not None:
        try:
            return _replay(
                path, trace, context=context, content=content, fresh=False, watchdog=watchdog, step_budget=step_budget
            )
        except UsageError as error:
            refused = error
    if content.plan is None:
        raise refused or UsageError(
            f"its trace is gone ({content.trace}), and it holds no plan to record it again",
            where=str(path),
            next_step="Record the scenario again and explore it.",
        )
    again = context.out / "again.pct"
    record(content.plan, again, context=context)
    return _replay(
        path, again, context=context, content=content, fresh=True, watchdog=watchdog, step_budget=step_budget
    )


def _replay_program(path: Path, *, context: Context, content: FindingRecord, image_out: Path | None) -> Reproduction:
    trace = trace_of_program(content, path)
    shown = program_run.reproduce(content, path, trace, engine_path=context.engine_path, out=image_out)
    return Reproduction(
        held=shown.held,
        fresh_trace=False,
        finding=content,
        invariant=shown.invariant,
        message=shown.message,
        files=shown.files,
    )


def trace_of_program(content: FindingRecord, path: Path) -> Path:
    """The trace of a program's finding; UsageError when it is gone, since only that recording shows the finding."""
    trace = _trace(content, path)
    if trace is None:
        raise UsageError(
            f"its trace is gone ({content.trace}), and another recording of the program need not be the same",
            where=str(path),
            next_step="Run 'powercut run' with the program's commands again.",
        )
    return trace


def _trace(content: FindingRecord, path: Path) -> Path | None:
    """The trace as it was named, else beside the finding (an output folder that was moved)."""
    name = content.trace
    if not name:
        return None
    beside = path.resolve().parent.parent / "traces" / Path(name).name
    return next((place for place in (Path(name), beside) if place.is_file()), None)


def _replay(
    path: Path,
    trace: Path,
    *,
    context: Context,
    content: FindingRecord,
    fresh: bool,
    watchdog: float | None,
    step_budget: int | None,
) -> Reproduction:
    arguments = ["reproduce", "--trace", str(trace), "--finding", str(path.absolute()), *step_words(step_budget)]
    if watchdog is not None:
        arguments += ["--watchdog-seconds", f"{watchdog:g}"]
    event, _ = engine.single(context.engine_path, arguments, events.Reproduced)
    assert isinstance(event, events.Reproduced)
    shown = event.finding or {}
    return Reproduction(
        held=event.held,
        fresh_trace=fresh,
        finding=content,
        invariant=shown.get("invariant", content.invariant),
        message=shown.get("message", ""),
    )
