"""`powercut run`: record, explore and report."""

from typing import Annotated

import typer

from powercut.cli import output
from powercut.cli.commands import program as modes
from powercut.cli.commands import shared
from powercut.cli.commands.judge import Gating, errors_reported, judge
from powercut.engine import options
from powercut.gate.gate import open_gate
from powercut.program import program
from powercut.runs import requests, runner
from powercut.scenarios import targets


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
    step_budget: shared.StepBudget = None,
    jobs: shared.Jobs = None,
    seed: shared.Seed = options.DEFAULT_SEED,
    out: shared.Out = shared.DEFAULT_OUT,
    format: shared.Format = "text,html",
    json: shared.Json = False,
    fail_on: shared.FailOn = None,
    baseline: shared.Baseline = None,
    suppressions: shared.Suppressions = None,
    since: shared.Since = None,
    canary: shared.Canary = None,
    atoms: shared.Atoms = options.DEFAULT_ATOMS,
    paranoid: shared.Paranoid = False,
    resume: shared.Resume = False,
    no_replay: shared.NoReplay = False,
    stats: shared.Stats = False,
    explain: shared.Explain = None,
    record: modes.Record = None,
    recover: modes.Recover = None,
    pool: modes.Pool = None,
    check: modes.Check = None,
    dump: modes.Dump = None,
    ordered: modes.Ordered = False,
    ops: modes.Ops = None,
    tracer: modes.Tracer = None,
    timeout: modes.Timeout = program.DEFAULT_TIMEOUT,
    images: modes.Images = program.DEFAULT_IMAGES,
    record_timeout: modes.RecordTimeout = program.DEFAULT_RECORD_TIMEOUT,
    allow_exit: modes.AllowExit = None,
    name: modes.Name = None,
    keep: modes.Keep = False,
    keep_pool: modes.KeepPool = False,
    cwd: modes.Cwd = None,
    watchdog: shared.Watchdog = None,
) -> None:
    """Record scenarios on targets, explore every legal crash state, and report.

    Without TARGET: every target, hardened and published. A TARGET without VARIANT means its first
    variant. Without --scenario: the core scenarios of each target.

    Program mode judges any program instead: --record CMD --recover CMD --pool FILE (docs/program-mode.md).

    Exit code: 0 clean and complete, 1 findings, 2 usage, 3 incomplete or unknown. Of several runs the
    worst counts, in the order 2, 1, 3, 0. Findings that --baseline knows or that are suppressed do not count.
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
        given = modes.ProgramOptions(
            record=record,
            recover=recover,
            pool=pool,
            check=check,
            dump=dump,
            ordered=ordered,
            ops=ops,
            tracer=tracer,
            timeout=timeout,
            images=images,
            record_timeout=record_timeout,
            allow_exit=allow_exit,
            name=name,
            keep=keep,
            keep_pool=keep_pool,
            cwd=cwd,
        )
        if given.named():
            given.refuse_with(target=target, scenario=scenario, resume=resume, since=since)
            wanted = [modes.run_request(given, chosen)]
            names = [item.header["target"] for item in wanted]
        else:
            selections = targets.select(target or [])
            wanted = requests.for_run(selections, scenario or [], options=chosen, explicit=bool(target))
            wanted = runner.with_tracer(wanted, tracer)
            names = list(dict.fromkeys(item.target.name for item in selections))
        code = judge(
            wanted,
            jobs=jobs or shared.default_jobs(),
            out=out,
            formats=formats,
            as_json=json,
            fail_on=kinds,
            gate=gate,
            resume=resume,
            stats=stats,
            replay=not no_replay,
            explain=explain,
            gating=Gating(canary=canary, since=since, baseline=baseline is not None),
            title=output.report_title(names),
        )
    raise typer.Exit(code)
