"""What a report knows about a run and its findings. EVENTS.md says what each field means.

An empty text or None stands for "not said"; reports word it as unknown and never as a zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from powercut_reports.drawing import Drawing

VERDICTS = ("inconsistent", "unknown", "consistent")


@dataclass(frozen=True)
class SourceLine:
    line: int
    text: str
    focus: bool


@dataclass(frozen=True)
class Frame:
    function: str
    file: str
    line: int
    column: int
    source: tuple[SourceLine, ...]

    @property
    def site(self) -> str:
        return f"{self.file}:{self.line}" if self.file else self.function


@dataclass(frozen=True)
class Store:
    event: int
    offset: int
    size: int
    bytes: str
    fate: str  # persisted, lost or torn
    decisive: bool
    kind: str
    frames: tuple[Frame, ...]
    site: str


@dataclass(frozen=True)
class ImageLine:
    """One pending line; the three contents are hex strings of the whole line."""

    offset: int
    image: str
    floor: str
    visible: str
    candidates: str
    decided: bool


@dataclass(frozen=True)
class NestedStore:
    offset: int
    size: int
    site: str
    function: str


@dataclass(frozen=True)
class NestedImage:
    """What a cut inside or right after recovery left behind."""

    depth: int
    after_return: bool
    stores: tuple[NestedStore, ...]
    lines: tuple[ImageLine, ...]


@dataclass(frozen=True)
class TimelineEvent:
    event: int
    kind: str
    detail: str
    state: str  # of the line after the event: dirty, flushed or durable
    site: str
    function: str


@dataclass(frozen=True)
class TimelineLine:
    offset: int
    events: tuple[TimelineEvent, ...]


@dataclass(frozen=True)
class Operation:
    index: int | None
    kind: str
    key: str
    text: str  # command of a maintain, or the whole operation when `kind` is empty
    in_flight: bool  # false: it was acknowledged before the cut

    def __str__(self) -> str:
        argument = self.key or self.text
        return f"{self.kind}({argument})" if self.kind and argument else self.kind or argument


@dataclass(frozen=True)
class CrashPoint:
    index: int | None
    event: int | None
    when: str
    depth: int
    nested_event: int | None  # stores that recovery had made
    after_return: bool  # the last cut came right after recovery returned


@dataclass(frozen=True)
class Fault:
    signal: str  # empty: an exception, an abort, a hang or a wild store
    address: str
    text: str
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Suppression:
    reason: str
    expires: str  # its last day, such as 2027-01-31
    expired: bool
    rule: str  # file:line


@dataclass(frozen=True)
class Finding:
    fingerprint: str
    invariant: str
    underlying: str
    message: str
    needs_power_cut: bool  # false: the same goes wrong with every store durable
    operation: Operation
    query: str
    expected: tuple[str, ...]
    found: str
    crash: CrashPoint
    fault: Fault | None
    image: tuple[ImageLine, ...]
    nested_images: tuple[NestedImage, ...]
    stores: tuple[Store, ...]
    timeline: tuple[TimelineLine, ...]
    contents_expected: tuple[tuple[str, str], ...]
    contents_actual: tuple[tuple[str, str], ...]
    file: str
    store_site: str
    lost_site: str
    reproduce: str
    target: str
    variant: str
    scenario: str
    baseline: str  # new or known; empty without a baseline
    suppressed: Suppression | None
    sources: Mapping[str, Mapping[int, str]]  # by file and line: around every site of the story
    minimal: Minimal | None
    cause: Cause | None
    drawing: Drawing | None
    last_site: str = ""  # of the last store before the cut
    last_function: str = ""
    bug_cause: str = ""  # keys of checker/RUN.md, "bug"
    bug_store: str = ""


@dataclass(frozen=True)
class Coverage:
    kind: str  # complete or sampled
    covered: str
    total: str
    nested_complete: bool | int | None
    reason: str
    notes: tuple[str, ...] = ()  # where the result comes from, if not from one exploration


@dataclass(frozen=True)
class NotChecked:
    lines_never_read: int | None
    flush_sites_never_reached: int | None
    flush_sites: tuple[str, ...]
    uninstrumented_calls: tuple[str, ...]
    atoms: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PerformanceBug:
    kind: str
    count: int
    site: str
    offset: int | None
    first_event: int | None
    message: str


@dataclass(frozen=True)
class Pool:
    path: str
    size: int | None
    address: int | None  # of its first mapping


@dataclass(frozen=True)
class Program:
    """What was recorded and how it was judged, in program mode. Commands as they are typed."""

    command: str  # empty for a trace that was recorded before
    ops: str
    recover: str
    check: str
    dump: str
    folder: str
    tracer: str
    ended: str  # "exit status 0"
    pools: tuple[Pool, ...]
    stdout: tuple[str, ...]
    stderr: tuple[str, ...]


@dataclass(frozen=True)
class Claim:
    """A claim of the scheme's paper, and what the run says of it."""

    claim: str
    cites: str
    place: str  # file:line where it is written down
    holds: bool | None  # None: nothing to measure in this run
    measured: float | None
    operation: str
    site: str
    note: str


