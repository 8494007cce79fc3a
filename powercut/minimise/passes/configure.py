"""A smaller table: it needs fewer operations to fill, and there is less of it to read.

Each option of the target is set to smaller numbers, or left to its default. Words other than the default are tried as
well, since one of them may save operations (`balance = "off"`). Operations that the smaller table refuses (it is full
earlier) are left out of the workload. A setting that is no improvement by itself can be the way to one. Operations are
therefore taken away under the setting before it is given up.
"""

from collections.abc import Iterator, Mapping, Sequence

from powercut.minimise.case import Case, runnable
from powercut.minimise.order import is_number
from powercut.minimise.passes.phases import MOST_EXPLORED, joined
from powercut.minimise.search import Search

#: A case this short is tried with every setting and without every single operation.
_SHORT = 24


def shrink_options(search: Search, options: Mapping[str, Sequence[str]]) -> None:
    """`options`: the values of each option, its default first (`powercut.scenarios.plan.option_values`)."""
    for name, values in options.items():
        for value in _simpler(search.best.option(name), values):
            changed = search.best.with_option(name, value)
            if changed == search.best:
                continue
            if value is not None and is_number(value) and _changes_nothing(search, changed):
                break
            _try(search, changed)


def _simpler(now: str | None, values: Sequence[str]) -> Iterator[str | None]:
    """Returns values to try instead of `now`, the simplest first."""
    yield None
    if values and not is_number(values[0]):
        yield from (value for value in values[1:] if value.isidentifier())
    yield from smaller_values(now, values)


def smaller_values(now: str | None, values: Sequence[str]) -> Iterator[str]:
    """Numbers below `now` (None: the default): those that the target names, and halves; the smallest first."""
    current = values[0] if now is None and values else now or ""
    if not is_number(current):
        return
    number = int(current)
    halves = {number >> shift for shift in range(1, number.bit_length() + 1)}
    named = {int(value) for value in values if is_number(value)}
    yield from (str(smaller) for smaller in sorted(halves | named) if smaller < number)


def _changes_nothing(search: Search, changed: Case) -> bool:
    """Whether one more setting leaves the trace as it is: a limit that is never reached. A larger one is not either."""
    if len(changed.options) <= len(search.best.options):
        return False
    return search.examine(runnable(changed)).events == search.best_seen.events


def _try(search: Search, changed: Case) -> None:
    """Considers a case of another configuration: as it is, without what is refused, and without single operations."""
    forms = [changed]
    if len(changed.phases) > 1 and len(changed.operations) <= MOST_EXPLORED:
        forms.append(joined(changed))
    for form in forms:
        repaired = search.repaired(form)
        if repaired is None:
            continue
        if search.consider(repaired):
            return
        if _delete_under(search, repaired):
            return


def _delete_under(search: Search, case: Case) -> bool:
    """Whether `case` becomes the best one when one of its operations is left out."""
    count = len(case.operations)
    if not 1 < count <= _SHORT:
        return False
    return any(search.consider(case.without(number, number + 1)) for number in range(count - 1, -1, -1))
