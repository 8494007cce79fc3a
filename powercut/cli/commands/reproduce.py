"""`powercut reproduce`: replay one finding."""

from pathlib import Path
from typing import Annotated

import typer

from powercut.base import paths, scratch
from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.cli import output, talk
from powercut.cli.commands import minimise, shared
from powercut.cli.commands.grouped import argument, option
from powercut.findings import run_records
from powercut.runs import reproduce as replay
from powercut.runs import runner
from powercut_records.finding import FindingRecord
from powercut_reports import text


def reproduce(
    finding: Annotated[Path, argument("FINDING.json", "A finding that 'powercut run' wrote.")],
    json: shared.Json = False,
    image_out: Annotated[
        Path | None,
        option("--image-out FILE", "Program mode: write the crash image there (FILE.0, FILE.1, … for several pools)."),
    ] = None,
    step_budget: shared.StepBudget = None,
    save_scenario: minimise.SaveScenario = None,
    watchdog: shared.Watchdog = None,
    trust: shared.Trust = False,
) -> None:
    """Replay one finding.

    Its crash image is built again, recovery runs on it, and the same query is asked. The image must be
    legal on the trace: one that no power cut can leave is refused.

    --save-scenario writes the finding's minimal case (looked for now, unless the record has it) as a scenario
    that 'powercut run' finds it by again: a regression test.

    Exit code: 1 when the finding still holds, 0 when it does not, 2 when it cannot be replayed, 3 when
    powercut itself failed.
    """
    with (
        run_records.as_written(finding, "this finding", next_step="Find it again with 'powercut run'."),
        scratch.folder("powercut-") as folder,
        runner.open_context(paths.engine(), folder) as context,
    ):
        result = replay.reproduce(
            finding,
            context=context,
            image_out=image_out,
            trusted=trust,
            watchdog=watchdog,
            step_budget=step_budget,
        )
    if save_scenario is not None and result.held:
        minimise.save(_scenario(result.finding), save_scenario)
    if json:
        output.print_json(
            {
                "held": result.held,
                "fresh_trace": result.fresh_trace,
                "fingerprint": result.finding.fingerprint,
                "invariant": result.invariant,
            }
        )
    elif result.held:
        with run_records.as_written(finding, "this finding", next_step="Find it again with 'powercut run'."):
            print(text.render_finding(result.finding, color=output.colored()))
    for file in result.files:
        talk.say(f"Crash image: {file}")
    if result.fresh_trace:
        talk.say("The trace is of another build: the scenario was recorded again with this one.")
    if result.held and result.invariant != result.finding.invariant:
        talk.say(f"The crash image violates another invariant now: {result.invariant}. {result.message}")
    elif result.held:
        talk.say("The finding holds.")
    else:
        talk.say("The finding does not hold any more. 'powercut run' tells whether the scenario is clean now.")
    raise typer.Exit(ExitCode.FINDINGS if result.held else ExitCode.CLEAN)


def _scenario(finding: FindingRecord) -> str:
    """Returns the minimal case of a finding as a scenario: from its record, or found now."""
    if finding.minimal:
        return finding.minimal.scenario
    with minimise.kept_in(None) as folder:
        minimal = minimise.minimal_of(finding, limits=minimise.parse_limit(None), folder=folder)
    if minimal is None:
        raise UsageError(
            "the finding holds on its trace, but its plan does not show it any more",
            where="--save-scenario",
            next_step="The code was probably rebuilt: 'powercut run' tells what it does now.",
        )
    return minimal.scenario
