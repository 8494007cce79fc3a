"""`powercut reproduce`: replay one finding."""

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from powercut import findings, output, paths, runner
from powercut import reproduce as replay
from powercut.commands import shared
from powercut.exit_codes import ExitCode
from powercut.symbolize import Symbolizer
from powercut_reports import text


def register(app: typer.Typer) -> None:
    app.command()(reproduce)


def reproduce(
    finding: Annotated[Path, typer.Argument(metavar="FINDING.json", help="A finding that 'powercut run' wrote.")],
    json: shared.Json = False,
    image_out: Annotated[
        Path | None,
        typer.Option(
            "--image-out",
            metavar="FILE",
            show_default=False,
            help="Program mode: write the crash image there (FILE.0, FILE.1, … for several pools).",
        ),
    ] = None,
) -> None:
    """Replay one finding.

    Its crash image is built again, recovery runs on it, and the same query is asked. The image must be
    legal on the trace: one that no power cut can leave is refused.

    Exit code: 1 when the finding still holds, 0 when it does not, 2 when it cannot be replayed, 3 when
    powercut itself failed.
    """
    with tempfile.TemporaryDirectory(prefix="powercut-") as folder, Symbolizer() as symbolizer:
        out = Path(folder)
        context = runner.Context(
            engine_path=paths.engine(), out=out, store=findings.FindingStore(out), symbolizer=symbolizer
        )
        result = replay.reproduce(finding, context=context, image_out=image_out)
    if json:
        output.print_json(
            {
                "held": result.held,
                "fresh_trace": result.fresh_trace,
                "fingerprint": result.finding["fingerprint"],
                "invariant": result.invariant,
            }
        )
    elif result.held:
        print(text.render_finding(result.finding, color=output.colored()))
    for file in result.files:
        output.say(f"Crash image: {file}")
    if result.fresh_trace:
        output.say("The trace is of another build: the scenario was recorded again with this one.")
    if result.held and result.invariant != result.finding["invariant"]:
        output.say(f"The crash image violates another invariant now: {result.invariant}. {result.message}")
    elif result.held:
        output.say("The finding holds.")
    else:
        output.say("The finding does not hold any more. 'powercut run' tells whether the scenario is clean now.")
    raise typer.Exit(ExitCode.FINDINGS if result.held else ExitCode.CLEAN)
