"""`powercut run`: record, explore and report."""

from typing import Annotated

import typer

from powercut import options, output, requests, targets
from powercut.commands import shared
from powercut.commands.judge import judge


def register(app: typer.Typer) -> None:
    app.command()(run)


def run(
    target: Annotated[
        list[str] | None, typer.Argument(metavar="TARGET[:VARIANT]", show_default=False, help="What to judge.")
    ] = None,
    scenario: shared.Scenarios = None,
    model: shared.Model = options.DEFAULT_MODEL,
    strategy: shared.Strategy = options.DEFAULT_STRATEGY,
    nested: shared.Nested = options.DEFAULT_NESTED,
    budget: shared.BudgetText = None,
    jobs: shared.Jobs = None,
    seed: shared.Seed = options.DEFAULT_SEED,
    out: shared.Out = shared.DEFAULT_OUT,
    format: shared.Format = "text,html",
    json: shared.Json = False,
    fail_on: shared.FailOn = None,
    atoms: shared.Atoms = options.DEFAULT_ATOMS,
    paranoid: shared.Paranoid = False,
    resume: shared.Resume = False,
    stats: shared.Stats = False,
) -> None:
    """Record scenarios on targets, explore every legal crash state, and report.

    Without TARGET: every target, hardened and published. A TARGET without VARIANT means its first
    variant. Without --scenario: the core scenarios of each target.

    Exit code: 0 clean and complete, 1 findings, 2 usage, 3 incomplete or unknown. Of several runs the
    worst counts, in the order 2, 1, 3, 0.
    """
    chosen = shared.explore_options(
        model=model, strategy=strategy, atoms=atoms, nested=nested, budget=budget, seed=seed, paranoid=paranoid
    )
    formats, kinds = output.parse_formats(format), options.parse_fail_on(fail_on or [])
    selections = targets.select(target or [])
    wanted = requests.for_run(selections, scenario or [], options=chosen, explicit=bool(target))
    names = list(dict.fromkeys(item.target.name for item in selections))
    code = judge(
        wanted,
        jobs=jobs or shared.default_jobs(),
        out=out,
        formats=formats,
        as_json=json,
        fail_on=kinds,
        resume=resume,
        stats=stats,
        title=f"powercut: {', '.join(names)}",
    )
    raise typer.Exit(code)