@dataclass(frozen=True)
class Run:
    target: str
    variant: str
    scenario: str
    model: str
    strategy: str
    seed: str
    nested: int | None
    events: int | None
    crash_points: int | None
    crash_states: str
    executions: int | None
    leaves: int | None
    verdict: str  # consistent, inconsistent or unknown
    coverage: Coverage
    assumptions: tuple[str, ...]
    not_checked: NotChecked
    seconds: float | None
    findings: tuple[Finding, ...]
    performance_bugs: tuple[PerformanceBug, ...]
    claims: tuple[Claim, ...]
    summary: str  # the scenario's, in one line
    error: str  # why powercut itself could not finish, else empty
    program: Program | None

    @property
    def name(self) -> str:
        return f"{self.target}:{self.variant}" if self.variant else self.target


# What was made of a finding after the run (checker/RUN.md): its smallest case, its cause, and a fix that was tried.


@dataclass(frozen=True)
class MinimalOperation:
    phase: str
    explored: bool
    text: str  # insert(3)


@dataclass(frozen=True)
class Minimal:
    """The smallest workload, table and crash that still show the bug."""

    operations: tuple[MinimalOperation, ...]
    operations_before: int | None
    config: tuple[tuple[str, str], ...]
    config_before: tuple[tuple[str, str], ...]
    crash: CrashPoint
    lost: int | None  # decisive stores that are lost or torn in the image
    lost_before: int | None
    considered: int | None
    seconds: float | None
    complete: bool  # false: a limit ended the search
    note: str
    scenario: str  # the text of its scenario file
    finding: Finding | None


@dataclass(frozen=True)
class Place:
    """One side of a missing order: a store, an acknowledgement, a step of recovery."""

    role: str
    text: str
    event: int | None
    site: str
    function: str
    source: str
    offset: int | None
    size: int | None
    frames: tuple[Frame, ...]


@dataclass(frozen=True)
class Fix:
    kind: str  # flush, fence, flush-and-fence or reorder
    sentence: str
    site: str


@dataclass(frozen=True)
class Recheck:
    """What the exploration says with the fix applied to the trace."""

    held: bool  # the bug is gone; the trace may have others
    verdict: str
    coverage: Coverage
    crash_states: str
    executions: int | None
    remaining: tuple[str, ...]  # invariants that are still violated by this bug
    note: str
    whole: Recheck | None  # the same for the whole run


@dataclass(frozen=True)
class Cause:
    kind: str  # order, atomicity, recovery, functional or unexplained
    first: Place | None  # what must be durable, or happen, first: the store that was lost
    second: Place | None  # what must not persist, or be acknowledged, before
    sentence: str
    explanation: str
    fix: Fix | None
    recheck: Recheck | None
    shared_with: str = ""  # the finding that it was looked for in; empty: this one
