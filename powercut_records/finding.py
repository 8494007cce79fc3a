"""The finding record: one violation, with its cause and the later work on it."""

from __future__ import annotations

from typing import Any, Literal

from powercut_records.base import Name, Record, Text
from powercut_records.drawing import Drawing
from powercut_records.files import Confirmed, FilesFinding
from powercut_records.places import Placed, SourceLine
from powercut_records.program import Program
from powercut_records.steps import RecoverySteps

VERDICTS = ("inconsistent", "unknown", "consistent")
Verdict = Literal["inconsistent", "unknown", "consistent"]


class Operation(Record):
    """The operation that was cut, or the last one before the cut."""

    index: int | None = None
    kind: Text = ""
    key: Name = ""
    text: Text = ""  # command of a maintain
    in_flight: bool = True  # false: it was acknowledged before the cut

    def __str__(self) -> str:
        argument = self.key or self.text
        return f"{self.kind}({argument})" if self.kind and argument else self.kind or argument


class Query(Record):
    kind: Text = ""
    key: Name = ""
    region: int | str | None = None
    text: Text = ""

    def __str__(self) -> str:
        argument = self.key or str(self.region or "")
        return self.text or (f"{self.kind}({argument})" if argument else self.kind)


class CrashPoint(Record):
    index: int | None = None
    event: int | None = None
    when: Text = ""
    depth: int = 0
    nested_event: int | None = None  # stores that recovery had made


class Fault(Placed):
    signal: Name = ""  # empty: an exception, an abort, a hang or a wild store
    address: Text = ""
    text: Text = ""


class ImageLine(Record):
    """One pending line; the three contents are hex strings of the whole line."""

    offset: int = 0
    bytes: Text = ""
    floor: Text = ""
    visible: Text = ""
    candidates: int | None = None
    decided: bool = True


class Store(Placed):
    event: int = 0
    offset: int = 0
    size: int = 0
    bytes: Text = ""
    fate: Text = "unknown"  # persisted, lost or torn
    decisive: bool = False
    kind: Text = "store"
    text: Text = ""  # of a call on a folder: as strace prints it


class RecoveryStore(Placed):
    offset: int = 0
    size: int = 0


class NestedImage(Record):
    """The remains of a cut inside or right after recovery."""

    depth: int = 0
    after_return: bool = False
    recovery_stores: list[RecoveryStore] = []
    lines: list[ImageLine] = []
    contents: list[str] = []  # hex, of the sectors that lines of a device name


class TimelineEvent(Placed):
    event: int = 0
    kind: Text = ""
    detail: Text = ""
    state: Text = ""  # of the line after the event: dirty, flushed or durable


class TimelineLine(Record):
    offset: int = 0
    events: list[TimelineEvent] = []


class Timeline(Record):
    crash_event: int | None = None
    lines: list[TimelineLine] = []


class Contents(Record):
    """Keys and values, as far as they are known."""

    expected: list[tuple[Text, Text]] = []
    actual: list[tuple[Text, Text]] = []


class OutputLine(Record):
    mark: Text = ""  # "-": expected and not printed, "+": printed and not expected, " ": both
    text: Text = ""


class OutputDifference(Record):
    """How the output of a program's dump or probe differs from the legal output that is nearest."""

    nearest: int = 0  # of the finding's `expected`
    lines: list[OutputLine] = []
    kept_left_out: int = 0
    changed_left_out: int = 0


class BugKeys(Record):
    """Which findings are one bug: a digest of the cause, and one of the store that the finding blames."""

    cause: Name = ""
    store: Name = ""


class Suppression(Record):
    reason: Text = ""
    expires: Text = ""  # its last day, such as 2027-01-31
    expired: bool = False
    rule: Text = ""  # file:line


class EngineOptions(Record):
    """Options with which the finding was found."""

    model: Text = ""
    strategy: Text = ""
    atoms: Text = ""
    nested: int = 0
    seed: int = 0


