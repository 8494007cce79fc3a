"""Fewer threads: each of them left out, their operations one after the other, or two threads as one.

A bug that one thread shows by itself needs none beside it. Where it takes two, the others only add schedules. Single
operations of threads and of the set-up before them are taken away as everywhere (`delete.py`).
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from powercut.minimise.case import Case
from powercut.minimise.passes.phases import joined
from powercut.minimise.search import Search


def drop_threads(search: Search) -> None:
    """Leaves threads out as long as the bug shows."""
    while search.best.race and any(search.consider(candidate) for candidate in _fewer(search.best)):
        pass


def _fewer(case: Case) -> Iterator[Case]:
    """With each thread left out, the last first; with one thread for all; with one for two."""
    race = case.race
    assert race is not None
    at = case.phases.index(race)
    first = sum(len(phase.operations) for phase in case.phases[:at])
    bounds = [(first + sum(race.threads[:number]), count) for number, count in enumerate(race.threads)]
    for begin, count in reversed(bounds):
        yield case.without(begin, begin + count)
    yield joined(case)
    for one, other in combinations(range(len(race.threads)), 2):
        if len(race.threads) == 2:
            break  # that is all in one
        programs = [[*program] for program in race.programs]
        programs[one] += programs.pop(other)
        merged = replace(
            race,
            operations=tuple(operation for program in programs for operation in program),
            threads=tuple(len(program) for program in programs),
        )
        yield replace(case, phases=(*case.phases[:at], merged, *case.phases[at + 1 :]))
