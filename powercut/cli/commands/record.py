"""`powercut record`: only record, for exploring later or elsewhere."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.base.option import PRINT, RUN
from powercut.base.user_files import refuse_other_kinds
from powercut.cli import output, talk
from powercut.cli.commands import help_groups, shared
from powercut.cli.commands.grouped import Without, argument, grouped, option
from powercut.engine import engine, options
from powercut.files import record as files_record
from powercut.findings.store import FindingStore
from powercut.program import acknowledgements
from powercut.program.options import JUDGING, ProgramOptions
from powercut.runs import plan_recording, requests, stopping
from powercut.runs import program_requests as modes
from powercut.runs.run_request import DEFAULT_TRACER, Context
from powercut.scenarios import catalog, plan, targets
from powercut.symbols.symbolize import Symbolizer


def register(app: typer.Typer) -> None:
    app.command(cls=help_groups.Grouped)(record)


@grouped
def record(
    output_file: Annotated[Path, option("-o --output FILE", "The trace to write.", group=PRINT)],
    target: Annotated[str | None, argument("TARGET[:VARIANT]", "What to record.", group=RUN)] = None,
    command: Annotated[list[str] | None, argument("-- COMMAND…", "With --files: what to record.", group=RUN)] = None,
    scenario: Annotated[str | None, option("--scenario S", "One scenario, by name, path or file.", group=RUN)] = None,
    *,
    seed: shared.Seed = options.DEFAULT_SEED,
    model: shared.RaceModel = None,
    scheduling: shared.Scheduling,
    json: shared.Json = False,
    given: Annotated[ProgramOptions, Without(*JUDGING)],
) -> None:
    """Record one scenario on one target into a trace; or, in program mode, a command; or a command's files.

    FILE is replaced only when the recording is complete.
    """
    path = output_file.absolute()
    if path.is_dir():
        raise UsageError("this is a folder", where=str(output_file), next_step="Name the trace's file with -o.")
    refuse_other_kinds(
        path, place=str(output_file), next_step="Name a file with -o: a trace is put in place as a whole."
    )
    if given.files is not None and given.record is None:
        if set(given.named()) - {"--ack", "--files"} or scenario is not None:
            raise UsageError(
                "a folder is recorded by itself",
                where="--files",
                next_step="Leave the other options of what to run out; or give the command with --record.",
            )
        ack = acknowledgements.pattern(given.ack) if given.ack else None
        words = [*([target] if target else []), *(command or [])]
        return _files(words, Path(given.files), path, ack=ack, tracer=files_record.tracer(given.tracer), json=json)
    if command:
        raise UsageError(
            "more than one TARGET",
            where=command[0],
            next_step="Name one; or a folder with --files, to record a command.",
        )
    if given.named():
        others = {} if given.scheduled else {"model": model, **scheduling.named()}
        given.refuse_with(target=target, scenario=scenario, **others)
        chosen = options.ExploreOptions(seed=seed, model=model or options.DEFAULT_MODEL, schedules=scheduling.options())
        recorded = _program(given, path, chosen)
        hint = f"powercut explore {output_file} --recover CMD"
    else:
        recorded = _scenario(
            target, scenario, path, seed=seed, tracer=given.tracer, model=model, schedules=scheduling.options()
        )
        hint = f"powercut explore {output_file}"
    if json:
        output.print_json({**{key: value for key, value in recorded.items() if key != "event"}, "trace": str(path)})
    else:
        talk.say(f"{output_file}: {recorded['events']} events of {recorded.get('operations', 0)} operations.")
        for note in [*recorded.get("unseen", []), *(recorded.get("program") or {}).get("notes", [])]:
            talk.say(f"Note: {note}.")
        talk.say(f"Explore it with '{hint}'.")


def _files(
    command: list[str], folder: Path, path: Path, *, ack: re.Pattern[str] | None, tracer: str, json: bool
) -> None:
    recorded = files_record.record(command, folder, path, ack=ack, tracer=tracer)
    if json:
        output.print_json({**asdict(recorded), "complete": recorded.complete, "trace": str(path)})
        return
    talk.say(f"{path.name}: {recorded.events} records of '{command[0]}', which {recorded.ending()}.")
    if ack:
        talk.say(f"{recorded.acknowledged} operations were acknowledged.")
    for note in recorded.notes:
        talk.say(f"Note: {note}.")
    if not recorded.touched:
        talk.say(recorded.untouched(folder))
    if not recorded.complete:
        talk.say(f"A verdict on this recording is unknown: {'; '.join(recorded.missed)}.")
    talk.say(f"Look at it with 'powercut view {path}'.")


def _program(given: ProgramOptions, path: Path, chosen: options.ExploreOptions) -> dict[str, Any]:
    """Records a command; Ctrl-C ends the command and all processes that it has started."""
    interrupt = engine.Interrupt()
    try:
        with stopping.stopped_by_signals(interrupt.request):
            return modes.record(given, chosen, path, interrupt=interrupt)
    except engine.Interrupted:
        raise KeyboardInterrupt from None


def _scenario(
    target: str | None,
    scenario: str | None,
    path: Path,
    *,
    seed: int,
    tracer: str | None,
    model: str | None,
    schedules: options.Schedules,
) -> dict[str, Any]:
    """Records a scenario on a target."""
    chosen = options.ExploreOptions(seed=seed, model=model or options.DEFAULT_MODEL, schedules=schedules)
    if target is None or scenario is None:
        raise UsageError(
            "nothing to record",
            where="powercut record",
            next_step="Name a TARGET and a --scenario, or a command and its pool with --record CMD --pool FILE.",
        )
    (selection,) = targets.select([target])
    found = catalog.matching(scenario, beside=catalog.own(selection.target.library) or [])
    fitting = [item for item in found if item.fits(selection.target.name)] or found
    if len(fitting) > 1:
        raise UsageError(
            f"'{scenario}' names {len(fitting)} scenarios: {', '.join(item.place for item in fitting[:5])}",
            where="--scenario",
            next_step="Name one, by its name, its file or FILE.toml:NAME.",
        )
    requests.refuse_without_threads(fitting, schedules, where=scenario)
    if model is not None and fitting[0].content.race is None:
        raise UsageError(
            "a recording without threads is the same for every model",
            where="--model",
            next_step="Give --model to 'powercut explore'.",
        )
    bug = fitting[0].content.known_bug
    wanted = plan.build(
        selection.target,
        variant=selection.variant,
        scenario=fitting[0],
        seed=seed,
        toggle=bug.toggle if bug else None,
        model=chosen.model,
        schedules=schedules,
    )
    with Symbolizer() as symbolizer:
        context = Context(
            engine_path=paths.engine(),
            out=path.parent,
            store=FindingStore(path.parent),
            symbolizer=symbolizer,
        )
        plan_recording.refuse_unknown_tracer(tracer)
        return plan_recording.record(wanted, path, context=context, tracer=tracer or DEFAULT_TRACER)
