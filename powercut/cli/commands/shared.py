"""Options that several verbs share, with one wording."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

from powercut.base.cores import cores
from powercut.base.errors import UsageError
from powercut.base.option import FAR, JUDGE, PRINT, RUN, row
from powercut.cli import output, paper
from powercut.cli.commands.grouped import option
from powercut.engine import options
from powercut.engine.options import ExploreOptions

DEFAULT_OUT = Path(".powercut")
#: The reports that a measuring command can write beside its records.
RECORD_FORMATS = ("text", *paper.FORMATS)


def default_jobs() -> int:
    """Returns the number of cores that this process may use."""
    return cores()


Scenarios = Annotated[
    list[str] | None, option("--scenario GLOB", "Scenarios by name, path or file; may be repeated.", group=RUN)
]
StepBudget = Annotated[
    int | None,
    option(
        "--step-budget N",
        "Loop turns and calls after which one execution of target code is given up, and the verdict is unknown. "
        "A loop that repeats itself is found much earlier.  [default: 4 million, and 4 for each byte of the pool]",
        least=1,
        most=options.MOST_STEPS,
        group=FAR,
    ),
]
Jobs = Annotated[
    int | None,
    option(
        "--jobs -j N",
        f"Parallel workers, at most {options.MOST_JOBS:,}.  [default: cores]",
        least=1,
        most=options.MOST_JOBS,
        group=FAR,
    ),
]
Seed = Annotated[
    int,
    option(
        "--seed N",
        "Seed of mixes and of the random strategy.",
        least=0,
        most=options.MOST_SEED,
        group=FAR,
        show_default=True,
    ),
]
Out = Annotated[Path, option("--out DIR", "Folder of traces, findings and reports.", group=PRINT, show_default=True)]
Format = Annotated[
    str,
    option("--format LIST", f"Reports to write: {', '.join(output.FORMATS)}.", group=PRINT, show_default=True),
]
RecordFormat = Annotated[
    str,
    option("--format LIST", f"Reports to write beside the records: {', '.join(RECORD_FORMATS)}.", show_default=True),
]
Json = Annotated[bool, option("--json", "Print one JSON object on stdout and nothing else.", group=PRINT)]
Baseline = Annotated[
    Path | None,
    option(
        "--baseline FILE",
        "Findings that are known: only new ones fail. 'powercut baseline update' writes the file.",
        group=JUDGE,
    ),
]
Suppressions = Annotated[
    Path | None,
    option(
        "--suppressions FILE",
        "Findings that are set aside for a time.  [default: powercut-suppressions.toml, if it is there]",
        group=JUDGE,
    ),
]
RaceModel = Annotated[
    str | None,
    option(
        "--model M",
        "For a scenario with threads: the persistency model that the trace will be explored with. The "
        "model says at which moments a power cut matters.  [default: adr]",
        group=RUN,
    ),
]
Watchdog = Annotated[
    float | None,
    option(
        "--watchdog SECONDS",
        "Wall-clock limit of one recovery or query, and of an operation while it is recorded. Beyond the "
        "limit the run ends as blocked, and its verdict is unknown.  [default: 60]",
        least=0.1,
        most=86400,
        group=FAR,
    ),
]
Trust = Annotated[
    bool,
    option(
        "--trust",
        "Run the library or the commands that the file names, though you never gave them to powercut yourself.",
        group=RUN,
    ),
]
FailOn = Annotated[
    list[str] | None,
    option(
        "--fail-on KIND",
        "Kinds that count as findings too: redundant-flush, redundant-fence, never-persisted, claims "
        "(that fail). With --files: the file systems that count, such as ext4.  [default: any] Repeat the option, or "
        "separate kinds by commas.",
        group=JUDGE,
    ),
]


@dataclass(frozen=True, kw_only=True)
class Exploring:
    """How crash states are explored."""

    model: str = row(
        "--model M",
        f"Persistency model: {', '.join(options.MODELS)}.",
        group=JUDGE,
        show_default=True,
        choices=tuple(options.MODELS),
        default=options.DEFAULT_MODEL,
    )
    strategy: str = row(
        "--strategy S",
        "How crash states are covered; see 'powercut list strategies'.",
        group=FAR,
        show_default=True,
        choices=tuple(options.STRATEGIES),
        default=options.DEFAULT_STRATEGY,
    )
    nested: int | None = row(
        "--nested N",
        f"Power cuts inside recovery, at most {options.MOST_NESTED}; 0: no cut. A program can have one "
        "such cut: its recovery then runs under Valgrind.",
        least=0,
        most=options.MOST_NESTED,
        show_default=f"{options.DEFAULT_NESTED}; of a program 0",
        group=FAR,
    )
    budget: str | None = row(
        "--budget LIMIT",
        "A time for the whole command (60s, 5m, 1h), which its runs share fairly, or executions of each "
        "run (20000x). For a program, the time covers exploring and explaining. A run that reaches its "
        "limit is sampled.",
        group=FAR,
    )
    step_budget: StepBudget = None
    seed: Seed = options.DEFAULT_SEED
    atoms: str = row(
        "--atoms A",
        "How a wide store may be torn: any order, ascending, or byte by byte (mem* calls).",
        group=JUDGE,
        show_default=True,
        choices=options.ATOMS,
        default=options.DEFAULT_ATOMS,
    )
    paranoid: bool = row("--paranoid", "Hash everything after each reset of the executor.", group=FAR, default=False)
    watchdog: Watchdog = None
    chunk_events: int | None = row(
        "--chunk-events N",
        "Events of the trace that a worker is given at a time. Each begins with nothing remembered: smaller ones "
        "keep more machines busy, and cost more executions in all.  [default: an eighth of the trace, from 8192 to "
        "4194304]",
        least=1,
        most=options.MOST_STEPS,
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
        "--search KIND",
        f"Which schedules of a scenario's threads are run: {', '.join(options.SEARCHES)}.  "
        f"[default: the scenario's, else {options.DEFAULT_SEARCH}: every schedule]",
        group=RUN,
        choices=tuple(options.SEARCHES),
    )
    preemptions: str | None = row(
        "--preemptions N|none",
        "Only schedules in which at most N times a thread that could go on has to wait for another; none: every "
        "schedule.  [default: the scenario's, else none]",
        group=RUN,
    )
    schedules: int | None = row(
        "--schedules N",
        f"How many schedules are run; of {options.DEFAULT_SEARCH}, at most.  [default: the scenario's, else all; "
        f"of random and pct {options.DEFAULT_SCHEDULES}]",
        least=1,
        most=options.MOST_SCHEDULES,
        group=RUN,
    )
    visibility: str | None = row(
        "--visibility V",
        "When threads see what another one stores: sc, at once; tso, when it leaves the store buffer of x86-TSO.  "
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
