"""What was made of a finding after the run (checker/RUN.md): its smallest case, its cause, and a fix that was tried.

An empty text or None stands for "not said", as in model.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from powercut_reports.model import Coverage, CrashPoint, Finding, Frame


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