class Place(Placed):
    """One side of a missing order: a store, an acknowledgement, a step of recovery."""

    role: Text = ""
    text: Text = ""
    event: int | None = None
    source: Text = ""
    offset: int | None = None
    size: int | None = None
    bytes: Text = ""
    function: Text = ""
    count: int = 1  # stores that it stands for


class Fix(Record):
    """The change, and its place: the reports make a sentence and a drawing of it."""

    kind: Text = ""  # fence, flush-and-fence, flush-in-reader or reorder
    sentence: Text = ""
    site: Name = ""  # the line that it goes behind (flush-in-reader: before); empty: nothing is drawn
    source: list[SourceLine] = []  # around the site
    steps: int = 1  # fixes on top of each other


class Schedules(Record):
    """Which schedules of threads the verdict covers (checker/RUN.md)."""

    search: Text = ""
    preemptions: int | None = None
    visibility: Text = "sc"
    threads: int = 0
    operations: int = 0
    clients: int = 1
    schedules: int = 0
    states: int = 0
    steps: int = 0
    frontiers: int = 0
    judged: int = 0
    complete: bool = False
    reason: Text = ""


class CoveredOperations(Record):
    """Marked operations of a program, and those of which every crash state was judged."""

    complete: int = 0
    all: int = 0


class Lives(Record):
    """Second lives that were begun, and those that began like none before."""

    begun: int = 0
    new: int = 0


class Coverage(Record):
    kind: Literal["complete", "sampled", "unknown"] = "unknown"
    covered: Text = ""
    total: Name = ""
    nested_complete: bool | int | None = None
    reason: Name = ""
    acknowledged: bool | None = None  # of a program: false, where nobody knows what must have survived
    schedules: Schedules | None = None  # of a run with one thread: None
    operations: CoveredOperations | None = None  # of a program that marks its operations
    lives: Lives | None = None  # of a run with one life: None


class Recheck(Record):
    """Result of the exploration with the fix applied to the trace."""

    held: bool = False  # the bug is gone; the trace may have others
    verdict: Verdict = "unknown"
    coverage: Coverage = Coverage()
    crash_states: Text = ""
    executions: int | None = None
    remaining: list[Text] = []  # invariants that are still violated by this bug
    note: Text = ""
    whole: Recheck | None = None  # the same for the whole run


class Cause(Record):
    kind: Text = "unexplained"  # order, atomicity, recovery, functional, schedule or unexplained
    first: Place | None = None  # what must be durable, or happen, first: the store that was lost
    second: Place | None = None  # what must not persist, or be acknowledged, before
    sentence: Text = ""
    explanation: Text = ""
    fix: Fix | None = None
    recheck: Recheck | None = None
    shared_with: Text = ""  # the finding that it was looked for in; empty: this one


#: The kind of a minimal case's operation that is a line of a program's file.
LINE = "line"


class MinimalOperation(Record):
    index: int | None = None
    phase: Text = ""
    explored: bool = True
    kind: Text = ""
    key: Name = ""
    text: Text = ""
    thread: int | None = None  # from 1; of operations at the same time

    def __str__(self) -> str:
        told = self.text or (f"{self.kind}({self.key})" if self.key else self.kind)
        return told if self.thread is None else f"{told} in thread {self.thread}"


class Minimal(Record):
    """The smallest workload, table and crash that still show the bug."""

    operations: list[MinimalOperation] = []
    operations_before: int | None = None
    config: dict[str, Text] = {}
    config_before: dict[str, Text] = {}
    crash_point: CrashPoint = CrashPoint()
    lost: int | None = None  # decisive stores that are lost or torn in the image
    lost_before: int | None = None
    considered: int | None = None
    seconds: float | None = None
    complete: bool = True  # false: a limit ended the search
    note: Text = ""
    scenario: Text = ""  # the text of its scenario file
    finding: FindingRecord | None = None

    @property
    def noun(self) -> str:
        """The noun of its operations: those of a plan, or lines of a program's file."""
        return LINE if any(item.kind == LINE for item in self.operations) else "operation"


