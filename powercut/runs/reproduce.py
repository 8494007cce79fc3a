"""Replays a finding record on the trace it was found in, or on a fresh recording of its plan.

A trace belongs to the build that it was recorded with. After the code under test was rebuilt the engine
refuses the old trace; the plan is then recorded again, and the finding is looked for there. Where the new
trace does not have the crash state any more the finding may have moved or gone: that is a UsageError, since
only `powercut run` can tell.
"""

from pathlib import Path

from pydantic import ValidationError

from powercut.base import trust
from powercut.base.errors import UsageError
from powercut.base.user_files import read_json, refuse_other_kinds
from powercut.findings.finding_records import FINDING_VERSION
from powercut.findings.traces import trace_of
from powercut.runs import subjects
from powercut.runs.run_request import Context
from powercut_records.base import first_error
from powercut_records.finding import FindingRecord

#: Fields that a finding record must have to be replayed.
_NEEDED = ("fingerprint", "invariant", "target", "scenario", "crash_point", "image", "stores")


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
    trace = trace_of(content, path)
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
) -> subjects.Reproduction:
    """Replays the finding at `path`. Traces that must be recorded again go to `context.out`.

    `image_out`, for findings of programs: a file for the crash image.
    """
    content = load(path, trusted=trusted)
    if image_out:
        refuse_other_kinds(image_out, place=f"--image-out {image_out}", next_step="Name a file for the crash image.")
    return subjects.of_record(content).reproduce(
        subjects.Replaying(
            finding=content,
            file=path,
            context=context,
            image_out=image_out,
            watchdog=watchdog,
            step_budget=step_budget,
        )
    )
