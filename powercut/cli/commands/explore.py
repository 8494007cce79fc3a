"""`powercut explore`: judge a recorded trace."""

from pathlib import Path
from typing import Annotated

import typer

from powercut.base import trust as trusting
from powercut.base.errors import UsageError
from powercut.cli import output
from powercut.cli.commands import program as modes
from powercut.cli.commands import shared
from powercut.cli.commands.judge import Gating, errors_reported, judge
from powercut.engine import options
from powercut.gate.gate import open_gate
from powercut.program import program
from powercut.runs.run_request import Request


def register(app: typer.Typer) -> None:
    app.command()(explore)


def explore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A trace that 'powercut record' wrote.")],
    model: shared.Model = options.DEFAULT_MODEL,
    strategy: shared.Strategy = options.DEFAULT_STRATEGY,
    nested: shared.Nested = options.DEFAULT_NESTED,
    budget: shared.BudgetText = None,
    step_budget: shared.StepBudget = None,
    jobs: shared.Jobs = None,
    seed: shared.Seed = options.DEFAULT_SEED,
    out: shared.Out = shared.DEFAULT_OUT,
    format: shared.Format = "text,html",
    json: shared.Json = False,
    fail_on: shared.FailOn = None,
    baseline: shared.Baseline = None,
    suppressions: shared.Suppressions = None,
    canary: shared.Canary = None,
    atoms: shared.Atoms = options.DEFAULT_ATOMS,
    paranoid: shared.Paranoid = False,
    resume: shared.Resume = False,
    stats: shared.Stats = False,
    explain: shared.Explain = None,
    recover: modes.Recover = None,
    check: modes.Check = None,
    dump: modes.Dump = None,
    ordered: modes.Ordered = False,
    timeout: modes.Timeout = program.DEFAULT_TIMEOUT,
    images: modes.Images = program.DEFAULT_IMAGES,
    name: modes.Name = None,
    cwd: modes.Cwd = None,
    watchdog: shared.Watchdog = None,
    trust: shared.Trust = False,
) -> None:
    """Explore every legal crash state of a recorded trace, and report.

    The trace holds the target and the scenario; the target's library must be the build that it was
    recorded with. The trace of a program needs its recovery: --recover CMD (docs/program-mode.md).
    Exit codes are those of 'powercut run'.
    """
    chosen = shared.explore_options(
        model=model,
        strategy=strategy,
        atoms=atoms,
        nested=nested,
        budget=budget,
        seed=seed,
        paranoid=paranoid,
        watchdog=watchdog,
        step_budget=step_budget,
    )
    formats, kinds = output.parse_formats(format), options.parse_fail_on(fail_on or [])
    with errors_reported(out, formats, as_json=json):
        gate = open_gate(baseline, suppressions)
        if not file.is_file():
            raise UsageError(
                "no such trace",
                where=str(file),
                next_step="Record one with 'powercut record TARGET --scenario S -o FILE'.",
            )
        given = modes.ProgramOptions(
            recover=recover, check=check, dump=dump, ordered=ordered, timeout=timeout, images=images, name=name, cwd=cwd
        )
        if given.named():
            given.refuse_with(resume=resume)
            request = modes.explore_request(given, chosen, file)
        else:
            trusting.require(trusting.of_trace(file), file=file, granted=trust)
            request = Request(
                name=file.name,
                slug=None,
                options=chosen,
                trace=file.absolute(),
                header={"command": f"powercut explore {file}"},
            )
        code = judge(
            [request],
            jobs=jobs or shared.default_jobs(),
            out=out,
            formats=formats,
            as_json=json,
            fail_on=kinds,
            gate=gate,
            resume=resume,
            stats=stats,
            replay=False,
            explain=explain,
            gating=Gating(canary=canary, baseline=baseline is not None),
            title=f"powercut: {file.name}",
        )
    raise typer.Exit(code)
