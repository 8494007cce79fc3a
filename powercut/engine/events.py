"""The engine's event stream (reports/EVENTS.md) as typed, immutable values.

`parse` turns one line into one event. Unknown events become `Unknown`, and unknown fields are dropped
from the typed view: a newer engine of the same version stays readable. What is not JSON, or lacks a
field that this version promises, is a `ProtocolError`: a broken harness, never a finding.
Numbers that can outgrow 53 bits stay decimal strings (`Decimal`).
"""

import json
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from powercut.base import paths
from powercut.base.errors import HarnessError

EVENTS_VERSION = 3

Verdict = Literal["consistent", "inconsistent", "unknown"]


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Decimal = Annotated[str, BeforeValidator(_as_text), StringConstraints(pattern=r"^\d+$")]
#: A text that the engine may leave out or set to null.
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
#: `[module, offset]` pairs, innermost first.
RawStack = list[tuple[int, int]]


class ProtocolError(HarnessError):
    """The engine wrote something that this version of the stream does not allow."""

    def __init__(self, what: str, line: str) -> None:
        shown = line if len(line) <= 120 else line[:117] + "..."
        super().__init__(
            f"{what}: {shown}",
            where="powercut-engine",
            next_step=f"Engine and CLI are probably of different builds. {paths.BUILD}",
        )


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Hello(_Event):
    event: Literal["hello"]
    version: int
    engine: str = ""
    command: str = ""


class Module(_Event):
    path: str
    build_id: str = ""


class Modules(_Event):
    event: Literal["modules"]
    modules: list[Module]


class Recorded(_Event):
    event: Literal["recorded"]
    trace: str
    events: int
    operations: int = 0
    bytes: int = 0
    marks: dict[str, int] = Field(default_factory=dict)
    marks_missing: list[str] = Field(default_factory=list)
    externals: list[str] = Field(default_factory=list)
    seconds: float = 0.0
    counters: dict[str, dict[str, float]] = Field(default_factory=dict)
    lines_read: dict[str, int] = Field(default_factory=dict)


class Driven(_Event):
    event: Literal["driven"]
    marks: dict[str, int] = Field(default_factory=dict)


class StreamPool(_Event):
    path: str
    offset: int
    size: int
    address: int = 0
    mapped: bool = False


class StreamNote(_Event):
    kind: str
    text: str


class Converted(_Event):
    event: Literal["converted"]
    trace: str
    events: int
    operations: int = 0
    bytes: int = 0
    stores: int = 0
    pools: list[StreamPool] = Field(default_factory=list)
    #: {"status": n} or {"signal": n}; None: the program was killed, and the stream stops where it was.
    exit: dict[str, int] | None = None
    notes: list[StreamNote] = Field(default_factory=list)
    #: Changes of the pools that the trace has no stores for.
    unseen: list[str] = Field(default_factory=list)
    #: Of lines that acknowledge: how many, how many left together with others, how many behind all that was recorded.
    acknowledged: dict[str, int] = Field(default_factory=dict)
    counters: dict[str, dict[str, float]] = Field(default_factory=dict)
    seconds: float = 0.0


class Scheduled(_Event):
    """A threaded program's run in many schedules."""

    event: Literal["scheduled"]
    trace: str
    #: Of the first schedule: a negative one is a signal, as in `subprocess`.
    status: int
    #: Why the first schedule was ended from outside; empty: it was not.
    stalled: str = ""
    stdout: str = ""
    stderr: str = ""
    events: int = 0
    pools: list[StreamPool] = Field(default_factory=list)
    notes: list[StreamNote] = Field(default_factory=list)
    #: That the first schedules have changed beside the pools.
    other_files: list[str] = Field(default_factory=list)
    #: In which the engine has worked.
    folder: str = ""
    seconds: float = 0.0


class ImageRun(_Event):
    step: Literal["recover", "check", "dump", "probe"]
    #: Its number, from 1; 0 of other steps.
    probe: int = 0
    kind: Literal["ok", "exit", "signal", "timeout"]
    code: int
    shown: str


class ImageViolation(_Event):
    invariant: str
    query: str
    message: str


class Imaged(_Event):
    """What a program's commands made of one image."""

    event: Literal["imaged"]
    #: Empty where the schedule went wrong by itself, so that nobody looks at an image.
    runs: list[ImageRun]
    files: list[str]
    same: bool
    #: What is wrong with the image of a finding.
    violation: ImageViolation | None = None
    #: What went wrong in that schedule.
    trouble: str = ""
    #: Changes of the pools that the trace has no stores for.
    unseen: list[str] = Field(default_factory=list)


class RunStarted(_Event):
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


class Progress(_Event):
    event: Literal["progress"]
    #: Of a program: what is being done; empty: crash points are explored.
    phase: str = ""
    crash_points: int
    of: int
    crash_states: Decimal = "0"
    executions: int = 0
    #: Of a program: runs of images that had been run.
    repeats: int = 0
    findings: int = 0
    seconds: float = 0.0


