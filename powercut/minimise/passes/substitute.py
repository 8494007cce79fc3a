"""One command of the target's maintenance in the place of a run of operations.

A table that grows when it is full can mostly be told to grow: `maintain(expand)` stands for the inserts that fill it.
"""

from collections.abc import Iterator, Sequence

from powercut.minimise.case import Case, Operation
from powercut.minimise.order import FEW
from powercut.minimise.search import Search

#: A case of more operations is left alone: too many runs.
MANY = 32


def substitute(search: Search, commands: Sequence[str]) -> None:
    """`commands`: what `maintain` of the target takes."""
    while FEW < len(search.best.operations) <= MANY:
        if not any(search.consider(candidate) for candidate in _candidates(search.best, commands)):
            return


def _candidates(case: Case, commands: Sequence[str]) -> Iterator[Case]:
    """Every run replaced, the longest first: halves, quarters, … of the case, then two operations."""
    size = len(case.operations) - 1
    while size >= 2:
        for first in range(len(case.operations) - size + 1):
            for command in commands:
                yield _replaced(case, first, first + size, Operation(kind="maintain", text=command))
        size = 2 if 2 < size < 4 else size // 2


def _replaced(case: Case, first: int, last: int, operation: Operation) -> Case:
    """`operation` for those number `first` to `last` - 1, in the phase of the first."""
    operations = [operation if number == first else item for number, item in enumerate(case.operations)]
    return case.mapped(operations).without(first + 1, last)
