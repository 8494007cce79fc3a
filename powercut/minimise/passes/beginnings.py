"""Another, shorter way to begin, where the search has ended above a handful of operations.

The operations before the crash have one purpose: a state of the table. Taking operations away finds only those short
ways that are contained in the long one. A few operations are therefore tried in its place:

- every sequence of up to four, each the insert of a fresh key or a command of the target's maintenance, and, of up to
  three, in a case that erases, the erase of the first key. With `insert(1) maintain(expand) maintain(rehash)
  maintain(expand)`, for example, an item comes into the last level of clevel, as it does when four others leave no
  other place for it;
- up to four inserts of drawn keys, in the table as it is and in the smallest that the target names. Two keys fill a
  bucket of two slots if they meet there, and which do only the hash functions know.

Known limit: no updates, no threads, and four operations at most. Not all keys are tried; the same input gives the same
draws.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from powercut.minimise.case import Case, Key, Operation
from powercut.minimise.order import FEW, is_number
from powercut.minimise.search import Search

#: Operations of the longest beginning, and of the longest with an erase.
_MOST, _MOST_WITH_ERASE = 4, 3
#: The first of the fresh keys: where they come to lie is up to the hash functions.
_FIRST_KEYS = (1, 101)
#: Keys are drawn from 1 to this, and so often for each table and number of inserts.
_KEYS, _DRAWS = 48, 80


def beginnings(search: Search, options: Mapping[str, Sequence[str]], commands: Sequence[str]) -> None:
    """`options` and `commands`: the target's options, and the commands of its `maintain`."""
    if search.best.race:
        return  # what threads find is not what comes before one operation
    if len(search.best.operations) > FEW:
        any(search.consider(candidate) for candidate in _with_commands(search.best, commands))
    if len(search.best.operations) > FEW:
        any(search.consider(candidate) for candidate in _with_drawn_keys(search.best, options))


def _with_commands(case: Case, commands: Sequence[str]) -> Iterator[Case]:
    """The shortest first: the first that shows the bug is the best of them."""
    begun, end = _end(case)
    forms = [end, *_with_a_default(end)]
    erases = any(item.kind == "erase" for item in case.operations)
    for length in range(1, min(_MOST, begun - 1) + 1):
        kinds = ("insert", *commands, *(["erase"] if erases and length <= _MOST_WITH_ERASE else []))
        for chosen in product(kinds, repeat=length):
            if not set(chosen).isdisjoint(commands):
                for first in _FIRST_KEYS[: None if "insert" in chosen else 1]:
                    yield from (_beginning_with(form, _operations(chosen, first), first) for form in forms)


def _with_drawn_keys(case: Case, options: Mapping[str, Sequence[str]]) -> Iterator[Case]:
    """The shortest first."""
    begun, end = _end(case)
    draw = random.Random(len(case.operations))
    for length in range(1, min(_MOST, begun - 1) + 1):
        for form in dict.fromkeys((_in_the_least_table(end, options), end)):
            for _ in range(_DRAWS):
                keys = draw.sample(range(1, _KEYS + 1), length + len(form.operations))
                begin = [Operation(kind="insert", key=key) for key in keys[:length]]
                yield _beginning_with(form, begin, draw.choice(keys[:length]), keys[length:])


def _end(case: Case) -> tuple[int, Case]:
    """The last operation, or the cut operation and those after it; and the number of operations before."""
    cuts = [number for number, phase in enumerate(case.phases) if phase.cut_at is not None]
    at = cuts[0] if cuts else len(case.phases) - 1
    # A phase goes on after a cut. If the cut is in the last phase, the operations behind it are in that phase as well.
    kept = 2 if cuts and at == len(case.phases) - 1 else 1
    phases = (replace(case.phases[at], operations=case.phases[at].operations[-kept:]), *case.phases[at + 1 :])
    end = replace(case, phases=phases)
    return len(case.operations) - len(end.operations), end


def _with_a_default(case: Case) -> list[Case]:
    """Returns the case with one setting left to its default: other operations may make up for the change."""
    return [case.with_option(name, None) for name, _ in case.options]


def _in_the_least_table(case: Case, options: Mapping[str, Sequence[str]]) -> Case:
    """Returns the case with every setting that is a number at the smallest that the target names."""
    for name, values in options.items():
        numbers = [int(value) for value in values if is_number(value)]
        if numbers:
            case = case.with_option(name, str(min(numbers)))
    return case


def _operations(kinds: Sequence[str], first: int) -> list[Operation]:
    """Inserts of the keys `first`, `first` + 1, …, erases of `first`, and commands."""
    fresh = iter(range(first, first + len(kinds)))
    made = {
        "insert": lambda: Operation(kind="insert", key=next(fresh)),
        "erase": lambda: Operation(kind="erase", key=first),
    }
    return [made[kind]() if kind in made else Operation(kind="maintain", text=kind) for kind in kinds]


def _beginning_with(end: Case, begin: Sequence[Operation], there: int, fresh: Sequence[int] = ()) -> Case:
    """`end` after other operations.

    A key that is inserted in `end` becomes one of `fresh`, or one above those of `begin`; any other becomes `there`.
    """
    left = iter(fresh or range(there + len(begin), there + len(begin) + len(end.operations)))
    names: dict[Key, Key] = {}
    for item in end.operations:
        if item.key is not None and item.key not in names:
            names[item.key] = next(left) if item.kind == "insert" else there
    renamed = end.mapped([item if item.key is None else replace(item, key=names[item.key]) for item in end.operations])
    head = renamed.phases[0]
    return replace(renamed, phases=(replace(head, operations=(*begin, *head.operations)), *renamed.phases[1:]))
