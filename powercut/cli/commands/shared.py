"""Options that several verbs share, with one wording."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from powercut.base.cores import cores
from powercut.base.errors import UsageError
from powercut.base.option import FAR, JUDGE, PRINT, RUN, row
from powercut.cli import output
from powercut.engine import options
from powercut.engine.options import ExploreOptions

DEFAULT_OUT = Path(".powercut")


def default_jobs() -> int:
    """Returns the number of cores that this process may use."""
    return cores()


Scenarios = Annotated[
    list[str] | None,
    typer.Option(
        "--scenario",
        metavar="GLOB",
        show_default=False,
        help="Scenarios by name, path or file; may be repeated.",
        rich_help_panel=RUN,
    ),
]
StepBudget = Annotated[
    int | None,
    typer.Option(
        "--step-budget",
        metavar="N",
        min=1,
        max=options.MOST_STEPS,
        help="Loop turns and calls after which one execution of target code is given up, and the verdict is unknown. "
        "A loop that repeats itself is found much earlier.  [default: 4 million, and 4 for each byte of the pool]",
        show_default=False,
        rich_help_panel=FAR,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=1,
        max=options.MOST_JOBS,
        help=f"Parallel workers, at most {options.MOST_JOBS:,}.  [default: cores]",
        show_default=False,
        rich_help_panel=FAR,
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        min=0,
        max=options.MOST_SEED,
        help="Seed of mixes and of the random strategy.",
        rich_help_panel=FAR,
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with a run that was killed, from what it has left in the output folder.",
        rich_help_panel=FAR,
    ),
]
NoReplay = Annotated[
    bool,
    typer.Option(
        "--no-replay", help="Do not begin with the findings of earlier runs (OUT/failures).", rich_help_panel=FAR
    ),
]
Explain = Annotated[
    int | None,
    typer.Option(
        "--explain",
        metavar="N",
        min=0,
        help="Findings of each run that are minimised and get a root cause, with a fix that is tried. "
        "[default: 3, and 4 of one variant in all; 1 of each variant where more than 8 are judged; with a --budget of "
        "time, 0, for a program as many as the budget has time for]",
        show_default=False,
        rich_help_panel=FAR,
    ),
]
KeepGoing = Annotated[
    bool,
    typer.Option(
        "--keep-going",
        help="Go on after a finding that needs no power cut. Without it, such a finding ends its run.",
        rich_help_panel=FAR,
    ),
]
Stats = Annotated[bool, typer.Option("--stats", help="Print where the time of each run went.", rich_help_panel=PRINT)]
Out = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Folder of traces, findings and reports.", rich_help_panel=PRINT)
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        metavar="LIST",
        help=f"Reports to write: {', '.join(output.FORMATS)}.",
        rich_help_panel=PRINT,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout and nothing else.", rich_help_panel=PRINT)
]
Baseline = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        metavar="FILE",
        help="Findings that are known: only new ones fail. 'powercut baseline update' writes the file.",
        show_default=False,
        rich_help_panel=JUDGE,
    ),
]
Suppressions = Annotated[
    Path | None,
    typer.Option(
        "--suppressions",
        metavar="FILE",
        help="Findings that are set aside for a time.  [default: powercut-suppressions.toml, if it is there]",
        show_default=False,
        rich_help_panel=JUDGE,
    ),
]
Since = Annotated[
    str | None,
    typer.Option(
        "--since",
        metavar="REV",
        help="Explore only runs that changed since a git revision that a gate has judged: by code, scenario or "
        "options. Other results come from the cache.",
        show_default=False,
        rich_help_panel=FAR,
    ),
]
RaceModel = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="M",
        show_default=False,
        help="For a scenario with threads: the persistency model that the trace will be explored with. The model says "
        "at which moments a power cut matters.  [default: adr]",
        rich_help_panel=RUN,
    ),
]
Watchdog = Annotated[
    float | None,
    typer.Option(
        "--watchdog",
        metavar="SECONDS",
        min=0.1,
        max=86400,
        help="Wall-clock limit of one recovery or query, and of an operation while it is recorded. Beyond the limit "
        "the run ends as blocked, and its verdict is unknown.  [default: 60]",
        show_default=False,
        rich_help_panel=FAR,
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="Run the library or the commands that the file names, though you never gave them to powercut yourself.",
        rich_help_panel=RUN,
    ),
]
Canary = Annotated[
    bool | None,
    typer.Option(
        "--canary/--no-canary",
        help="Also find a planted bug on the same way, or no verdict is clean.  [default: with a format for CI, "
        "--baseline or --since]",
        show_default=False,
        rich_help_panel=JUDGE,
    ),
]
FailOn = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="KIND",
        help="Kinds that count as findings too: redundant-flush, redundant-fence, never-persisted, claims (that fail). "
        "Repeat the option, or separate kinds by commas.",
        show_default=False,
        rich_help_panel=JUDGE,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Exploring:
    """How crash states are explored."""

    model: str = row(
        "--model",
        metavar="M",
        help=f"Persistency model: {', '.join(options.MODELS)}.",
        group=JUDGE,
        show_default=True,
        choices=tuple(options.MODELS),
        default=options.DEFAULT_MODEL,
    )
    strategy: str = row(
        "--strategy",
        metavar="S",
        help="How crash states are covered; see 'powercut list strategies'.",
        group=FAR,
        show_default=True,
        choices=tuple(options.STRATEGIES),
        default=options.DEFAULT_STRATEGY,
    )
    nested: int | None = row(
        "--nested",
        metavar="N",
        least=0,
        most=options.MOST_NESTED,
        show_default=f"{options.DEFAULT_NESTED}; of a program 0",
        help=f"Power cuts inside recovery, at most {options.MOST_NESTED}; 0: no cut. A program can have one such cut: "
        "its recovery then runs under Valgrind.",
        group=FAR,
    )
    budget: str | None = row(
        "--budget",
        metavar="LIMIT",
        help="A time for the whole command (60s, 5m, 1h), which its runs share fairly, or executions of each run "
        "(20000x). For a program, the time covers exploring and explaining. A run that reaches its limit is sampled.",
        group=FAR,
    )
    step_budget: StepBudget = None
    seed: Seed = options.DEFAULT_SEED
    atoms: str = row(
        "--atoms",
        metavar="A",
        help="How a wide store may be torn: any order, ascending, or byte by byte (mem* calls).",
        group=JUDGE,
        show_default=True,
        choices=options.ATOMS,
        default=options.DEFAULT_ATOMS,
    )
    paranoid: bool = row(
        "--paranoid", help="Hash everything after each reset of the executor.", group=FAR, default=False
    )
    watchdog: Watchdog = None
    chunk_events: int | None = row(
        "--chunk-events",
        metavar="N",
        least=1,
        most=options.MOST_STEPS,
        help="Events of the trace that a worker is given at a time. Each begins with nothing remembered: smaller ones "
        "keep more machines busy, and cost more executions in all.  [default: an eighth of the trace, from 8192 to "
        "4194304]",
        group=FAR,
    )

    def options(self) -> ExploreOptions:
        """These options, validated; `jobs` is set when the runs are known."""
        nested = options.DEFAULT_NESTED if self.nested is None else self.nested
        return ExploreOptions(**{**vars(self), "nested": nested, "budget": options.parse_budget(self.budget)})

    def program_options(self) -> ExploreOptions:
        """Returns these options for a program. Raises UsageError for nested cuts, which programs do not have."""
        nested = self.nested or 0
        if nested > 1:
            raise UsageError(
                "a program's recovery is cut once, not again inside the recovery from that",
                where=f"--nested {nested}",
                next_step="Write --nested 1.",
            )
        return replace(self.options(), nested=nested)


@dataclass(frozen=True, kw_only=True)
class Scheduling:
    """Which schedules of threads are run."""

    search: str | None = row(
        "--search",
        metavar="KIND",
        help=f"Which schedules of a scenario's threads are run: {', '.join(options.SEARCHES)}.  "
        f"[default: the scenario's, else {options.DEFAULT_SEARCH}: every schedule]",
        group=RUN,
        choices=tuple(options.SEARCHES),
    )
    preemptions: str | None = row(
        "--preemptions",
        metavar="N|none",
        help="Only schedules in which at most N times a thread that could go on has to wait for another; none: every "
        "schedule.  [default: the scenario's, else none]",
        group=RUN,
    )
    schedules: int | None = row(
        "--schedules",
        metavar="N",
        least=1,
        most=options.MOST_SCHEDULES,
        help=f"How many schedules are run; of {options.DEFAULT_SEARCH}, at most.  [default: the scenario's, else all; "
        f"of random and pct {options.DEFAULT_SCHEDULES}]",
        group=RUN,
    )
    visibility: str | None = row(
        "--visibility",
        metavar="V",
        help="When threads see what another one stores: sc, at once; tso, when it leaves the store buffer of x86-TSO.  "
        "[default: the scenario's, else sc]",
        group=RUN,
        choices=tuple(options.VISIBILITIES),
    )

    def named(self) -> dict[str, object]:
        """Returns the names of the options that were given."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def options(self) -> options.Schedules:
        """These options, validated."""
        return options.Schedules(
            search=self.search,
            preemptions=options.parse_preemptions(self.preemptions),
            schedules=self.schedules,
            visibility=self.visibility,
        )
