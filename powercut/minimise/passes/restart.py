"""Begins again in a smaller table with other keys, where the search has ended above a handful of operations.

Taking operations away one at a time ends at the first case from which none can be missed. Which case this is depends on
where the hash functions put the keys that happened to be there. The finding's own workload is therefore tried in
smaller tables with its keys shifted by a few distances. Where the bug shows, the workload up to the crash is cut down
on a branch of the search. The most promising starts are taken: those that crash earliest.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, islice

from powercut.minimise.case import Case
from powercut.minimise.order import FEW
from powercut.minimise.passes.configure import smaller_values
from powercut.minimise.passes.delete import delete_pairs, delete_runs
from powercut.minimise.passes.phases import MOST_EXPLORED, joined
from powercut.minimise.passes.truncate import truncate
from powercut.minimise.search import Search

_SHIFTS = (0, 100, 200, 300)
#: Tried for every option that is a number, beside what the target names.
_LEAST = ("1", "2")
#: Configurations that are tried.
_TABLES = 20
#: Starts that are cut down.
_BRANCHES = 5


def restart(search: Search, start: Case, options: Mapping[str, Sequence[str]]) -> None:
    """`start`: the finding's own workload; `options` as in `shrink_options`."""
    if len(search.best.operations) <= FEW:
        return
    starts: list[Case] = []
    for form in _forms(start):
        for configured in islice(_configured(form, search.best, options), _TABLES):
            for shift in _SHIFTS:
                found = search.repaired(_shifted(configured, shift))
                if found is not None:
                    starts.append(found)
    for case in sorted(starts, key=lambda case: _crash(search, case))[:_BRANCHES]:
        branch = search.branch(case)
        truncate(branch)
        delete_runs(branch)
        delete_pairs(branch)
        search.consider(branch.best)
        if len(search.best.operations) <= FEW:
            return


def _crash(search: Search, case: Case) -> int:
    """The operation that the crash of a case is in."""
    finding = search.examine(case).finding
    return (finding.operation.index or 0) if finding else 0


def _forms(start: Case) -> list[Case]:
    """One explored workload; with deliberate cuts or threads, the phases as they are."""
    if start.race or any(phase.cut_at for phase in start.phases):
        return [start]
    return [joined(start)] if len(start.operations) <= MOST_EXPLORED else []


def _configured(start: Case, best: Case, options: Mapping[str, Sequence[str]]) -> Iterator[Case]:
    """`start` in smaller tables: one or two options at a least number or one that the target names, the others as in
    `best`."""
    base = replace(start, options=best.options, key_size=best.key_size, value_size=best.value_size)
    lower = {
        name: [number for number in smaller_values(base.option(name), values) if number in {*values, *_LEAST}]
        for name, values in options.items()
    }
    yield base
    for name, numbers in lower.items():
        yield from (base.with_option(name, number) for number in numbers)
    for first, second in combinations(lower, 2):
        for number in lower[first]:
            yield from (base.with_option(first, number).with_option(second, other) for other in lower[second])


def _shifted(case: Case, distance: int) -> Case:
    """Returns the case with every numbered key `distance` higher."""
    return case.mapped(
        [replace(item, key=item.key + distance) if isinstance(item.key, int) else item for item in case.operations]
    )
