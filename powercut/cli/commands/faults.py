"""`powercut faults`: faults beyond power cuts, of memory, allocations and devices."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from powercut.base import paths
from powercut.base.errors import UsageError, unknown_name
from powercut.base.exit_codes import worst
from powercut.cli import fault_text, output, progress, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument, option
from powercut.engine import options
from powercut.runs import faults as injection
from powercut.runs import requests
from powercut.runs.applicability import sentences, summary, unjudged, without_threads
from powercut.runs.run_request import Request
from powercut.runs.runner import open_context
from powercut.scenarios import targets
from powercut_records import media


def faults(
    target: Annotated[list[str] | None, argument("TARGET[:VARIANT]", "What to judge.")] = None,
    scenario: shared.Scenarios = None,
    fault: Annotated[
        list[str] | None,
        option(
            "--fault KIND",
            f"Kinds of faults, of: {', '.join(injection.KINDS)}; may be repeated.  "
            "[default: all that fit the target's pool]",
        ),
    ] = None,
    budget: Annotated[
        str | None,
        option(
            "--budget LIMIT",
            "Executions of recovery for each scenario and kind (20000x). A run that reaches it is sampled.",
        ),
    ] = None,
    seed: shared.Seed = options.DEFAULT_SEED,
    jobs: shared.Jobs = None,
    out: shared.Out = shared.DEFAULT_OUT,
    json: shared.Json = False,
) -> None:
    """Inject faults into recorded scenarios, and judge how the target bears them.

    Every case is harmless (all answers are right), detected (an error instead of an answer), crashed, or
    silent (a wrong answer and no error). Silent and crashed cases are findings: for bit flips only where
    the target claims to detect damage, for stale contents unless it says that it needs a zeroed pool. If a
    device breaks its contract (shorn, unserialisable, stale-mapping, paired-page, unstable-read, stuck-bits),
    such cases are counted, and are no findings.

    Exit code: 0 no finding and every case judged, 1 findings, 2 usage, 3 incomplete or unknown.
    """
    chosen = injection.FaultOptions(kinds=_kinds(fault or []), budget=_executions(budget), seed=seed)
    selections = targets.select(target or [])
    wanted = requests.for_run(
        selections, scenario or [], options=options.ExploreOptions(seed=seed), explicit=bool(target)
    )

    _refuse_foreign(chosen.kinds, wanted)

    def show(run: dict[str, Any]) -> None:
        if not json:
            print(fault_text.render(run), flush=True)

    judged, aside = without_threads(wanted, scenario or [], command="powercut faults")
    with progress.shown(len(judged)) as listener, open_context(paths.engine(), out, listener=listener) as context:
        outcome = injection.run_all(judged, chosen, context, jobs=jobs or shared.default_jobs(), on_run=show)
    outcome.aside += aside
    outcome.errors += unjudged(wanted, aside)
    if json:
        output.print_json({"faults": injection.FAULTS_VERSION, "runs": outcome.runs, **summary(outcome.aside)})
    for line in sentences(outcome.aside):
        talk.say(line)
    for error in outcome.errors:
        talk.say_error(error)
    raise typer.Exit(worst([*map(injection.exit_code, outcome.runs), *(error.exit_code for error in outcome.errors)]))


def _kinds(given: list[str]) -> tuple[str, ...]:
    names = [word.strip() for value in given for word in value.split(",") if word.strip()]
    for name in names:
        if name not in injection.KINDS:
            raise unknown_name("fault", name, injection.KINDS, list_command="powercut faults --help")
    return tuple(dict.fromkeys(names))


def _refuse_foreign(kinds: Sequence[str], wanted: Sequence[Request]) -> None:
    """Raises UsageError for a kind that no target's pool can have. A kind that some of the targets' pools can have
    passes."""
    for kind in kinds:
        if any(kind in injection.fitting(request.options.model) for request in wanted):
            continue
        first = wanted[0]
        pool = media.of_model(first.options.model).called
        raise UsageError(
            f"{kind} is a fault of {injection.ONLY_ON[kind][0]}, and the pool of '{first.header['target']}' is {pool}",
            where=f"--fault {kind}",
            next_step="Leave it out: without --fault every kind that fits is tried.",
        )


def _executions(text: str | None) -> int | None:
    budget = options.parse_budget(text)
    if budget.seconds is not None:
        raise UsageError(
            f"'{text}' is a time", where="--budget", next_step="Write a number of executions, such as 20000x."
        )
    return budget.executions
