"""Events that answer one question: about an image, a target, a finding, an edit of a trace, an audit, a fault."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from powercut.engine.event_base import EngineEvent, RawStack, Text
from powercut_records import media


class ImageRun(EngineEvent):
    step: Literal["recover", "continue", "check", "dump", "probe"]
    #: Its number, from 1; 0 of other steps.
    probe: int = 0
    kind: Literal["ok", "exit", "signal", "timeout"]
    code: int
    shown: str


class ImageViolation(EngineEvent):
    invariant: str
    query: str
    message: str


class Imaged(EngineEvent):
    """The ends of a program's commands on one image."""

    event: Literal["imaged"]
    #: Empty where the schedule went wrong by itself, so that nobody looks at an image.
    runs: list[ImageRun]
    files: list[str]
    same: bool
    #: The violation on the image of a finding.
    violation: ImageViolation | None = None
    #: The trouble of that schedule.
    trouble: str = ""
    #: Changes of the pools that the trace has no stores for.
    unseen: list[str] = Field(default_factory=list)


class TargetDevice(EngineEvent):
    """The device that a target's pool is (targets/ABI.md)."""

    medium: Annotated[str, AfterValidator(lambda name: media.named(name).name)]
    #: Size of a sector, or of a page with its spare area.
    bytes: int
    #: Sectors of an atomic write unit, or pages of an erase block.
    unit: int


class TargetDescription(EngineEvent):
    name: str
    summary: Text = ""
    paper: Text = ""
    variants: list[str] = Field(min_length=1)
    options: list[str] = Field(default_factory=list)
    commands: list[str] = Field(default_factory=list)
    #: The ones among insert, update, erase, lookup, increment and maintain that it has.
    operations: list[str] = Field(default_factory=list)
    traits: Any = None
    #: Bytes of keys and values that it declares, the preferred ones first; empty where it declares none.
    sizes: list[tuple[int, int]] = Field(default_factory=list)
    #: The device that its pool is; None: the pool is memory.
    device: TargetDevice | None = None


class Described(EngineEvent):
    event: Literal["described"]
    target: TargetDescription


class MeasuredAt(EngineEvent):
    event: int
    stack: RawStack = Field(default_factory=list)


class Measured(EngineEvent):
    """The measure of the operations of a trace, and the operation that is furthest from its claim."""

    event: Literal["measured"]
    id: int
    operations: int = 0
    #: None: no operation was one that the measure is about, or `unknown` names what nobody counted.
    value: float | None = None
    at: MeasuredAt | None = None
    unknown: str | None = None


class Reproduced(EngineEvent):
    event: Literal["reproduced"]
    held: bool
    finding: dict[str, Any] | None = None
    drawing: dict[str, Any] | None = None
    steps: dict[str, Any] | None = None


class ScheduleWritten(EngineEvent):
    """A schedule out of a tree of them, as a trace of its own."""

    event: Literal["schedule"]
    trace: str
    events: int
    #: Events before the schedule begins.
    first: int


class Edited(EngineEvent):
    """A trace that `edit` wrote (checker/EDITS.md)."""

    event: Literal["edited"]
    trace: str
    events: int
    dropped: int
    inserted: int
    moved: int


class Violation(EngineEvent):
    invariant: str
    underlying: str | None = None
    query: str
    message: str
    expected: list[str] = Field(default_factory=list)
    found: str
    fault: list[tuple[str, int]] | None = None


class Judged(EngineEvent):
    """The answers of recovery and of all queries on one image that was asked for."""

    event: Literal["judged"]
    id: Any
    crash_point: int
    crash_event: int
    when: str
    legal: bool
    why: str | None = None
    violations: list[Violation]


class RecoverySite(EngineEvent):
    """A flush or fence that recovery executed in an exploration, by its call stack."""

    event: Literal["recovery_site"]
    kind: Literal["flush", "fence"]
    name: str
    count: int
    stack: RawStack


class Difference(EngineEvent):
    """An answer of an audited image that was not predicted; `parse` returns the whole object beside it."""

    event: Literal["difference"]
    crash_point: int
    query: str
    predicted: list[str]
    actual: str


class Audited(EngineEvent):
    event: Literal["audited"]
    images: int
    differences: int


class FaultFinding(EngineEvent):
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


class FaultTrace(EngineEvent):
    """The trace of a run in which an allocation failed, to be explored."""

    event: Literal["fault_trace"]
    trace: str
    subject: str


class FaultResult(EngineEvent):
    event: Literal["fault_result"]
    fault: str
    cases: int
    cases_of: int
    effects: dict[str, int]
    findings: int
    complete: bool
    reason: str | None = None