class FindingOperation(_Event):
    index: int = 0
    kind: str
    key: str | None = None
    text: str | None = None


class FindingQuery(_Event):
    kind: str
    key: str | None = None
    region: int | str | None = None
    text: str | None = None


class FindingStore(_Event):
    event: int
    offset: int
    size: int
    fate: Literal["persisted", "lost", "torn"]
    decisive: bool = False
    stack: RawStack = Field(default_factory=list)


class Finding(_Event):
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


class Persisting(_Event):
    """Before the performance bugs: which code stores, and which flushes and fences."""

    event: Literal["persisting"]
    stores: RawStack = Field(default_factory=list)
    flushes: list[RawStack] = Field(default_factory=list)


class PerformanceBug(_Event):
    event: Literal["performance_bug"]
    kind: str
    count: int = 1
    #: Flushes, fences or stores that were made there.
    of: int = 0
    stack: RawStack = Field(default_factory=list)
    message: str = ""


class Schedules(_Event):
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


class CoveredOperations(_Event):
    """Marked operations of a program."""

    #: Every legal image of each of their crash points was judged.
    complete: int
    all: int


class Coverage(_Event):
    kind: Literal["complete", "sampled"]
    covered: Decimal
    total: Decimal | None = None
    nested_complete: bool | int | None = None
    reason: str | None = None
    #: Of a program: whether what it had acknowledged was judged, by marked operations and a dump. None: of a target.
    acknowledged: bool | None = None
    #: None: the run had one thread.
    schedules: Schedules | None = None
    operations: CoveredOperations | None = None


class Result(_Event):
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
    assumptions: list[str] = Field(default_factory=list)
    not_checked: dict[str, Any] = Field(default_factory=dict)
    #: Of a program, which its own runtime tells: the functions whose stores recovery reached, and the others.
    store_functions: dict[str, list[dict[str, Any]]] | None = None


class Chunks(_Event):
    """Which chunks an exploration would have: the first crash point of each."""

    event: Literal["chunks"]
    #: The target's, as the trace names it.
    library: str
    #: Everything that a chunk's result depends on.
    identity: dict[str, Any]
    firsts: list[int]
    crash_points: int
    events: int


class ChunkFinished(_Event):
    event: Literal["chunk"]
    number: int
    crash_points: int
    executions: int
    #: It is in the checkpoint.
    kept: bool


class Explored(_Event):
    """The end of an exploration of some chunks alone."""

    event: Literal["explored"]
    all: bool
    troubles: list[str]
    seconds: float
    stats: dict[str, dict[str, float]] = Field(default_factory=dict)


class LoadedModule(_Event):
    name: str
    build_id: str
    address: str


class Machine(_Event):
    """What of a machine the results of an exploration could depend on."""

    event: Literal["machine"]
    engine: str
    target: str
    modules: list[LoadedModule]
    page: int
    fixed: bool


class EngineErrorEvent(_Event):
    event: Literal["error"]
    kind: Literal["usage", "harness"]
    what: str
    where: str = ""
    next: str = ""
    #: What the scenario needs and the target lacks, where nothing else is wrong.
    needs: str = ""


class End(_Event):
    event: Literal["end"]
    exit: int = 0


class TargetDevice(_Event):
    """The device that a target's pool is (targets/ABI.md)."""

    medium: Literal["block", "flash"]
    #: Of a sector, or of a page with its spare area.
    bytes: int
    #: Sectors of an atomic write unit, or pages of an erase block.
    unit: int


class TargetDescription(_Event):
    name: str
    summary: Text = ""
    paper: Text = ""
    variants: list[str] = Field(min_length=1)
    options: list[str] = Field(default_factory=list)
    commands: list[str] = Field(default_factory=list)
    #: Of insert, update, erase, lookup, increment and maintain those that it has.
    operations: list[str] = Field(default_factory=list)
    traits: Any = None
    #: Bytes of keys and values that it declares, the preferred ones first; empty where it declares none.
    sizes: list[tuple[int, int]] = Field(default_factory=list)
    #: What its pool is, where that is a device.
    device: TargetDevice | None = None


#: How modules begin that are no files: frames of a pmemcheck log, "pmemcheck:main (a.c:9)".
LOG_MODULE = "pmemcheck:"


class LogPool(_Event):
    """A pool file that a pmemcheck log registers."""

    path: str
    size: int
    address: int
    #: Of an import: its bytes from before the run were given.
    content_known: bool = False


class Imported(_Event):
    event: Literal["imported"]
    trace: str
    events: int
    entries: int
    markers: int
    stores_outside: int
    flushes_outside: int
    unnamed_frames: int
    pools: list[LogPool]


class Exported(_Event):
    event: Literal["exported"]
    log: str
    entries: int
    threads: int
    content_bytes: int
    pools: list[LogPool]


