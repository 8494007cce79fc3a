"""Fewer phases: one explored workload where that shows the bug, without deliberate cuts.

An unexplored warm-up spares time in a long scenario. In a short one it only hides crash points, among them earlier
crash points that show the bug. Joining the phases pays twice: operations after that crash point can go.
"""

from dataclasses import replace

from powercut.minimise.case import Case, Phase
from powercut.minimise.search import Search

#: Operations up to which a whole workload is explored for one candidate.
MOST_EXPLORED = 300


def join_phases(search: Search) -> None:
    """One explored phase; else fewer cuts; else fewer phases, each explored where it can be."""
    if len(search.best.operations) <= MOST_EXPLORED:
        search.consider(joined(search.best))
    for number in range(len(search.best.phases)):
        if number < len(search.best.phases) and search.best.phases[number].cut_at is not None:
            search.consider(_changed(search.best, number, cut_at=None))
    # Phases before threads are left unexplored: a trace of schedules is long enough.
    if len(search.best.operations) <= MOST_EXPLORED and not search.best.race:
        for number in range(len(search.best.phases)):
            if not search.best.phases[number].explore:
                search.consider(_changed(search.best, number, explore=True))
    number = 0
    while number + 1 < len(search.best.phases):
        if not any(search.consider(case) for case in _merged(search.best, number)):
            number += 1


def joined(case: Case) -> Case:
    """All operations in one explored phase, without cuts or threads. It has the name of the last that is explored."""
    name = next((phase.name for phase in reversed(case.phases) if phase.explore), case.phases[-1].name)
    return replace(case, phases=(Phase(name=name, explore=True, cut_at=None, operations=case.operations),))


def _changed(case: Case, number: int, *, cut_at: str | None = None, explore: bool | None = None) -> Case:
    phase = case.phases[number]
    changed = replace(phase, cut_at=cut_at if explore is None else phase.cut_at, explore=explore or phase.explore)
    return replace(case, phases=(*case.phases[:number], changed, *case.phases[number + 1 :]))


def _merged(case: Case, number: int) -> list[Case]:
    """Phases `number` and the next as one, with the traits of either, unless both are cut or one has threads."""
    first, second = case.phases[number : number + 2]
    if first.threads or second.threads or (first.cut_at is not None and second.cut_at is not None):
        return []
    cut_at = first.cut_at or second.cut_at
    return [
        replace(
            case,
            phases=(
                *case.phases[:number],
                Phase(
                    name=(second if second.explore else first).name,
                    explore=explore,
                    cut_at=cut_at,
                    operations=first.operations + second.operations,
                ),
                *case.phases[number + 2 :],
            ),
        )
        for explore in sorted({first.explore, second.explore})
    ]
