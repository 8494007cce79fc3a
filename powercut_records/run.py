"""The run record: one exploration, its verdict and its findings."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from powercut_records.base import Name, Record, Text
from powercut_records.files import ProfileVerdict
from powercut_records.finding import Coverage, FindingRecord, Verdict
from powercut_records.places import Placed
from powercut_records.program import Program


class StoreFunction(Record):
    """A function of the target that stores to what may be a pool."""

    function: Text = ""
    file: Text = ""
    line: int = 0

    @property
    def place(self) -> str:
        """ "erase (level/erase.cc:12)" """
        return f"{self.function} ({self.file}:{self.line})" if self.line else self.function


class NotChecked(Record):
    """The verdict says nothing about these."""

    lines_never_read: int | None = None
    stores_never_reached: list[StoreFunction] | None = None  # null: nobody knows
    uninstrumented_calls: list[Text] = []
    atoms: Text = ""
    notes: list[Text] = []


class PerformanceBug(Placed):
    kind: Text = ""
    count: int = 0
    of: int = 0  # flushes, fences or stores that were made there; 0: not known
    offset: int | None = None
    first_event: int | None = None
    message: Text = ""


class Claim(Record):
    """A claim of the scheme's paper, and the run's answer."""

    claim: Text = ""
    cites: Name = ""
    place: Name = ""  # file:line where it is written down
    holds: bool | None = None  # None: nothing to measure in this run
    measured: float | int | None = None
    operation: Name = ""
    site: Name = ""
    note: Text = ""


class RunError(Record):
    """Why powercut itself could not finish."""

    kind: Text = "harness"
    what: Text = ""
    where: Text = ""
    next: Text = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.next}".strip(": ") if self.what else ""


class Replayed(Record):
    """An earlier finding that the run began with."""

    fingerprint: Text = ""
    invariant: Text = ""
    site: Name = ""
    state: Text = ""  # still there, gone or undecided
    replay: Text = ""  # held, did not hold or not replayed
    now: Name = ""  # its fingerprint, where it was found under another
    note: Text = ""


class Canary(Record):
    """Whether a planted bug was found on the same way."""

    found: bool = False
    bug: Text = ""
    invariants: list[Text] = []
    model: Text = ""
    strategy: Text = ""
    seconds: float = 0.0
    why: Text = ""


class Since(Record):
    """Whether the result is from the cache of a gate."""

    revision: Text = ""
    commit: Text = ""
    cached: bool = False
    why: Text = ""  # it was explored
    key: Text = ""
    judged: Name = ""


class Smoke(Record):
    """Coverage of the first round of a budget in seconds."""

    strategy: Text = ""
    crash_points: int = 0
    crash_states: Text = "0"
    executions: int = 0
    findings: int = 0
    stopped: bool = False
    seconds: float = 0.0


class RunRecord(Record):
    run: int = 0  # the version of this record
    target: Text = ""
    variant: Text = ""
    scenario: Text = ""
    model: Text = ""
    strategy: Text = ""
    seed: int | None = None
    nested: int | None = None
    atoms: Text = ""
    paper: Text = ""
    summary: Text = ""  # the scenario's, in one line
    events: int | None = None
    crash_points: int | None = None
    crash_states: Text = ""
    executions: int | None = None
    queries: int = 0
    query_runs: int = 0
    loads: int = 0
    leaves: int | None = None
    maxima: dict[str, dict[str, Any]] = {}
    verdict: Verdict = "unknown"
    functional: bool = False  # it ended at a finding that needs no power cut
    coverage: Coverage = Coverage()
    profiles: list[ProfileVerdict] = []  # of a recorded folder: the verdict for each file system
    assumptions: list[Text] = []
    not_checked: NotChecked = NotChecked()
    seconds: float | None = None
    exploring_seconds: float = 0.0
    stats: dict[str, dict[str, float]] = {}
    findings: list[FindingRecord] = []
    replayed: list[Replayed] | None = None
    canary: Canary | None = None
    since: Since | None = None
    smoke: Smoke | None = None
    performance_bugs: list[PerformanceBug] = []
    claims: list[Claim] = []
    program: Program | None = None
    recorded: dict[str, Any] | None = None
    trace: Name = ""
    command: Text = ""
    interrupted: bool = False
    error: RunError | None = None
    file: Text = ""

    @property
    def commands(self) -> Program:
        """How its program was recorded and judged; nothing of that for a library."""
        return self.program or Program()

    def deciding(self, names: Collection[str]) -> list[ProfileVerdict]:
        """The file systems of a folder that decide a gate: those of `names`, or all where it names none of them."""
        return [row for row in self.profiles if row.profile in names] or self.profiles

    @property
    def name(self) -> str:
        """ "level:published" """
        return f"{self.target}:{self.variant}" if self.variant else self.target

    @property
    def origin(self) -> list[str]:
        """Adds that a result is from the cache, and the coverage of a budget's first round."""
        notes = []
        if self.since and self.since.cached:
            judged = f", judged {self.since.judged}" if self.since.judged else ""
            notes.append(f"cached: unchanged since {self.since.revision}{judged}")
        if self.smoke:
            reached = "stopped by the budget" if self.smoke.stopped else "every crash point"
            notes.append(f"first in program order: {reached}")
        return notes
