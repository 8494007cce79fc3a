"""The shape of a scenario file (scenarios/SCHEMA.md), as strict pydantic models.

An unknown key is an error everywhere. `scenario.py` reads files and words the errors.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    model_validator,
)

from powercut.engine.options import DEFAULT_SEARCH, MOST_PREEMPTIONS, MOST_SCHEDULES, RECORDED
from powercut.scenarios.sections import ENTRIES
from powercut.scenarios.sizes import KeySize, Sizes, ValueSize, are_mixed, ends
from powercut.scenarios.steps import (
    MOST_CHOOSING,
    STEPS,
    AnyStep,
    KeyStep,
    MaintainStep,
    Step,
    Strict,
    Thread,
    operations_of,
)
from powercut.scenarios.tables import ClaimTable, Definition, Name
from powercut_records.base import DEFERRED

SCHEMA_VERSION = 6
#: The versions that this build reads. Version 2 added threads, 3 a choice and the visibility of stores, 4 increments,
#: 5 files of several entries, 6 mixed sizes; no version changed anything else.
SCHEMA_VERSIONS = (1, 2, 3, 4, 5, 6)
THREADS_SINCE, CHOICE_SINCE, COUNTERS_SINCE, ENTRIES_SINCE, SIZES_SINCE = 2, 3, 4, 5, 6
#: Threads that a phase may have.
FEWEST_THREADS, MOST_THREADS = 2, 4
DEFAULT_POOL_BYTES = 1 << 20
_PAGE = 4096
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

Invariant = Literal[
    "lost-item",
    "phantom-item",
    "torn-value",
    "stale-value",
    # Invariants of counters.
    "lost-increment",
    "double-count",
    "duplicate-bound",
    "structure",
    "recovery-failed",
    "recovery-hang",
    "not-idempotent",
    "unusable",
    "leak",
    "unpersisted-read",
    "not-a-prefix",
    "wild-store",
    # Invariants of threads.
    "not-linearizable",
    "use-after-free",
    "double-free",
    "deadlock",
    "livelock",
    # Reported under `performance_bugs`; a self-test may expect them like a finding.
    "redundant-flush",
    "redundant-fence",
    "never-persisted",
]


def parse_size(text: object) -> object:
    """Bytes of a size such as "256KiB"; anything that is no such text is left to the validator."""
    if not isinstance(text, str):
        return text
    match = re.fullmatch(r"(\d+)\s*(KiB|MiB|GiB)", text.strip())
    if not match:
        raise ValueError(f"'{text}' is not a size; write a number and KiB, MiB or GiB, such as '256KiB'")
    return int(match[1]) * _UNITS[match[2]]


class Pool(Strict):
    size: Annotated[int, BeforeValidator(parse_size)] = DEFAULT_POOL_BYTES

    @model_validator(mode="after")
    def _whole_pages(self) -> "Pool":
        if self.size < _PAGE or self.size % _PAGE:
            raise ValueError(f"a pool of {self.size} bytes is not a whole number of {_PAGE}-byte pages")
        return self


class Data(Strict):
    """Bytes of keys and values: one size, or a range that each key and each value draws its own size from."""

    key_size: KeySize = 16
    value_size: ValueSize = 15

    @property
    def sizes(self) -> Sizes:
        """Returns the sizes of keys and of values."""
        return self.key_size, self.value_size

    @property
    def are_mixed(self) -> bool:
        """True if keys or values differ in their sizes."""
        return are_mixed(self.sizes)


class Phase(Strict):
    name: str = Field(min_length=1)
    explore: bool = True
    cut_at: str | None = None
    steps: list[Step] = Field(default_factory=list)
    #: Operations of each thread, at the same time.
    threads: list[Thread] = Field(default_factory=list)
    #: Clients that differ by the order of the threads are the same.
    alike: bool = False

    @property
    def has_choice(self) -> bool:
        return any(isinstance(step, AnyStep) for thread in self.threads for step in thread)

    @model_validator(mode="after")
    def _choice_is_bounded(self) -> "Phase":
        if self.alike and not self.has_choice:
            raise ValueError(f"the phase '{self.name}' has 'alike', and its threads have no choice ('any')")
        for number, thread in enumerate(self.threads if self.has_choice else [], 1):
            if (count := sum(map(operations_of, thread))) > MOST_CHOOSING:
                raise ValueError(
                    f"thread {number} of the phase '{self.name}' has {count} operations; "
                    f"where threads have a choice, each has {MOST_CHOOSING} at most"
                )
        return self

    @model_validator(mode="after")
    def _steps_or_threads(self) -> "Phase":
        if not self.steps and not self.threads:
            raise ValueError(f"the phase '{self.name}' has no 'steps' and no 'threads': nothing would happen in it")
        if not self.threads:
            return self
        if self.steps:
            raise ValueError(f"the phase '{self.name}' has 'steps' and 'threads'; give each a phase of its own")
        if not FEWEST_THREADS <= len(self.threads) <= MOST_THREADS:
            few = " (one thread is a phase of 'steps')" if len(self.threads) == 1 else ""
            raise ValueError(
                f"the phase '{self.name}' has {len(self.threads)} thread{'s' * (len(self.threads) > 1)}{few}; "
                f"write {FEWEST_THREADS} to {MOST_THREADS}"
            )
        if self.cut_at is not None:
            raise ValueError(f"the phase '{self.name}' has 'threads', which no deliberate cut ('cut_at') goes with")
        if not self.explore:
            raise ValueError(f"the phase '{self.name}' has 'threads', which are always explored; leave out 'explore'")
        return self


class Search(Strict):
    """Which schedules of the threads are run."""

    kind: Literal["bounded", "random", "pct", "recorded"] = "bounded"
    #: Preemptions of each schedule, at most; None: any number. For `bounded` alone.
    preemptions: int | None = Field(default=None, ge=0, le=MOST_PREEMPTIONS)
    #: How many are run: of `bounded` at most, and None is no limit.
    schedules: int | None = Field(default=None, ge=1, le=MOST_SCHEDULES)
    #: When threads see what another one stores; "tso": when it leaves a store buffer.
    visibility: Literal["sc", "tso"] = "sc"

    @model_validator(mode="after")
    def _of_one_kind(self) -> "Search":
        if self.preemptions is not None and self.kind != DEFAULT_SEARCH:
            raise ValueError(f"'preemptions' is a bound of the search '{DEFAULT_SEARCH}', not of '{self.kind}'")
        if self.schedules is not None and self.kind == RECORDED:
            raise ValueError(f"the search '{RECORDED}' is of one schedule; leave out 'schedules'")
        return self


#: A line of source: the end of its file's path, and a part of its text.
SourceLine = Annotated[str, Field(pattern=r"^[\w./-]+: \S")]


class ExpectedCause(Strict):
    """The root cause that powercut must name: `first` (B) has to be durable before `second` (A)."""

    kind: Literal["order", "atomicity", "recovery", "functional", "schedule"]
    first: SourceLine | None = None
    #: "acknowledgement": the end of the operation.
    second: SourceLine | Literal["acknowledgement"] | None = None


class Minimal(Strict):
    """The minimal case of the bug's finding, by `powercut minimise`; `powercut.corpus.minimal_cases --write` writes
    it."""

    invariant: str
    #: Operations of all phases: of the bug's scenario, and of the minimal case.
    before: int
    after: int
    case: str


class KnownBug(Strict):
    #: Class of the defect, in the literature's words: "ordering: …", "missing flush: …".
    defect_class: str = Field("", alias="class")
    toggle: str
    variant: str = "hardened"
    expected: list[Invariant] = Field(min_length=1)
    #: A line that a finding must show.
    site: SourceLine | None = None
    cause: ExpectedCause | None = None
    source: str
    minimal: Minimal | None = None
    #: Why the minimal case has more operations than a case should have.
    why_not_fewer: str = ""


class ScenarioFile(Strict):
    """The content of one scenario file."""

    schema_version: Literal[1, 2, 3, 4, 5, 6] = Field(alias="schema")
    #: The file's, which may be left out.
    name: str = Field(min_length=1)
    summary: str = Field(min_length=1)
    targets: list[str] = Field(min_length=1)
    core: bool = False
    #: "measurement": to be counted (`powercut cost`); judged only where it is named.
    purpose: Literal["judgement", "measurement"] = "judgement"
    expect_marks: list[str] = Field(default_factory=list)
    config: dict[str, str | bool | int | float] = Field(default_factory=dict)
    pool: Pool = Field(default_factory=Pool)
    data: Data = Field(default_factory=Data)
    phases: list[Phase] = Field(alias="phase", min_length=1)
    #: Search of the threads' schedules; the command line goes before.
    search: Search | None = None
    known_bug: KnownBug | None = None
    #: Claims about what this scenario runs, beside those of the scheme (checker/CLAIMS.md).
    define: dict[Name, Definition] = Field(default_factory=dict)
    claim: list[ClaimTable] = Field(default_factory=list)

    @model_validator(mode="after")
    def _something_is_explored(self) -> "ScenarioFile":
        if self.core and self.purpose == "measurement":
            raise ValueError("a measurement is no core scenario: leave out 'core' or 'purpose'")
        if not any(phase.explore for phase in self.phases):
            raise ValueError("every phase has 'explore = false': nothing would be judged")
        names = [phase.name for phase in self.phases]
        if len(set(names)) != len(names):
            raise ValueError("two phases have the same name")
        return self

    @property
    def _steps(self) -> list[Any]:
        """Returns the steps of all phases and threads, those of a choice too."""
        steps = [step for phase in self.phases for step in (*phase.steps, *(s for t in phase.threads for s in t))]
        return [one for step in steps for one in (step.any if isinstance(step, AnyStep) else [step])]

    @property
    def counts(self) -> bool:
        """Whether it is for tables of counters."""
        return any(
            getattr(step, "op", None) == "increment" or getattr(step, "increment", 0) > 0 for step in self._steps
        )

    @model_validator(mode="after")
    def _sizes_since(self) -> "ScenarioFile":
        steps = [step for step in self._steps if isinstance(step, KeyStep)]
        own = [(step, step.value_size) for step in steps if step.value_size is not None]
        if (self.data.are_mixed or own) and self.schema_version < SIZES_SINCE:
            raise ValueError(
                f"its items differ in size, which version {self.schema_version} does not know; "
                f"write schema = {SIZES_SINCE}"
            )
        if self.counts and self.data.are_mixed:
            raise ValueError("a table of counters has values of 8 bytes; give [data] one key_size and one value_size")
        least, most = ends(self.data.value_size)
        takes = f"is {least} bytes" if least == most else f"has {least} to {most} bytes"
        for step, size in own:
            if not least <= size <= most:
                first = f"{step.op} of key {step.keys[0] if step.keys else step.first}"
                raise ValueError(f"the {first} has a value of {size} bytes, and [data] value_size {takes}")
        return self

    @model_validator(mode="after")
    def _counters_since(self) -> "ScenarioFile":
        if self.counts and self.schema_version < COUNTERS_SINCE:
            raise ValueError(
                f"it has increments, which version {self.schema_version} does not know; write schema = {COUNTERS_SINCE}"
            )
        return self

    @property
    def race(self) -> Phase | None:
        """The phase with threads, where there is one."""
        return next((phase for phase in self.phases if phase.threads), None)

    @model_validator(mode="after")
    def _one_race(self) -> "ScenarioFile":
        race = self.race
        if race is None:
            if self.search is not None:
                raise ValueError("[search] chooses schedules of threads, and no phase has 'threads'")
            return self
        if self.schema_version < THREADS_SINCE:
            raise ValueError(
                f"the phase '{race.name}' has 'threads', which version {self.schema_version} does not know; "
                f"write schema = {THREADS_SINCE}"
            )
        if race.has_choice and self.schema_version < CHOICE_SINCE:
            raise ValueError(
                f"the phase '{race.name}' has 'any', which version {self.schema_version} does not know; "
                f"write schema = {CHOICE_SINCE}"
            )
        if self.search is not None and self.search.visibility != "sc" and self.schema_version < CHOICE_SINCE:
            raise ValueError(
                f"[search] has 'visibility', which version {self.schema_version} does not know; "
                f"write schema = {CHOICE_SINCE}"
            )
        if race.has_choice and self.search is not None and self.search.kind == RECORDED:
            raise ValueError(f"the search '{RECORDED}' has no choice; write out what the threads of '{race.name}' do")
        for phase in self.phases[self.phases.index(race) + 1 :]:
            behind = f"the phase '{phase.name}' comes after the threads of '{race.name}'"
            if phase.threads:
                raise ValueError(f"{behind} and has threads as well; a scenario has one such phase")
            if phase.cut_at is not None:
                raise ValueError(f"{behind}, where no deliberate cut ('cut_at') can be")
            for step in phase.steps:
                if not isinstance(step, KeyStep | MaintainStep):
                    raise ValueError(
                        f"{behind}, where '{step.op}' would do something else after every schedule; "
                        "write insert, update, erase, lookup, increment or maintain"
                    )
        return self


class _Overlay(Strict):
    """The keys that a section may have. Its values are checked in the scenario that it becomes."""

    summary: Any = None
    targets: Any = None
    core: Any = None
    purpose: Any = None
    expect_marks: Any = None
    config: Any = None
    pool: Any = None
    data: Any = None
    search: Any = None
    define: Any = None
    claim: Any = None


class _WithPhases(_Overlay):
    #: By name.
    phase: dict[str, dict[str, Any]] = Field(default_factory=dict)


class Variant(_WithPhases):
    """A `[[variant]]`."""

    #: The variant's name. It must be a possible file name: a variant is selected and sorted as if it were a file.
    name: str = Field(pattern=r"^[\w.-]+$")
    known_bug: Any = None


class Beginning(_WithPhases):
    """A `[begin.NAME]`: what several entries share."""

    #: The entry or beginning of the file that it takes all keys from which it does not say.
    like: str = ""


class ScenarioEntry(Beginning):
    """A `[scenario.NAME]`."""


class BugEntry(Beginning):
    """A `[bug.NAME]`: a scenario and, beside its keys, those of `[known_bug]`."""

    defect_class: Any = Field(None, alias="class")
    toggle: Any = None
    variant: Any = None
    expected: Any = None
    site: Any = None
    cause: Any = None
    source: Any = None
    minimal: Any = None
    why_not_fewer: Any = None


EntryName = Annotated[str, Field(pattern=r"^[\w.-]+$")]


class Collection(_Overlay):
    """A file of entries, and what all of them share."""

    schema_version: Literal[5, 6] = Field(alias="schema")
    begin: dict[EntryName, Beginning] = Field(default_factory=dict)
    scenario: dict[EntryName, ScenarioEntry] = Field(default_factory=dict)
    bug: dict[EntryName, BugEntry] = Field(default_factory=dict)


BUG_KEYS = tuple(field.alias or name for name, field in KnownBug.model_fields.items())
VARIANTS = TypeAdapter(list[Variant], config=ConfigDict(defer_build=DEFERRED))


def keys_at(location: Sequence[int | str]) -> list[str]:
    """The keys that the model at `location` knows, under the names of the file."""
    if not location:
        return [*_keys(ScenarioFile), "variant", *ENTRIES]
    tables: dict[str, type[BaseModel]] = {"pool": Pool, "data": Data, "phase": Phase, "search": Search}
    tables |= {"known_bug": KnownBug, "define": Definition, "claim": ClaimTable, "variant": Variant}
    tables |= {
        "begin": Beginning,
        "scenario": ScenarioEntry,
        "bug": BugEntry,
        "minimal": Minimal,
        "cause": ExpectedCause,
    }
    model: type[BaseModel] = ScenarioFile
    for part in location:
        if isinstance(part, str):
            steps: dict[str, type[BaseModel]] = {kind.__name__: kind for kind in STEPS.values()}
            model = tables.get(part) or steps.get(part) or model
    return _keys(model)


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]
