"""Run records that lie on disk (checker/RUN.md), read back."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from pydantic import BaseModel, ValidationError

from powercut.base.errors import PowercutError, UsageError
from powercut.base.user_files import read_json
from powercut.findings.collector import RUN_VERSION, blank_run

_AGAIN = "Delete the file, or run the scenario again."


class _Coverage(BaseModel):
    kind: str


class _Shape(BaseModel):
    """What the exit code and the reports rely on; the rest may be absent."""

    target: str
    verdict: str
    nested: int
    coverage: _Coverage
    findings: list[dict[str, Any]]
    performance_bugs: list[dict[str, Any]]
    error: dict[str, Any] | None


def load(path: Path) -> dict[str, Any]:
    """One run record; UsageError for anything else."""
    run = read_json(path, "this run record", next_step=_AGAIN)
    if not isinstance(run, dict) or run.get("run") != RUN_VERSION:
        version = run.get("run") if isinstance(run, dict) else None
        raise UsageError(
            f"run record version {version!r}, this build reads {RUN_VERSION}", where=str(path), next_step=_AGAIN
        )
    try:
        _Shape.model_validate(run)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise _refused(path, f"{field}: {first['msg']}") from error
    for name, empty in blank_run({}).items():
        found = run.get(name, empty)
        if empty is not None and not isinstance(found, type(empty)) and not isinstance(found, int | float):
            raise _refused(path, f"{name}: this should be of type {type(empty).__name__}")
    return blank_run(run)


def load_all(folder: Path) -> list[dict[str, Any]]:
    """Every run record of an output folder, by file name."""
    files = sorted((folder / "runs").glob("*.json"))
    if not files:
        raise UsageError(
            "there are no run records here",
            where=str(folder / "runs"),
            next_step="Name the folder that 'powercut run --out DIR' wrote (default .powercut).",
        )
    return [load(path) for path in files]


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
    except (ArithmeticError, AttributeError, LookupError, TemplateError, TypeError, ValueError) as error:
        raise UsageError(
            f"{kind} is not as powercut writes it ({type(error).__name__}: {error})",
            where=str(place),
            next_step=next_step,
        ) from error


def _refused(path: Path, why: str) -> UsageError:
    return UsageError(f"not a run record ({why})", where=str(path), next_step=_AGAIN)
