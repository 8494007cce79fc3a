"""Simpler operations in the places of those that are left, one at a time."""

from dataclasses import replace

from powercut.minimise.case import Operation
from powercut.minimise.search import Search

_KINDS = ("lookup", "insert", "erase", "update")
#: Operations of a table of counters.
_COUNTING = ("lookup", "increment", "erase")


def simplify_operations(search: Search) -> None:
    """Replaces operations by simpler ones on the same key, the last first: an update needs the insert before it."""
    kinds = _COUNTING if any(item.kind == "increment" for item in search.best.operations) else _KINDS
    for number in range(len(search.best.operations) - 1, -1, -1):
        if number >= len(search.best.operations):
            continue
        now = search.best.operations[number]
        for kind in kinds:
            if now.key is None or (kind == now.kind and now.by == 1):
                break
            operations = list(search.best.operations)
            operations[number] = Operation(kind=kind, key=now.key)
            if search.consider(search.best.mapped(operations)):
                break


def lower_keys(search: Search) -> None:
    """Renames the keys: all of them to 1, 2, 3, … in order, then each to the smallest number that is free."""
    names = _keys(search)
    _rename(search, {key: number for number, key in enumerate(names, start=1)})
    for number in range(len(names)):
        names = _keys(search)
        if number >= len(names):
            return
        free = [key for key in range(1, MOST_KEYS + 1) if key not in names]
        now = names[number]
        for key in free:
            if isinstance(now, int) and key >= now:
                break
            if _rename(search, {now: key}):
                break


#: Keys that `lower_keys` tries for each key of a case.
MOST_KEYS = 10


def _keys(search: Search) -> list[int | str]:
    """The keys of the best case, in the order of their first operations."""
    return list(dict.fromkeys(item.key for item in search.best.operations if item.key is not None))


def _rename(search: Search, names: dict[int | str, int]) -> bool:
    operations = [
        item if item.key is None else replace(item, key=names.get(item.key, item.key))
        for item in search.best.operations
    ]
    return search.consider(search.best.mapped(operations))
