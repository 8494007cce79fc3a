"""`powercut report`: make the reports of earlier runs again."""

import json as json_format
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import BaseModel, ValidationError

from powercut import options, output
from powercut.collector import RUN_VERSION, blank_run
from powercut.commands import shared
from powercut.errors import UsageError
from powercut.exit_codes import worst
from powercut.gate import open_gate
from powercut.runner import exit_code


class _Coverage(BaseModel):
    kind: str


class _Shape(BaseModel):
    """What the exit code and the reports rely on; the rest may be absent."""

    target: str
    verdict: str
    nested: int
    coverage: _Coverage
    findings: list[dict[str, Any]]
    hygiene: list[dict[str, Any]]
    error: dict[str, Any] | None


def register(app: typer.Typer) -> None:
    app.command()(report)


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The output folder of 'powercut run'.")],
    format: shared.Format = "text,html",
    json: shared.Json = False,
    fail_on: shared.FailOn = None,
    baseline: shared.Baseline = None,
    suppressions: shared.Suppressions = None,
) -> None:
    """Render the reports of an output folder again, from its run records.

    Nothing is explored. Exit codes are those of the runs, with --baseline and suppressions as they are now.
    """
    formats, kinds = output.parse_formats(format), options.parse_fail_on(fail_on or [])
    gate = open_gate(baseline, suppressions)
    runs = load_runs(folder)
    for run in runs:
        gate.mark(run)
    if json:
        output.print_json(output.runs_object(runs, gate=gate))
    elif "text" in formats:
        for run in runs:
            output.print_run(run)
        output.print_gate(gate, runs)
    names = list(dict.fromkeys(run["target"] for run in runs))
    for path in output.write_reports(runs, folder, formats, title=output.report_title(names), gate=gate):
        output.say(f"Report: {path}")
    for path in output.write_gate_reports(runs, folder, formats, fail_on=kinds, as_json=json):
        output.say(f"Report: {path}")
    raise typer.Exit(worst(exit_code(run, fail_on=kinds) for run in runs))


def load_runs(folder: Path) -> list[dict[str, Any]]:
    """Every run record of an output folder, by file name."""
    files = sorted((folder / "runs").glob("*.json"))
    if not files:
        raise UsageError(
            "there are no run records here",
            where=str(folder / "runs"),
            next_step="Name the folder that 'powercut run --out DIR' wrote (default .powercut).",
        )
    return [_load(path) for path in files]


def _load(path: Path) -> dict[str, Any]:
    again = "Delete the file, or run the scenario again."
    try:
        run = json_format.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"not a readable run record ({error})", where=str(path), next_step=again) from error
    if not isinstance(run, dict) or run.get("run") != RUN_VERSION:
        version = run.get("run") if isinstance(run, dict) else None
        raise UsageError(
            f"run record version {version!r}, this build reads {RUN_VERSION}", where=str(path), next_step=again
        )
    try:
        _Shape.model_validate(run)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"not a run record ({field}: {first['msg']})", where=str(path), next_step=again) from error
    return blank_run(run)
