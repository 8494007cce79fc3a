"""`powercut run`: record, explore and report."""

from typing import Annotated

import typer

from powercut.cli import output
from powercut.cli.commands import program as modes
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import grouped
from powercut.cli.commands.judge import Judging, judge
from powercut.runs import requests, runner
from powercut.scenarios import targets


def register(app: typer.Typer) -> None:
    app.command()(run)


@grouped
def run(
    target: Annotated[
        list[str] | None, typer.Argument(metavar="TARGET[:VARIANT]", show_default=False, help="What to judge.")
    ] = None,
    scenario: shared.Scenarios = None,
    *,
    exploring: shared.Exploring,
    judging: Judging,
    given: modes.ProgramOptions,
) -> None:
    """Record scenarios on targets, explore every legal crash state, and report.

    Without TARGET: every target, hardened and published. A TARGET without VARIANT means its first
    variant. Without --scenario: the core scenarios of each target.

    Program mode judges any program instead: --record CMD --recover CMD --pool FILE (docs/program-mode.md).

    Exit code: 0 clean and complete, 1 findings, 2 usage, 3 incomplete or unknown. Of several runs the
    worst counts, in the order 2, 1, 3, 0. Findings that --baseline knows or that are suppressed do not count.
    """
    chosen = exploring.options()
    with judging.errors_reported() as gate:
        if given.named():
            given.refuse_with(target=target, scenario=scenario, resume=judging.resume, since=judging.since)
            wanted = [modes.run_request(given, chosen)]
            names = [item.header["target"] for item in wanted]
        else:
            selections = targets.select(target or [])
            wanted = requests.for_run(selections, scenario or [], options=chosen, explicit=bool(target))
            wanted = runner.with_tracer(wanted, given.tracer)
            names = list(dict.fromkeys(item.target.name for item in selections))
        code = judge(wanted, judging, gate=gate, title=output.report_title(names))
    raise typer.Exit(code)
