"""Takes runs of operations away: halves, quarters, … single ones.

Delta debugging (Zeller and Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*, TSE 2002) by complements.
It goes from the end to the beginning, since later operations depend on earlier ones. It ends when no single operation
can be missed, and, in a short case, no two of them.
"""

from itertools import combinations

from powercut.minimise.case import Case
from powercut.minimise.search import Search

#: A case this short is also tried without any two operations: an insert and the erase that makes room again.
_PAIRS = 8


def delete_runs(search: Search) -> None:
    """Deletes runs of operations, the longest first."""
    size = max(1, len(search.best.operations) // 2)
    while True:
        changed = _delete(search, size)
        if size == 1 and not changed:
            return
        size = max(1, size // 2)


def _delete(search: Search, size: int) -> bool:
    """Tries each run of `size` once, the last first; what went before keeps its place."""
    changed = False
    last = len(search.best.operations)
    while last > 0 and len(search.best.operations) > 1:
        first = max(0, last - size)
        changed = search.consider(search.best.without(first, last)) or changed
        last = min(first, len(search.best.operations))
    return changed


def delete_pairs(search: Search) -> None:
    """Deletes any two operations of a short case."""
    if len(search.best.operations) > _PAIRS:
        return
    while any(search.consider(candidate) for candidate in without_pairs(search.best)):
        pass


def without_pairs(case: Case) -> list[Case]:
    """`case` without two operations that are no neighbours (`delete_runs` has tried those)."""
    count = len(case.operations)
    return [
        case.keeping([number not in (first, last) for number in range(count)])
        for first, last in combinations(range(count), 2)
        if last - first > 1 and count > 2
    ]
