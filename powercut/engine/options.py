"""Options of an exploration: one immutable value from the command line to the engine's arguments."""

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Literal

from powercut.base.durations import parse_seconds
from powercut.base.errors import UsageError, unknown_name
from powercut_records.media import MEDIA, Medium, of_model

#: Persistency models, and what each assumes about the hardware.
MODELS = {model: text for medium in MEDIA for model, text in medium.models.items()}
#: Exploration strategies, and what each covers.
STRATEGIES = {
    "read-driven": "every legal crash state; images that recovery cannot tell apart run once (the default)",
    "exhaustive": "every legal crash state, one execution each: the reference, for small scenarios",
    "prefix": "program order only, one image per crash point: a first smoke test",
    "random": "a seeded sample of the legal images of every crash point",
}
#: When threads see what another one stores.
VISIBILITIES = {
    "sc": "at once (the default)",
    "tso": "when it leaves the store buffer of x86-TSO",
}
DEFAULT_VISIBILITY, STORE_BUFFERS = VISIBILITIES
#: How schedules of threads are chosen, and what each covers.
SEARCHES = {
    "bounded": "every schedule, or every one with at most --preemptions preemptions (the default)",
    "random": "a seeded sample: at every step one of the threads that can go on",
    "pct": "a seeded sample by random priorities (Burckhardt et al., ASPLOS 2010)",
    "recorded": "the one schedule that threads of the system happen to take; another one in each recording",
}
#: How a wide or unaligned store may be torn.
ATOMS = ("any", "ascending", "byte")
PERFORMANCE_BUGS = ("redundant-flush", "redundant-fence", "never-persisted")
#: Claims that fail; beside the kinds of performance bugs in `--fail-on`.
CLAIMS = "claims"
DEFAULT_MODEL = MEDIA[0].own_model
DEFAULT_STRATEGY = "read-driven"
DEFAULT_ATOMS = "any"
#: Cuts inside recovery that are explored unless --nested says otherwise.
DEFAULT_NESTED = 1
#: Limits of the engine: power cuts inside recovery, and workers.
MOST_NESTED = 8
MOST_JOBS = 1024
DEFAULT_SEED = 1
DEFAULT_SEARCH = "bounded"
RECORDED = "recorded"
#: Schedules that a search by samples runs, unless it is told how many.
DEFAULT_SCHEDULES = 1000
MOST_PREEMPTIONS = 1000
MOST_SCHEDULES = 10**12
#: The largest numbers that the engine takes.
MOST_SEED = 2**64 - 1
MOST_STEPS = 2**62
MOST_IMAGES = 1 << 30

#: The engine's argument for `keep_going=False`.
STOP_WORD = "--stop-at-functional"


@dataclass(frozen=True, kw_only=True)
class Budget:
    """A limit on one run: the user sets at most one of the two."""

    seconds: float | None = None
    executions: int | None = None


def parse_budget(text: str | None) -> Budget:
    """`60s`, `5m`, `1h`, `500ms`, or `20000x` executions (which keeps results independent of the machine)."""
    if text is None:
        return Budget()
    counted = re.fullmatch(r"(\d+)(?:\.0+)?x", text.strip())
    amount = float(counted[1]) if counted else parse_seconds(text) or 0.0
    if not 0 < amount <= MOST_STEPS:
        raise UsageError(
            f"'{text}' is not a budget",
            where="--budget",
            next_step="Write a time such as 60s, 5m or 1h, or a number of executions such as 20000x.",
        )
    return Budget(executions=int(counted[1])) if counted else Budget(seconds=amount)


@dataclass(frozen=True, kw_only=True)
class Schedules:
    """Schedules of threads that are run. The scenario says what is None here."""

    search: str | None = None
    #: "none": any number, which the scenario may have bounded.
    preemptions: int | Literal["none"] | None = None
    schedules: int | None = None
    visibility: str | None = None

    def __post_init__(self) -> None:
        if self.search is not None:
            _one_of("search", self.search, SEARCHES, list_command="powercut run --help-all")
        if self.visibility is not None:
            _one_of("visibility", self.visibility, VISIBILITIES, list_command="powercut run --help-all")
        if isinstance(self.preemptions, int) and self.search not in (None, DEFAULT_SEARCH):
            raise UsageError(
                f"preemptions are a bound of the search '{DEFAULT_SEARCH}', not of '{self.search}'",
                where="--preemptions",
                next_step=f"Leave it out, or write --search {DEFAULT_SEARCH}.",
            )
        if self.search == RECORDED and self.schedules is not None:
            raise UsageError(
                f"the search '{RECORDED}' is of one schedule",
                where="--schedules",
                next_step="Leave it out. To have more of them, run the command again, or write --search random.",
            )
        _in_range(self.preemptions if self.preemptions != "none" else None, "preemptions", 0, MOST_PREEMPTIONS)
        _in_range(self.schedules, "schedules", 1, MOST_SCHEDULES)

    def words(self) -> list[str]:
        """The command line's, for those that are given."""
        given = {
            "--search": self.search,
            "--preemptions": self.preemptions,
            "--schedules": self.schedules,
            "--visibility": self.visibility,
        }
        return [word for name, value in given.items() if value is not None for word in (name, str(value))]


