"""Takes away what comes after the crash, and as many of the last operations as can be.

The finding names the operation that was cut. Its index counts `format` and `open` too, and after a deliberate cut what
the engine asked itself, so a few places are tried.
"""

from powercut.minimise.search import Search

#: `format`, `open`, and the operation itself; after a deliberate cut also `open` and a lookup.
_BEFORE = 2
_AFTER_CUT = 2


def truncate(search: Search) -> None:
    """Ends the workload with the operation that the crash is in, or before it. Threads come to it in any order."""
    if search.best.race:
        _halve(search)
        return
    finding = search.best_seen.finding
    index = (finding.operation.index or 0) if finding else 0
    cuts = sum(phase.cut_at is not None for phase in search.best.phases)
    for extra in range(_AFTER_CUT * cuts, -1, -1):
        length = max(1, index - _BEFORE + 1 - extra)
        if length < len(search.best.operations) and search.consider(
            search.best.without(length, len(search.best.operations))
        ):
            break
    _halve(search)


def _halve(search: Search) -> None:
    """Fewer and fewer of the last operations: a half, a quarter, … one."""
    size = len(search.best.operations) // 2
    while size >= 1:
        count = len(search.best.operations)
        if size >= count or not search.consider(search.best.without(count - size, count)):
            size //= 2
