"""The one order of the minimiser: which of two cases is simpler.

1. fewer threads at the same time;
2. fewer operations, in all phases: warm-up has to be read as well;
3. fewer settings of the target that are words (`resize = "traditional"`): each is something to explain;
4. a shorter trace: this is how the size of a table and of its pool shows, since they are formatted by stores. A smaller
   number that changes nothing in the trace (a limit that is never reached) is no simplification;
5. fewer settings in all, then smaller numbers in them, then a smaller pool and shorter keys and values;
6. fewer phases, then simpler operations, then smaller keys.

Crash point and lost lines come last: they are chosen among what the last exploration shows (`choose.py`).
The order is strict: two cases that are equal in it are the same case but for names of phases.
"""

from typing import Any

from powercut.minimise.case import Case, Key, Operation
from powercut.scenarios.sizes import ends, is_range

#: Operations that a minimal case should not exceed. Expensive passes are spared cases that do not.
FEW = 5

Order = tuple[Any, ...]

_SIMPLER = {"lookup": 0, "insert": 1, "increment": 1, "erase": 2, "update": 3, "maintain": 4}
_NAMED = {"zeros": 2**32, "ones": 2**32 + 1}


def before_recording(case: Case) -> Order:
    """Returns the beginning of a case's `order`, which is known before the case is recorded."""
    threads = len(case.race.threads) if case.race else 0
    return (threads, len(case.operations), sum(not is_number(value) for _, value in case.options))


def order(case: Case, *, events: int) -> Order:
    """The place of a case among all; `events` is the length of its trace."""
    numbers = [float(value) for _, value in case.options if is_number(value)]
    return (
        *before_recording(case),
        events,
        len(case.options),
        sum(numbers),
        case.pool_size,
        ends(case.key_size)[1] + ends(case.value_size)[1],
        sum(map(is_range, (case.key_size, case.value_size))),
        len(case.phases),
        sum(not phase.explore for phase in case.phases),
        sum(phase.cut_at is not None for phase in case.phases),
        tuple(_SIMPLER[item.kind] for item in case.operations),
        tuple(_rank(item) for item in case.operations),
        case.options,
        ends(case.key_size),
        tuple(len(phase.operations) for phase in case.phases),
        tuple(phase.threads for phase in case.phases),
    )


def _rank(operation: Operation) -> tuple[int, str]:
    return (key_rank(operation.key), operation.text)


def key_rank(key: Key | None) -> int:
    """Numbers in their order, then the keys that have names; an operation without a key comes first."""
    if key is None:
        return 0
    return key if isinstance(key, int) else _NAMED[key]


def is_number(value: str) -> bool:
    """True for an option's value that can be made smaller."""
    return value.isascii() and value.isdigit()
