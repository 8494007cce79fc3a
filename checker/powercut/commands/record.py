"""`powercut record`: only record, for exploring later or elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from powercut import catalog, findings, options, output, paths, plan, runner, targets
from powercut.commands import shared
from powercut.errors import UsageError
from powercut.symbolize import Symbolizer


def register(app: typer.Typer) -> None:
    app.command()(record)


def record(
    target: Annotated[str, typer.Argument(metavar="TARGET[:VARIANT]", help="What to record.")],
    scenario: Annotated[str, typer.Option("--scenario", metavar="S", help="One scenario, by name, path or file.")],
    output_file: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The trace to write.")],
    seed: shared.Seed = options.DEFAULT_SEED,
    json: shared.Json = False,
) -> None:
    """Record one scenario on one target into a trace.

    FILE is replaced only when the recording is complete.
    """
    (selection,) = targets.select([target])
    found = catalog.matching(scenario, beside=catalog.own(selection.target.library) or [])
    fitting = [item for item in found if item.fits(selection.target.name)] or found
    if len(fitting) > 1:
        raise UsageError(
            f"'{scenario}' names {len(fitting)} scenarios: {', '.join(item.place for item in fitting[:5])}",
            where="--scenario",
            next_step="Name one, by its name or its file.",
        )
    bug = fitting[0].content.known_bug
    wanted = plan.build(
        selection.target,
        variant=selection.variant,
        scenario=fitting[0],
        seed=seed,
        toggle=bug.toggle if bug else None,
    )
    path = output_file.absolute()
    if path.is_dir():
        raise UsageError("this is a folder", where=str(output_file), next_step="Name the trace's file with -o.")
    with Symbolizer() as symbolizer:
        context = runner.Context(
            engine_path=paths.engine(),
            out=path.parent,
            store=findings.FindingStore(path.parent),
            symbolizer=symbolizer,
        )
        recorded = runner.record(wanted, path, context=context)
    if json:
        output.print_json({**{key: value for key, value in recorded.items() if key != "event"}, "trace": str(path)})
    else:
        output.say(f"{output_file}: {recorded['events']} events of {recorded.get('operations', 0)} operations.")
        output.say(f"Explore it with 'powercut explore {output_file}'.")
