"""`powercut run`: record, explore and report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode, worst
from powercut.base.option import RUN
from powercut.cli import output, progress, talk
from powercut.cli.commands import help_groups, shared
from powercut.cli.commands.grouped import argument, grouped, option
from powercut.cli.commands.judge import Judging, judge
from powercut.cli.commands.spread import Spread
from powercut.engine import engine
from powercut.engine.options import DEFAULT_MODEL, MODELS, Budget, ExploreOptions, Schedules
from powercut.machines import shards
from powercut.program.options import ProgramOptions
from powercut.runs import plan_recording, requests, runner
from powercut.runs import program_requests as modes
from powercut.runs.run_request import Request
from powercut.scenarios import clients, in_folder, targets
from powercut.scenarios import config as configs

All = Annotated[bool, option("--all", "Every target of powercut, hardened and published.", group=RUN)]
Client = Annotated[
    str | None,
    option(
        "--client TxN",
        "Instead of scenarios from files: every client of T threads with N operations each, such as 2x2. Each "
        "first operation of thread 1 gets a run of its own. --scenario then chooses some runs, or single clients.",
        group=RUN,
    ),
]
Keys = Annotated[
    str | None,
    option(
        "--keys LIST",
        "The keys that the clients of --client use; the lowest is present when they begin.  [default: 1,2]",
        group=RUN,
    ),
]
Config = Annotated[
    list[str] | None,
    option(
        "--config KEY=VALUE",
        "An option of the target for this run, before what the scenario says; may be repeated. 'powercut list "
        "targets' shows the options.",
        group=RUN,
    ),
]


#: The options of a first run, which `powercut run --help` shows, each with one line of text.
_USUAL = {
    "target": "A scheme ('powercut list targets'), or a library of yours.",
    "scenario": "Its scenarios, by name, path or file.",
    "all_": "Every target of powercut instead, with its scenarios.",
    "record": "A program instead: the command that uses the data.",
    "files": "The folder of its files; --fs: on which file systems.",
    "pool": "Or the file that it maps; --device: that it writes.",
    "recover": "Recovers from a crash image; status 0: it is good.",
    "check": "Checks what recovery left; --dump CMD prints it.",
    "model": f"Persistency: {', '.join(MODELS)}.  [default: {DEFAULT_MODEL}]",
    "fail_on": "Kinds that count as findings too, as redundant-flush.",
    "budget": "A time (60s, 5m) for all, or executions (20000x) a run.",
    "format": "Reports to write: text, html, json, sarif, junit, …",
    "out": "Folder of reports and findings.  [default: .powercut]",
}


def register(app: typer.Typer) -> None:
    app.command(cls=help_groups.command(_USUAL))(run)


@grouped
def run(
    target: Annotated[list[str] | None, argument("TARGET[:VARIANT]", "Targets to judge.", group=RUN)] = None,
    scenario: shared.Scenarios = None,
    *,
    all_: All = False,
    client: Client = None,
    keys: Keys = None,
    config: Config = None,
    scheduling: shared.Scheduling,
    exploring: shared.Exploring,
    judging: Judging,
    given: ProgramOptions,
    spread: Spread,
    help_all: help_groups.HelpAll = False,
) -> None:
    """Record scenarios on targets, explore every legal crash state, and report.

    TARGET is one of powercut's own ('powercut list targets') or a library of yours. A TARGET without VARIANT means its
    first variant. Without --scenario: the core scenarios of each target. With --scenario, --client or --all instead of
    TARGET: every target of powercut that it fits, hardened and published.

    Scenarios with threads are judged for every schedule and every crash state; --client makes a scenario of every
    small program of threads.

    Program mode judges any program instead: --record CMD --recover CMD --files DIR, for one that keeps its files in a
    folder; --pool FILE for one that maps a file, --device FILE for one that writes it (docs/program-mode.md).

    Exit code: 0 clean and complete, 1 findings, 2 usage, 3 incomplete or unknown. If there are several runs, the
    worst counts, in the order 2, 1, 3, 0. Findings that --baseline knows or that are suppressed do not count.
    """
    chosen = replace(exploring.options(), schedules=scheduling.options(), keep_going=judging.keep_going)
    with judging.errors_reported(of_folder=given.files is not None) as gate:
        if given.named():
            named: dict[str, object] = {"client": client, "keys": keys, "config": config}
            named |= {} if given.scheduled else scheduling.named()
            given.refuse_with(
                target=target, all=all_, scenario=scenario, resume=judging.resume, since=judging.since, **named
            )
            chosen = replace(exploring.program_options(), schedules=chosen.schedules)
            wanted: Sequence[Request] = [modes.run_request(given, chosen, out=judging.out)]
            names = [item.header["target"] for item in wanted]
        else:
            _refuse_nothing(target, scenario, client, everything=all_)
            command = Command(
                targets=tuple(target or ()),
                scenarios=tuple(scenario or ()),
                client=client,
                keys=keys,
                config=configs.parse(config or ()),
                options=chosen,
                tracer=given.tracer,
            )
            wanted, names = command.requests()
        gating = {"baseline": judging.baseline, "suppressions": judging.suppressions, "since": judging.since}
        spread.refuse_with(wanted, **gating, json=judging.json)
        if shard := spread.chosen():
            code = _explore_shard(wanted, shard, judging, command=command)
        else:
            explorers = spread.machines(paths.engine())
            code = judge(wanted, judging, gate=gate, title=output.report_title(names), machines=explorers)
    raise typer.Exit(code)


def _refuse_nothing(
    target: Sequence[str] | None, scenario: Sequence[str] | None, client: str | None, *, everything: bool
) -> None:
    """Raises UsageError if no option names a run, or if --all stands beside targets."""
    if everything and target:
        raise UsageError("--all is every target", where=" ".join(target), next_step="Leave one of the two out.")
    if everything or target or scenario or client:
        return
    here = Path.cwd()
    found = "" if here == paths.home() else in_folder.look(here).sentence()
    ours = "'powercut run --all' judges the targets of powercut itself."
    ways = (
        "Name a target ('powercut list targets'), a library of yours, or a program (--record, --recover, "
        "and --files or --pool); 'powercut run --help' says more."
    )
    raise UsageError("nothing says what to run", where="powercut run", next_step=f"{found or ways} {ours}")


@dataclass(frozen=True, kw_only=True)
class Command:
    """The part of a command line that another command needs to make the same runs."""

    targets: tuple[str, ...]
    scenarios: tuple[str, ...]
    client: str | None = None
    keys: str | None = None
    config: Mapping[str, str] = field(default_factory=dict)
    options: ExploreOptions
    tracer: str | None

    def requests(self) -> tuple[list[Request], list[str]]:
        """Returns the runs, and the names of their targets."""
        selections = targets.select(list(self.targets))
        made: Callable[..., list[Request]] = requests.for_run
        if self.client is not None:
            made = partial(requests.for_clients, shape=clients.parse_shape(self.client, self.keys))
        elif self.keys is not None:
            raise UsageError("these are the keys of no client", where="--keys", next_step="Add --client 2x2.")
        wanted = made(
            selections,
            self.scenarios,
            options=self.options,
            explicit=bool(self.targets),
            config=self.config,
            say=talk.say,
        )
        names = list(dict.fromkeys(item.target.name for item in selections))
        return plan_recording.with_tracer(wanted, self.tracer), names

    def as_json(self) -> dict[str, Any]:
        """Returns the object for `shard.json`."""
        return asdict(self)

    @staticmethod
    def from_json(value: dict[str, Any]) -> "Command":
        """Returns the command that `as_json` wrote."""
        given = value["options"]
        nested = {"budget": Budget(**given["budget"]), "schedules": Schedules(**given.get("schedules", {}))}
        named = {name: tuple(value[name]) for name in ("targets", "scenarios")}
        return Command(**{**value, **named, "options": ExploreOptions(**{**given, **nested})})


def _explore_shard(wanted: Sequence[Request], shard: shards.Shard, judging: Judging, *, command: Command) -> ExitCode:
    jobs = judging.jobs or shared.default_jobs()
    with (
        progress.shown() as listener,
        runner.open_context(
            paths.engine(), judging.out, listener=listener, checkpoints=True, resume=judging.resume
        ) as context,
    ):
        try:
            errors = shards.carry_out(wanted, shard, context, command=command.as_json(), jobs=jobs)
        except engine.Interrupted:
            talk.say("Interrupted: the shard is not finished. --resume goes on with it.")
            return ExitCode.INCOMPLETE
    for paragraph in dict.fromkeys(error.paragraph() for error in errors):
        talk.say(f"powercut: {paragraph}")
    talk.say(f"Shard {shard} is in {judging.out}. 'powercut merge' makes the report of all {shard.of}.")
    return worst([error.exit_code for error in errors])