class StoreFrames(_Event):
    event: Literal["store_frames"]
    modules: list[Module]
    frames: RawStack


class MeasuredAt(_Event):
    event: int
    stack: RawStack = Field(default_factory=list)


class Measured(_Event):
    """What the operations of a trace did, and which of them is furthest from what is claimed."""

    event: Literal["measured"]
    id: int
    operations: int = 0
    #: None: no operation was one that the measure is about, or `unknown` names what nobody counted.
    value: float | None = None
    at: MeasuredAt | None = None
    unknown: str | None = None


class Described(_Event):
    event: Literal["described"]
    target: TargetDescription


class Reproduced(_Event):
    event: Literal["reproduced"]
    held: bool
    finding: dict[str, Any] | None = None
    drawing: dict[str, Any] | None = None
    steps: dict[str, Any] | None = None


class ScheduleWritten(_Event):
    """A schedule out of a tree of them, as a trace of its own."""

    event: Literal["schedule"]
    trace: str
    events: int
    #: Events before the schedule begins.
    first: int


class Edited(_Event):
    """A trace that `edit` wrote (checker/EDITS.md)."""

    event: Literal["edited"]
    trace: str
    events: int
    dropped: int
    inserted: int
    moved: int


class Violation(_Event):
    invariant: str
    underlying: str | None = None
    query: str
    message: str
    expected: list[str] = Field(default_factory=list)
    found: str
    fault: list[tuple[str, int]] | None = None


class Judged(_Event):
    """What recovery and all queries made of one image that was asked for."""

    event: Literal["judged"]
    id: Any
    crash_point: int
    crash_event: int
    when: str
    legal: bool
    why: str | None = None
    violations: list[Violation]


class RecoverySite(_Event):
    """A flush or fence that recovery executed in an exploration, by its call stack."""

    event: Literal["recovery_site"]
    kind: Literal["flush", "fence"]
    name: str
    count: int
    stack: RawStack


class Difference(_Event):
    """An answer of an audited image that was not predicted; `parse` returns the whole object beside it."""

    event: Literal["difference"]
    crash_point: int
    query: str
    predicted: list[str]
    actual: str


class Audited(_Event):
    event: Literal["audited"]
    images: int
    differences: int


class FaultFinding(_Event):
    """One thing that went wrong under a fault; `count` cases show it."""

    event: Literal["fault_finding"]
    fault: str
    invariant: str
    message: str
    subject: str
    offset: int | None = None
    operation: str = ""
    operation_index: int = 0
    query: str = ""
    expected: list[str] = Field(default_factory=list)
    found: str = ""
    stack: RawStack = Field(default_factory=list)
    count: int = 1


class FaultTrace(_Event):
    """The trace of a run in which an allocation failed, to be explored."""

    event: Literal["fault_trace"]
    trace: str
    subject: str


class FaultResult(_Event):
    event: Literal["fault_result"]
    fault: str
    cases: int
    cases_of: int
    effects: dict[str, int]
    findings: int
    complete: bool
    reason: str | None = None


class Unknown(_Event):
    event: str


Known = (
    Hello
    | Modules
    | Recorded
    | Driven
    | Converted
    | Scheduled
    | Imaged
    | RunStarted
    | Progress
    | Finding
    | Persisting
    | PerformanceBug
    | Result
    | Chunks
    | ChunkFinished
    | Explored
    | Machine
    | EngineErrorEvent
    | End
    | Described
    | Reproduced
    | Edited
    | ScheduleWritten
    | Judged
    | RecoverySite
    | Difference
    | Audited
    | FaultFinding
    | FaultTrace
    | FaultResult
    | Imported
    | Exported
    | StoreFrames
    | Measured
)
Event = Known | Unknown

_KNOWN: TypeAdapter[Known] = TypeAdapter(Annotated[Known, Field(discriminator="event")])
_NAMES = frozenset(get_args(kind.model_fields["event"].annotation)[0] for kind in get_args(Known))


def parse(line: str) -> tuple[Event, dict[str, Any]]:
    """One line of the stream: the typed event and the object as it was written."""
    try:
        raw = json.loads(line)
    except ValueError as error:
        raise ProtocolError("this line of the event stream is not JSON", line) from error
    if not isinstance(raw, dict) or not isinstance(raw.get("event"), str):
        raise ProtocolError("this line of the event stream has no 'event'", line)
    if raw["event"] not in _NAMES:
        return Unknown.model_validate(raw), raw
    try:
        event = _KNOWN.validate_python(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"][1:])  # behind the name of the event
        raise ProtocolError(f"event '{raw['event']}' has a bad field '{place}' ({first['msg']})", line) from error
    if isinstance(event, Hello) and event.version != EVENTS_VERSION:
        raise ProtocolError(f"event stream version {event.version}, this build reads {EVENTS_VERSION}", line)
    return event, raw
