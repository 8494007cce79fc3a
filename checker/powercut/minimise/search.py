"""The search: `consider(candidate)` under one strict order, after Hypothesis' shrinker.

MacIver and Donaldson, *Test-Case Reduction via Test-Case Generation: Insights from the Hypothesis Reducer* (ECOOP
2020): every pass proposes candidates and looks at nothing but `best`; a candidate replaces it exactly when it is
simpler (`order.py`) and still shows the bug. So passes can be run in any order and again, none can undo another's work,
and the search ends.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from powercut.minimise.case import Case, runnable
from powercut.minimise.examine import Seen
from powercut.minimise.order import Order, before_recording, order


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Where a search ends, whether or not it could go on."""

    #: Cases recorded (and explored).
    considered: int | None = 2000
    #: Wall clock. A search that it ends is not repeatable, and says so.
    seconds: float | None = None
    #: Runs of recovery that exploring one candidate may take.
    executions: int = 20_000


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a search has come."""

    considered: int
    operations: int


class LimitReached(Exception):
    """The search stops here; `best` stands. The message says which limit."""


class Search:
    """The best case so far, and what is known of all others."""

    def __init__(
        self,
        start: Case,
        seen: Seen,
        *,
        examine: Callable[[Case], Seen],
        limits: Limits | None = None,
        on_progress: Callable[[Progress], None] = lambda progress: None,
        considered: int = 0,
    ) -> None:
        """`seen` is what `examine` makes of `start`: it shows the bug. `considered` counts what was asked before."""
        assert seen.events is not None and seen.finding is not None
        self.best = start
        self.best_seen = seen
        self.considered = considered
        self._order: Order = order(start, events=seen.events)
        self._examine = examine
        self._limits = limits or Limits()
        self._on_progress = on_progress
        self._known: dict[Case, Seen] = {start: seen}
        self._deadline = None if self._limits.seconds is None else time.monotonic() + self._limits.seconds

    def consider(self, candidate: Case) -> bool:
        """Makes `candidate` the best case when it is simpler and shows the bug. Operations that cannot run are left
        out first. Raises LimitReached."""
        candidate = runnable(candidate)
        if not candidate.is_explored or before_recording(candidate) > self._order[:2] or candidate == self.best:
            return False
        return self._adopt(candidate, self.examine(candidate))

    def _adopt(self, candidate: Case, seen: Seen) -> bool:
        if seen.events is None or seen.finding is None:
            return False
        place = order(candidate, events=seen.events)
        if place >= self._order:
            return False
        self.best, self.best_seen, self._order = candidate, seen, place
        return True

    def examine(self, case: Case) -> Seen:
        """What comes of a case, whether or not it is simpler; each is asked of the engine once. Raises LimitReached."""
        if case not in self._known:
            self._refuse_more()
            self._known[case] = self._examine(case)
            self.considered += 1
            self._on_progress(Progress(considered=self.considered, operations=len(self.best.operations)))
        return self._known[case]

    def repaired(self, case: Case, *, most: int = 64) -> Case | None:
        """`case` without the operations that the engine refuses (those that find the table full), if it shows the bug.

        None when it does not, or when more than `most` are refused. Raises LimitReached.
        """
        case = runnable(case)
        for _ in range(most):
            if not case.is_explored:
                return None
            seen = self.examine(case)
            if seen.refused is None or seen.refused >= len(case.operations):
                return case if seen.finding is not None else None
            case = runnable(case.without(seen.refused, seen.refused + 1))
        return None

    def _refuse_more(self) -> None:
        if self._limits.considered is not None and self.considered >= self._limits.considered:
            raise LimitReached(f"it ended after {self.considered} candidates, its limit")
        if self._deadline is not None and time.monotonic() >= self._deadline:
            raise LimitReached(f"it ended after {self._limits.seconds:g} s, its limit")
