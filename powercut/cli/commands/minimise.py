"""`powercut minimise`: the smallest case that shows a finding's bug."""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from powercut import minimise
from powercut.base import paths, scratch
from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.base.output_files import write_json, write_text
from powercut.cli import output, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument, option
from powercut.cli.commands.minimise_lines import minimise_lines
from powercut.engine import options
from powercut.findings import run_records
from powercut.minimise import scenario_text, show
from powercut.runs import reproduce, runner
from powercut_records.base import changed
from powercut_records.finding import FindingRecord
from powercut_reports import text

SaveScenario = Annotated[
    Path | None, option("--save-scenario FILE.toml", "Write the minimal case as a scenario: a regression test.")
]


def register(app: typer.Typer) -> None:
    app.command("minimise")(minimise_finding)


def minimise_finding(
    finding: Annotated[Path, argument("FINDING.json", "A finding that 'powercut run' wrote.")],
    out: Annotated[
        Path | None, option("--out DIR", "Keep the minimal case there: its finding, its trace and its scenario.")
    ] = None,
    save_scenario: SaveScenario = None,
    limit: Annotated[
        str | None,
        option(
            "--limit LIMIT", "End after so many candidates (500) or this time (30s, 5m), with the smallest case so far."
        ),
    ] = None,
    json: shared.Json = False,
    trust: shared.Trust = False,
) -> None:
    """Find the smallest workload that still shows a finding's bug.

    Smaller plans are recorded and explored: fewer operations first, then a smaller configuration, a shorter trace, an
    earlier crash point and fewer lost stores. The bug is the same while it violates the same invariant and its lost
    stores have the same places in the source.

    If a program was recorded with --ops-file, lines of that file are taken away. The lines that are left are written
    beside FINDING.json, with the ending .ops.

    Exit code: 1 the bug shows, 0 the finding's workload does not show it any more, 2 the finding cannot be minimised,
    3 powercut itself failed.
    """
    content = reproduce.load(finding, trusted=trust)
    if content.program:
        if save_scenario is not None:
            raise UsageError(
                "a program's workload is no scenario",
                where="--save-scenario",
                next_step="Leave it out: the lines that are left are written beside the finding.",
            )
        code = minimise_lines(content, finding, out=out, limits=parse_limit(limit), json=json, trusted=trust)
        raise typer.Exit(code)
    with (
        run_records.as_written(finding, "this finding", next_step="Find it again with 'powercut run'."),
        kept_in(out) as folder,
    ):
        minimal = minimal_of(content, limits=parse_limit(limit), folder=folder)
        if minimal is None:
            if json:
                output.print_json({"fingerprint": content.fingerprint, "minimal": None})
            talk.say("The finding's plan does not show it any more: 'powercut run' tells whether it is clean now.")
            raise typer.Exit(ExitCode.CLEAN)
        if out is not None:
            minimal = _kept(minimal, out)
    value = minimal.record()
    if json:
        output.print_json({"fingerprint": content.fingerprint, "minimal": value.as_json()})
    else:
        print(show.summary(value, content.fingerprint))
        print(text.render_finding(minimal.finding, color=output.colored()))
    if save_scenario is not None:
        save(value.scenario, save_scenario)
    raise typer.Exit(ExitCode.FINDINGS)


@contextmanager
def kept_in(out: Path | None) -> Iterator[Path]:
    """Gives the folder of the minimal case's trace: a folder in `out`, or a folder that is gone afterwards."""
    with scratch.folder("powercut-") as folder:
        yield (out / "traces") if out is not None else folder


def minimal_of(content: FindingRecord, *, limits: minimise.Limits, folder: Path) -> minimise.Minimal | None:
    """Minimises a finding record, with a bar on a terminal."""
    minimise.refuse_without_plan(content)
    name = f"{content.subject} {content.invariant}"
    with (
        scratch.folder("powercut-") as work,
        runner.open_context(paths.engine(), work) as context,
        show.bar(name, limits) as on_progress,
    ):
        runner.prepare_out(folder)
        return minimise.minimise(content, context=context, folder=folder, limits=limits, on_progress=on_progress)


def parse_limit(value: str | None) -> minimise.Limits:
    """Returns the limits that `value` means: `500` candidates, or a time as in `--budget`."""
    if value is None:
        return minimise.Limits()
    if value.isascii() and value.isdigit() and int(value) > 0:
        return minimise.Limits(considered=int(value))
    try:
        seconds = options.parse_budget(value).seconds
    except UsageError:
        seconds = None
    if seconds is None:
        raise UsageError(
            f"'{value}' is not a limit",
            where="--limit",
            next_step="Write a number of candidates such as 500, or a time such as 30s or 5m.",
        )
    return minimise.Limits(considered=None, seconds=seconds)


def save(scenario: str, path: Path) -> None:
    """Writes a scenario to `path`, under the name of this file."""
    if path.suffix != ".toml" or not path.stem:
        raise UsageError(
            "a scenario is a .toml file", where=str(path), next_step=f"Write {path.with_suffix('.toml')}, for example."
        )
    write_text(path, scenario_text.renamed(scenario, path))
    talk.say(f"Scenario: {path}")


def _kept(minimal: minimise.Minimal, out: Path) -> minimise.Minimal:
    """Puts finding, trace and scenario into `out`, where `powercut reproduce` finds them."""
    name = minimal.finding.fingerprint
    trace = minimal.trace.with_name(f"minimal-{name}.pct")
    minimal.trace.replace(trace)
    file = out / "findings" / f"{name}.json"
    reproduce = f"powercut reproduce {shlex.quote(str(file))}"
    finding = changed(minimal.finding, trace=str(trace), file=str(file), reproduce=reproduce)
    write_json(file, finding.as_json())
    scenario = out / "scenarios" / f"minimal-{name}.toml"
    write_text(scenario, scenario_text.renamed(minimal.scenario, scenario))
    return replace(minimal, trace=trace, finding=finding)
