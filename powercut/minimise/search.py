"""The search: `consider(candidate)` under one strict order, after Hypothesis' shrinker.

MacIver and Donaldson, *Test-Case Reduction via Test-Case Generation: Insights from the Hypothesis Reducer* (ECOOP
2020). Every pass proposes candidates and looks at nothing but `best`; a candidate replaces it exactly when it is
simpler (`order.py`) and still shows the bug. Passes can therefore be run in any order and again, none can undo
another's work, and the search ends.
"""

from powercut.minimise.case import Case, runnable
from powercut.minimise.examine import Seen
from powercut.minimise.ledger import Ledger
from powercut.minimise.order import Order, before_recording, order

#: Operations that a table may refuse before a case is given up.
_MOST_REFUSED = 64


class Search:
    """The best case so far."""

    def __init__(self, start: Case, seen: Seen, *, ledger: Ledger[Case, Seen], branched: bool = False) -> None:
        """`seen` is what came of `start`: it shows the bug. The smallest case of a branch is not the whole search's."""
        assert seen.events is not None and seen.finding is not None
        self.best = start
        self.best_seen = seen
        self._order: Order = order(start, events=seen.events)
        self._ledger = ledger
        self._branched = branched
        ledger.knows(start, seen)
        self._report()

    def consider(self, candidate: Case) -> bool:
        """Makes `candidate` the best case when it is simpler and shows the bug. Operations that cannot run are left
        out first. Raises LimitReached."""
        candidate = runnable(candidate)
        if not candidate.is_explored or _more(before_recording(candidate), self._order) or candidate == self.best:
            return False
        seen = self.examine(candidate)
        if seen.events is None or seen.finding is None:
            return False
        place = order(candidate, events=seen.events)
        if place >= self._order:
            return False
        self.best, self.best_seen, self._order = candidate, seen, place
        self._report()
        return True

    def examine(self, case: Case) -> Seen:
        """Returns the result of a case, whether or not it is simpler. Raises LimitReached."""
        return self._ledger.ask(case)

    def repaired(self, case: Case) -> Case | None:
        """`case` without the operations that the engine refuses (those that find the table full), if it shows the bug.

        None when it does not, or when too many are refused. Raises LimitReached.
        """
        case = runnable(case)
        for _ in range(_MOST_REFUSED):
            if not case.is_explored:
                return None
            seen = self.examine(case)
            if seen.refused is None or seen.refused >= len(case.operations):
                return case if seen.finding is not None else None
            case = runnable(case.without(seen.refused, seen.refused + 1))
        return None

    def branch(self, case: Case) -> "Search":
        """A search from another case that shows the bug, by the same ledger; its best is for `consider` here."""
        return Search(case, self.examine(case), ledger=self._ledger, branched=True)

    def _report(self) -> None:
        if not self._branched:
            self._ledger.operations = len(self.best.operations)


def _more(begin: Order, best: Order) -> bool:
    """Whether an order that begins so comes after `best`, whatever its trace."""
    return begin > best[: len(begin)]
