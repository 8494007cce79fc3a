"""Run records that lie on disk (checker/RUN.md), read back."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from powercut.base.errors import HarnessError, PowercutError, UsageError
from powercut.base.user_files import read_json
from powercut.findings.collector import RUN_VERSION, blank_run
from powercut_records.base import first_error
from powercut_records.finding import FindingRecord
from powercut_records.run import RunError, RunRecord

_AGAIN = "Delete the file, or run the scenario again."
#: Fields on which the exit code depends; other fields may be absent.
_NEEDED = ("target", "verdict", "nested", "coverage", "findings", "performance_bugs", "error")


def load(path: Path) -> RunRecord:
    """One run record; UsageError for anything else."""
    run = read_json(path, "this run record", next_step=_AGAIN)
    version = run.get("run") if isinstance(run, dict) else None
    if version != RUN_VERSION:
        raise UsageError(
            f"run record version {version!r}, this build reads {RUN_VERSION}", where=str(path), next_step=_AGAIN
        )
    missing = [name for name in _NEEDED if name not in run]
    if missing:
        raise _refused(path, f"{missing[0]}: it is missing")
    try:
        return blank_run(run)
    except ValidationError as error:
        raise _refused(path, first_error(error)) from error


def load_all(folder: Path) -> list[RunRecord]:
    """Every run record of an output folder, by file name."""
    files = sorted((folder / "runs").glob("*.json"))
    if not files:
        raise UsageError(
            "there are no run records here",
            where=str(folder / "runs"),
            next_step="Name the folder that 'powercut run --out DIR' wrote (default .powercut).",
        )
    return [load(path) for path in files]


#: Errors that a changed field of a record leads to.
_FAULTS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def _faults_of_templates() -> tuple[type[Exception], ...]:
    """The errors of jinja2, if a report has loaded it; most commands do not, and it takes 0.01 s."""
    loaded = sys.modules.get("jinja2")
    return (loaded.TemplateError,) if loaded else ()


@contextmanager
def as_written(place: Path, kind: str, *, next_step: str) -> Iterator[None]:
    """Wraps what walks over a record that lay on disk: a field of it, however deep, may have been changed by hand.

    Its shape is checked where it is read as far as verdicts depend on it. The rest is for people: what cannot be shown
    of it is a sentence about the file.
    """
    try:
        yield
    except PowercutError:
        raise
    except Exception as error:
        if not isinstance(error, (*_FAULTS, *_faults_of_templates())):
            raise
        raise UsageError(
            f"{kind} is not as powercut writes it ({type(error).__name__}: {error})",
            where=str(place),
            next_step=next_step,
        ) from error


def _refused(path: Path, why: str) -> UsageError:
    return UsageError(f"not a run record ({why})", where=str(path), next_step=_AGAIN)


def contradict(run: RunRecord, what: str, missed: Iterable[FindingRecord]) -> None:
    """Makes a clean run `unknown`, which looked at all images and does not have the findings `missed`."""
    files = ", ".join(finding.file for finding in missed)
    run.verdict = "unknown"
    error = HarnessError(
        f"{what} ({files})",
        where="powercut-engine",
        next_step="One of the two is wrong. This is a defect of powercut; please report it with the trace.",
    )
    run.error = RunError.model_validate(error.described())
