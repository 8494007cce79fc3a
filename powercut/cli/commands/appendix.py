"""`powercut appendix`: the tables of a paper's appendix, by one command."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

from powercut import necessity as analysing
from powercut.base import paths
from powercut.base.errors import NotApplicable, PowercutError
from powercut.base.exit_codes import ExitCode
from powercut.base.output_files import write_text
from powercut.cli import appendix_parts, paper, talk
from powercut.cli.appendix_parts import Measured
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import Only, argument, grouped
from powercut.cli.commands.judge import explainer_of
from powercut.cli.commands.necessity import DEFAULT_BUDGET, EachBudget
from powercut.cost import fidelity as figures
from powercut.cost import latency
from powercut.cost import records as cost_records
from powercut.engine.engine import Interrupted
from powercut.engine.options import ExploreOptions
from powercut.necessity.record import command_line
from powercut.runs import batch, requests
from powercut.runs.applicability import sentences
from powercut.runs.run_request import Context
from powercut.runs.runner import is_complete, open_context
from powercut.scenarios import targets
from powercut.scenarios.targets import Selection
from powercut_reports.tables import appendix as document

FOLDER = "appendix"


@grouped
def appendix(
    target: Annotated[list[str], argument("TARGET[:VARIANT]...", "The targets of the paper.")],
    scenario: shared.Scenarios = None,
    *,
    exploring: Annotated[shared.Exploring, Only("model", "nested", "seed", "atoms")],
    budget: EachBudget = DEFAULT_BUDGET,
    jobs: shared.Jobs = None,
    out: shared.Out = shared.DEFAULT_OUT,
) -> None:
    """Write a paper's appendix: claims, necessity, cost, fidelity and verdicts as tables.

    Runs the scenarios as 'powercut run' does, drops each flush and fence ('powercut necessity'), counts what operations
    cost and measures the paper's figures. OUT/appendix/appendix.tex has the tables with the versions, options, seed and
    coverage that they depend on; main.tex makes a PDF of it, and each table lies there as CSV too. A part that does not
    apply to the target says so. The records are kept in OUT, for 'powercut report'.

    Exit code: 0 written, and every part is complete; 2 usage; 3 a part is not complete. Findings are no failure.
    """
    options = exploring.options()
    selections = targets.select(target)
    wanted = requests.for_run(selections, scenario or [], options=options, explicit=True)
    measured = Measured()
    workers = jobs or shared.default_jobs()
    with open_context(paths.engine(), out) as context:
        talk.say(f"Exploring {len(wanted)} scenarios.")
        with explainer_of(None, wanted, context, workers, bounded=False) as explainer:
            outcome = batch.run_all(wanted, context, jobs=workers, on_run=explainer.run, ahead=explainer.ahead)
        measured.runs = outcome.runs
        for why in [*sentences(outcome.aside), *(error.paragraph() for error in outcome.errors)]:
            measured.lacks("Verdicts", why)
        failed = bool(outcome.errors) or not all(map(is_complete, outcome.runs))
        dropping = replace(exploring, budget=budget).options()
        every = [item.target.name for item in selections]
        for selection in selections:
            name = f"{selection.target.name}:{selection.variant}"
            of_it: dict[str, Callable[[], bool]] = {
                "Necessity": partial(_necessity, selection, scenario or [], dropping, context, workers, measured),
                "Cost": partial(_cost, selection, every, options.seed, context, measured),
            }
            for part, measure in of_it.items():
                talk.say(f"{part} of {name}.")
                failed |= not _tried(part, name, measure, measured)
        for name in dict.fromkeys(every):
            failed |= not _tried("Fidelity", name, partial(_fidelity, name, measured), measured)
        if interrupted := outcome.interrupted or context.interrupt.requested:
            talk.say("Interrupted: what was measured is in the appendix, which says what is missing.")
            measured.lacks("Verdicts", "The command was interrupted: parts are missing.")
    names = [f"{selection.target.name}:{selection.variant}" for selection in selections]
    parts = measured.parts()
    folder = out / FOLDER
    written = appendix_parts.facts(names, measured, options, _command(names, scenario or [], exploring, budget))
    write_text(folder / document.BODY, document.body(f"{', '.join(names)}, checked by powercut", written, parts))
    write_text(folder / document.DOCUMENT, document.document())
    paper.write_tables([table for part in parts for table in part.tables], folder, ["csv"])
    talk.say(f"Written: {folder / document.BODY}")
    raise typer.Exit(ExitCode.INCOMPLETE if failed or interrupted else ExitCode.CLEAN)


def _tried(part: str, name: str, measure: Callable[[], bool], measured: Measured) -> bool:
    """Carries out one part, and notes in `measured` why it has no answer. Returns True if it is complete or does not
    apply."""
    try:
        return measure()
    except NotApplicable as error:
        measured.lacks(part, f"It does not apply to {name}: {error.paragraph()}")
        return True
    except Interrupted:
        measured.lacks(part, f"It was interrupted at {name}.")
    except PowercutError as error:
        measured.lacks(part, f"It failed for {name}: {error.paragraph()}")
    return False


def _necessity(
    selection: Selection,
    patterns: Sequence[str],
    options: ExploreOptions,
    context: Context,
    jobs: int,
    measured: Measured,
) -> bool:
    name, variant = selection.target.name, selection.variant
    header = {
        "target": name,
        "variant": variant,
        "paper": selection.target.description.paper,
        **options.described(),
        "command": command_line(selection.target.spelling, variant, patterns, options.described()),
    }
    wanted = requests.for_run([selection], patterns, options=options, explicit=True)
    record = analysing.analyse(wanted, header=header, context=context, jobs=jobs, patterns=patterns)
    measured.necessity.append(record)
    if not record["sites"]:
        measured.lacks("Necessity", f"{name}:{variant} has no flush and no fence in these scenarios.")
    return bool(record["complete"])


def _cost(selection: Selection, names: Sequence[str], seed: int, context: Context, measured: Measured) -> bool:
    for scenario in cost_records.scenarios_of(selection, []):
        record = cost_records.measure(
            selection, scenario, latencies=latency.defaults(names), seed=seed, interrupt=context.interrupt
        )
        cost_records.write(record, context.out)
        measured.costs.append(record)
    return True


def _fidelity(name: str, measured: Measured) -> bool:
    if name not in figures.schemes():
        measured.lacks("Fidelity", f"No figure of the paper of {name} is measured.")
        return True
    measured.fidelity += figures.measure(name)
    return True


def _command(names: Sequence[str], patterns: Sequence[str], exploring: shared.Exploring, budget: str) -> str:
    words = ["powercut", "appendix", *names, *(word for one in patterns for word in ("--scenario", one))]
    given = ((f"--{name}", str(getattr(exploring.options(), name))) for name in ("model", "nested", "atoms", "seed"))
    words += [word for pair in given for word in pair]
    return shlex.join([*words, "--budget", budget])
