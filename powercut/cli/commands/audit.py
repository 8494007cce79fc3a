"""`powercut audit`: does the engine predict what really happens?"""

from dataclasses import replace
from typing import Annotated, Any

import typer

from powercut.base import paths
from powercut.base.output_files import write_json
from powercut.cli import companions, output, progress, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import Only, argument, grouped, option
from powercut.engine import options
from powercut.runs import audit as auditing
from powercut.runs import requests
from powercut.runs.applicability import sentences
from powercut.runs.runner import open_context
from powercut.scenarios import targets

#: Number of differences of one scenario that are printed as text; --json has more.
_SHOWN = 5


@grouped
def audit(
    target: Annotated[list[str] | None, argument("TARGET[:VARIANT]", "What to audit.")] = None,
    scenario: shared.Scenarios = None,
    images: Annotated[
        int,
        option(
            "--images K",
            "Crash images in all, split equally over the scenarios.",
            least=1,
            most=options.MOST_IMAGES,
            show_default=True,
        ),
    ] = auditing.DEFAULT_IMAGES,
    *,
    exploring: Annotated[shared.Exploring, Only("model", "atoms", "seed")],
    jobs: shared.Jobs = None,
    out: shared.Out = shared.DEFAULT_OUT / "audit",
    json: shared.Json = False,
) -> None:
    """Compare the engine's predictions with plain runs on random legal crash images.

    Draws K images uniformly from all legal crash states. Runs recovery and every query on each image, in a fresh
    process, on the target's uninstrumented library. Compares all results with the engine's predictions.
    Targets and scenarios are chosen as for 'powercut run'. A target without an uninstrumented library runs
    on its instrumented one with the hooks off, and the output says so. The result is kept as audit.json in the
    output folder, where the HTML report finds it.

    Exit code: 0 no difference, 1 differences (a defect of powercut, or of the target's determinism), 2 usage,
    3 it could not be carried out.
    """
    chosen = replace(exploring.options(), nested=0)
    wanted = requests.for_run(targets.select(target or []), scenario or [], options=chosen, explicit=bool(target))
    with progress.shown(len(wanted)) as listener, open_context(paths.engine(), out, listener=listener) as context:

        def show(item: dict[str, Any]) -> None:
            if not json:
                with listener.paused():
                    _print(item)

        outcome = auditing.run_all(wanted, context, images=images, jobs=jobs or shared.default_jobs(), on_audit=show)
    for line in sentences(outcome.aside):
        talk.say(line)
    for error in outcome.errors:
        talk.say_error(error)
    if outcome.audits:
        write_json(out / companions.AUDIT_REPORT, outcome.as_json())
    if json:
        output.print_json(outcome.as_json())
    else:
        scenarios = len(outcome.audits)
        print(
            f"audit: {outcome.images} images over {scenarios} scenario{'s' * (scenarios != 1)}, "
            f"{outcome.differences} difference{'s' * (outcome.differences != 1)}",
            flush=True,
        )
    if outcome.interrupted:
        talk.say("Interrupted: scenarios that are not listed were not audited.")
    raise typer.Exit(outcome.exit_code())


def _print(item: dict[str, Any]) -> None:
    name = f"{item['target']}:{item['variant']} {item['scenario']}"
    states = progress.compact(int(item["crash_states"]))
    print(
        f"{name}: {item['images']} images ({item['distinct']} distinct, of {states} crash states), "
        f"{item['answers']} answers compared, {item['differences']} differences{_remarks(item)}"
    )
    for case in item["cases"][:_SHOWN]:
        print(f"  crash point {case['crash_point']}, {case['when']}: {case['query']}")
        print(f"    predicted  {' or '.join(case['predicted']) or 'nothing'}")
        print(f"    plain run  {case['actual']}")
    if item["differences"] > _SHOWN:
        print(f"  ... and {item['differences'] - _SHOWN} more; --json shows them")


def _remarks(item: dict[str, Any]) -> str:
    remarks = []
    if item["instrumented"]:
        remarks.append("no uninstrumented library: the instrumented one ran, with its hooks off")
    if item["not_compared"]:
        remarks.append(f"{item['not_compared']} executions that the engine stops were not compared")
    if item["left_out"]:
        remarks.append("lines with very many contents were drawn from a part of them")
    return f" ({'; '.join(remarks)})" if remarks else ""
