"""Events of an exploration and of its chunks: progress, findings and results."""

from typing import Any, Literal

from pydantic import Field

from powercut.engine.event_base import Decimal, EngineEvent, RawStack, Verdict


class RunStarted(EngineEvent):
    event: Literal["run"]
    target: str
    variant: str
    scenario: str
    model: str
    strategy: str
    seed: int
    nested: int = 0
    jobs: int = 1
    atoms: str = "any"
    events: int
    #: The plan that the trace was recorded from, when the engine repeats it.
    plan: dict[str, Any] | None = None


class Progress(EngineEvent):
    event: Literal["progress"]
    #: The work that a run of a program is at; empty: crash points are explored.
    phase: str = ""
    crash_points: int
    of: int
    crash_states: Decimal = "0"
    executions: int = 0
    #: Runs of a program on images that had been run.
    repeats: int = 0
    findings: int = 0
    seconds: float = 0.0


class FindingOperation(EngineEvent):
    index: int = 0
    kind: str
    key: str | None = None
    text: str | None = None


class FindingQuery(EngineEvent):
    kind: str
    key: str | None = None
    region: int | str | None = None
    text: str | None = None


class FindingStore(EngineEvent):
    event: int
    offset: int
    size: int
    fate: Literal["persisted", "lost", "torn"]
    decisive: bool = False
    stack: RawStack = Field(default_factory=list)


class CallFate(EngineEvent):
    """A call on a folder whose change was not durable at the cut."""

    call: int
    fate: Literal["on-disk", "lost", "partly"]
    decisive: bool = False


class FilesFinding(EngineEvent):
    """The part of a finding that a folder has; its trees stay as they were written."""

    profiles: list[str]
    side: Literal["before", "during", "after"]
    call: int
    calls: list[CallFate]


class Finding(EngineEvent):
    """The fields that Python itself uses; `parse` returns the whole object beside it for the record."""

    event: Literal["finding"]
    key: str
    invariant: str
    underlying: str | None = None
    message: str
    needs_power_cut: bool = True
    operation: FindingOperation
    query: FindingQuery | None = None
    stores: list[FindingStore] = Field(default_factory=list)
    #: None: the run is of no folder.
    files: FilesFinding | None = None


class Persisting(EngineEvent):
    """Before the performance bugs: which code stores, and which flushes and fences."""

    event: Literal["persisting"]
    stores: RawStack = Field(default_factory=list)
    flushes: list[RawStack] = Field(default_factory=list)


class PerformanceBug(EngineEvent):
    event: Literal["performance_bug"]
    kind: str
    count: int = 1
    #: Flushes, fences or stores that were made there.
    of: int = 0
    stack: RawStack = Field(default_factory=list)
    message: str = ""


class Schedules(EngineEvent):
    """Which schedules of threads were run, and what they came to."""

    search: str
    #: The most in a schedule; None: any number.
    preemptions: int | None = None
    visibility: str = "sc"
    model: str = "adr"
    threads: int
    #: The most that one thread has.
    operations: int
    #: Programs of all threads: more than one where threads have a choice.
    clients: int = 1
    schedules: int
    states: int
    steps: int
    #: Saturated cuts met, what is distinct of what they leave, and crash points that were judged.
    cuts: int = 0
    frontiers: int = 0
    restarts: int = 0
    judged: int = 0
    complete: bool
    reason: str = ""


class CoveredOperations(EngineEvent):
    """Marked operations of a program."""

    #: Every legal image of each of their crash points was judged.
    complete: int
    all: int


class Lives(EngineEvent):
    """Second lives: recovery, and the continuation behind it, which was cut."""

    begun: int
    #: The number of them that began like none before.
    new: int


class Coverage(EngineEvent):
    kind: Literal["complete", "sampled"]
    covered: Decimal
    total: Decimal | None = None
    nested_complete: bool | int | None = None
    reason: str | None = None
    #: Whether acknowledged data of a program was judged, by marked operations and a dump. None: the run is of a target.
    acknowledged: bool | None = None
    #: None: the run had one thread.
    schedules: Schedules | None = None
    operations: CoveredOperations | None = None
    #: None: the run had one life.
    lives: Lives | None = None


class ProfileResult(EngineEvent):
    """The verdict on a folder under one file system's profile."""

    profile: str
    verdict: Verdict
    complete: bool
    crash_points: int = 0
    #: Legal trees, summed over crash points; None where nobody has counted them.
    crash_states: Decimal | None = None
    covered: Decimal | None = None
    findings: int = 0
    #: The keys of findings that it has, also where the tree that was announced is legal under other profiles alone.
    keys: list[str] = Field(default_factory=list)
    reason: str | None = None


class Result(EngineEvent):
    event: Literal["result"]
    verdict: Verdict
    #: The findings that were announced do not stand.
    withdrawn: bool = False
    #: The run ended at a finding that needs no power cut.
    functional: bool = False
    events: int
    crash_points: int
    crash_states: Decimal
    executions: int
    #: Answers asked for, and those that had to be computed by running target code.
    queries: int = 0
    query_runs: int = 0
    loads: int = 0
    leaves: int = 0
    #: The most of something that any crash state showed, and where.
    maxima: dict[str, dict[str, Any]] = Field(default_factory=dict)
    seconds: float = 0.0
    #: Inside crash points, summed over the workers.
    exploring_seconds: float = 0.0
    #: Where the time went: "run" is the engine's own process, "workers" the sum over them; seconds by name.
    stats: dict[str, dict[str, float]] = Field(default_factory=dict)
    coverage: Coverage
    #: One for each file system that was asked for; empty where no folder is judged.
    profiles: list[ProfileResult] = Field(default_factory=list)
    assumptions: list[str] = Field(default_factory=list)
    not_checked: dict[str, Any] = Field(default_factory=dict)
    #: Functions whose stores recovery of a program reached, and the others; told by the runtime.
    store_functions: dict[str, list[dict[str, Any]]] | None = None


class Chunks(EngineEvent):
    """Which chunks an exploration would have: the first crash point of each."""

    event: Literal["chunks"]
    #: The target's, as the trace names it.
    library: str
    #: Everything that a chunk's result depends on.
    identity: dict[str, Any]
    firsts: list[int]
    crash_points: int
    events: int


class ChunkFinished(EngineEvent):
    event: Literal["chunk"]
    number: int
    crash_points: int
    executions: int
    #: It is in the checkpoint.
    kept: bool


class Explored(EngineEvent):
    """The end of an exploration of some chunks alone."""

    event: Literal["explored"]
    all: bool
    troubles: list[str]
    seconds: float
    stats: dict[str, dict[str, float]] = Field(default_factory=dict)


class LoadedModule(EngineEvent):
    name: str
    build_id: str
    address: str


class Machine(EngineEvent):
    """The properties of a machine that results of an exploration could depend on."""

    event: Literal["machine"]
    engine: str
    target: str
    modules: list[LoadedModule]
    page: int
    fixed: bool