class Turn(Placed):
    """Operations of a thread before another thread went on; the place is that of its last store, flush or fence."""

    thread: int = 0  # from 1
    operations: list[Text] = []
    events: int = 0
    in_operation: bool = False  # it was left in the middle of the last one


class Begun(Record):
    """An operation that a thread has begun."""

    thread: int = 0  # from 1
    kind: Text = ""
    key: Text = ""  # its bytes in hex; empty for a command
    text: Text = ""


class FindingRecord(Record):
    finding: int = 1  # the version of this record
    fingerprint: Text = ""
    key: Text = ""  # of the engine
    target: Text = ""
    variant: Text = ""
    scenario: Text = ""
    model: Text = ""
    invariant: Text = "unknown"
    underlying: Name = ""
    message: Text = ""
    needs_power_cut: bool = True  # false: the same goes wrong with every store durable
    operation: Operation = Operation()
    query: Query = Query()
    expected: list[Text] = []
    found: Text = ""
    difference: OutputDifference | None = None  # of a program's output
    crash_point: CrashPoint = CrashPoint()
    fault: Fault | None = None
    image: list[ImageLine] = []
    nested_image: list[NestedImage] = []
    stores: list[Store] = []
    timeline: Timeline = Timeline()
    last_store: Placed | None = None  # before the cut
    turns: list[Turn] = []  # of threads: the schedule up to the cut
    client: list[Begun] = []  # of threads: what each did up to the cut, one thread after the other
    contents: Contents = Contents()
    store_site: Name = ""
    lost_site: Name = ""
    blamed: Name = ""
    bug: BugKeys = BugKeys()
    file: Name = ""
    reproduce: Name = ""
    engine: EngineOptions = EngineOptions()
    trace: Name = ""
    program: Program | None = None
    plan: dict[str, Any] | None = None
    sources: dict[str, dict[int, str]] = {}  # by file and line: around every site of the story
    drawing: Drawing | None = None
    steps: RecoverySteps | None = None  # of recovery and the query on the image
    cause: Cause | None = None
    minimal: Minimal | None = None
    baseline: Text = ""  # new or known; empty without a baseline
    known_as: Text = ""  # the fingerprint that a baseline or a suppression knows it by, from before a rename
    suppressed: Suppression | None = None
    withdrawn: Text = ""  # why it does not count: its run cannot be trusted
    without: dict[str, Any] | None = None  # the flush or fence that was left out
    files: FilesFinding | None = None  # of a recorded folder
    confirmed: list[Confirmed] = []  # on real file systems, where somebody has looked

    @property
    def commands(self) -> Program:
        """How its program was recorded and judged; nothing of that for a library's."""
        return self.program or Program()

    @property
    def counted_as(self) -> tuple[str, str, str]:
        """Its identity wherever findings are counted: a finding that several runs of a target show is one."""
        return self.target, self.variant, self.fingerprint

    @property
    def by_schedule(self) -> bool:
        """Threads went wrong by themselves: no image was looked at."""
        return self.query.kind == "schedule"

    @property
    def subject(self) -> str:
        """ "level:published" """
        return f"{self.target}:{self.variant}" if self.variant else self.target

    @property
    def decisive(self) -> list[Store]:
        """The stores that the wrong answer needs, persisted or not."""
        return [store for store in self.stores if store.decisive]

    @property
    def after_return(self) -> bool:
        """The last cut came right after recovery returned."""
        return bool(self.nested_image) and self.nested_image[-1].after_return

    @property
    def is_suppressed(self) -> bool:
        """A suppression that has not expired sets it aside."""
        return self.suppressed is not None and not self.suppressed.expired

    @property
    def counts(self) -> bool:
        """It fails a gate: it is neither in the baseline nor suppressed, and a file system that counts has it."""
        return self.baseline != "known" and not self.is_suppressed and (self.files is None or self.files.fails)
