"""The cores that this process may use, and work that is shared out to them."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """How many there are."""
    return len(os.sched_getaffinity(0))


def joined(act: Callable[[Item], Iterable[Result]], items: Iterable[Item]) -> list[Result]:
    """Calls `act` for each item, one item a core at a time, and returns the results in the order of the items. Meant
    for work that waits for processes."""
    with ThreadPoolExecutor(cores()) as pool:
        return [result for results in pool.map(lambda item: list(act(item)), items) for result in results]
