"""`powercut report`: make the reports of earlier runs again."""

from pathlib import Path
from typing import Annotated

import typer

from powercut.base.exit_codes import ExitCode, worst
from powercut.cli import output, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument
from powercut.engine import options
from powercut.findings import profiles, run_records
from powercut.gate.gate import Gate, open_gate
from powercut.runs.runner import exit_code
from powercut_records.run import RunRecord


def report(
    folder: Annotated[Path, argument("DIR", "The output folder of 'powercut run'.")],
    format: shared.Format = "text,html",
    json: shared.Json = False,
    fail_on: shared.FailOn = None,
    baseline: shared.Baseline = None,
    suppressions: shared.Suppressions = None,
) -> None:
    """Render the reports of an output folder again, from its run records.

    Nothing is explored. Exit codes are those of the runs, with --baseline and suppressions as they are now.
    """
    formats = output.parse_formats(format)
    gate = open_gate(baseline, suppressions)
    runs = run_records.load_all(folder)
    kinds = options.parse_fail_on(
        fail_on or [], also=profiles.words(row.profile for run in runs for row in run.profiles)
    )
    again = "Delete the records that were changed, or run their scenarios again."
    with run_records.as_written(folder / "runs", "a run record here", next_step=again):
        code = _render(runs, folder, formats, kinds, gate, as_json=json)
    raise typer.Exit(code)


def _render(
    runs: list[RunRecord],
    folder: Path,
    formats: frozenset[str],
    kinds: frozenset[str],
    gate: Gate,
    *,
    as_json: bool,
) -> ExitCode:
    for run in runs:
        gate.mark(run)
        profiles.mark(run, kinds)
    if as_json:
        output.print_json(output.runs_object(runs, gate=gate))
    elif "text" in formats:
        for run in runs:
            output.print_run(run, output.page_of(folder, formats))
        output.print_closing(runs)
        output.print_gate(gate, runs)
    names = list(dict.fromkeys(run.target for run in runs))
    for path in output.write_reports(runs, folder, formats, title=output.report_title(names), gate=gate):
        talk.say(f"Report: {path}")
    for path in output.write_gate_reports(runs, folder, formats, fail_on=kinds, gate=gate):
        talk.say(f"Report: {path}")
    output.print_annotations(runs, formats, fail_on=kinds, as_json=as_json)
    return worst(exit_code(run, fail_on=kinds) for run in runs)