def parse_preemptions(text: str | None) -> int | Literal["none"] | None:
    """`2`, or `none` for any number."""
    if text is None:
        return None
    if text == "none":
        return "none"
    if not re.fullmatch(r"[0-9]{1,9}", text.strip()):
        raise UsageError(
            f"'{text}' is no number of preemptions",
            where="--preemptions",
            next_step="Write a number from 0 on, or 'none' for every schedule.",
        )
    return int(text)


def _in_range(value: object, name: str, least: int, most: int) -> None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and least <= value <= most):
        return
    raise UsageError(
        f"{value!r} is no number of {name}", where=f"--{name}", next_step=f"Write a number from {least} to {most}."
    )


#: The scenario says it all.
UNCHOSEN = Schedules()


@dataclass(frozen=True, kw_only=True)
class ExploreOptions:
    """Everything that decides what is explored; `jobs` decides only how fast.

    `chunk_events` changes no verdict and no finding, but how often something was run.
    """

    model: str = DEFAULT_MODEL
    strategy: str = DEFAULT_STRATEGY
    atoms: str = DEFAULT_ATOMS
    nested: int = DEFAULT_NESTED
    seed: int = DEFAULT_SEED
    jobs: int = 1
    budget: Budget = Budget()
    #: Schedules of scenarios with threads.
    schedules: Schedules = UNCHOSEN
    paranoid: bool = False
    #: Go on after a finding that needs no power cut. A run that goes on may find more, and nothing that is less true.
    keep_going: bool = True
    #: Seconds that one execution of target code may take; None: the engine's own limit.
    watchdog: float | None = None
    #: Loop turns and calls after which one execution of target code is given up; None: by the pool's size.
    step_budget: int | None = None
    #: Events of the trace that a worker is given at a time; None: by the trace's length.
    chunk_events: int | None = None

    def __post_init__(self) -> None:
        _one_of("model", self.model, MODELS, list_command="powercut list models")
        _one_of("strategy", self.strategy, STRATEGIES, list_command="powercut list strategies")
        _one_of("atom policy", self.atoms, ATOMS, list_command="powercut run --help-all")
        given: object = self.step_budget
        if given is not None and (not isinstance(given, int) or isinstance(given, bool) or given < 1):
            raise UsageError(
                f"{given!r} is not a step budget",
                where="--step-budget",
                next_step="Write a number of loop turns and calls from 1 on, such as 100000000.",
            )

    def on(self, medium: Medium) -> "ExploreOptions":
        """Returns these options for a target whose pool is this medium."""
        if self.model in medium.models:
            return self
        if self.model == DEFAULT_MODEL:
            return replace(self, model=medium.own_model)
        of_device = of_model(self.model).device
        raise UsageError(
            f"the model '{self.model}' is for a pool that is a device, and this target's is memory"
            if of_device and not medium.device
            else f"this target's pool is a device, of which the model '{self.model}' says nothing",
            where=f"--model {self.model}",
            next_step=f"Write {' or '.join(f'--model {model}' for model in medium.models)}, or leave it out.",
        )

    def with_jobs(self, jobs: int) -> "ExploreOptions":
        """These options with other parallelism."""
        return replace(self, jobs=jobs)

    def arguments(self) -> list[str]:
        """The engine's command line, after `explore --trace FILE`."""
        words = ["--strategy", self.strategy, "--model", self.model, "--atoms", self.atoms]
        words += ["--nested", str(self.nested), "--jobs", str(self.jobs), "--seed", str(self.seed)]
        if self.budget.seconds is not None:
            words += ["--budget-seconds", f"{self.budget.seconds:g}"]
        if self.budget.executions is not None:
            words += ["--budget-executions", str(self.budget.executions)]
        if self.watchdog is not None:
            words += ["--watchdog-seconds", f"{self.watchdog:g}"]
        words += step_words(self.step_budget)
        if self.chunk_events is not None:
            words += ["--chunk-events", str(self.chunk_events)]
        words += [] if self.keep_going else [STOP_WORD]
        return [*words, "--paranoid"] if self.paranoid else words

    def described(self) -> dict[str, Any]:
        """The fields that a run record repeats."""
        return {
            "model": self.model,
            "strategy": self.strategy,
            "seed": self.seed,
            "nested": self.nested,
            "atoms": self.atoms,
        }


def step_words(step_budget: int | None) -> list[str]:
    """The engine's arguments for a step budget."""
    return [] if step_budget is None else ["--step-budget", str(step_budget)]


def _one_of(kind: str, name: str, choices: dict[str, str] | tuple[str, ...], *, list_command: str) -> None:
    if name not in choices:
        raise unknown_name(kind, name, choices, list_command=list_command)


def parse_fail_on(values: list[str], *, also: Collection[str] = ()) -> frozenset[str]:
    """The kinds of performance bugs of `--fail-on`, and `claims`, given several times or separated by commas. `also`:
    further words that it may have."""
    kinds = [word.strip() for value in values for word in value.split(",") if word.strip()]
    for kind in kinds:
        _one_of("kind", kind, (*PERFORMANCE_BUGS, CLAIMS, *also), list_command="powercut run --help-all")
    return frozenset(kinds)
