"""The crash states that ALICE's explorer looks at, among those that a profile allows.

ALICE (OSDI 2014) tries three kinds of states, as `alicedefaultexplorer.py` of its published code has them: all calls up
to one; these without one earlier call; these with the last one split, of which a part is there. The selection here is
no narrower: any parts of a split call count, in pieces of a sector, and no state is left out after an inconsistent
prefix. The file system is that of the profile, and not ALICE's own model, which is nearest to `posix`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from powercut.models.switches import Switches
from replayer.media.files.trees import BAD, Chosen, Shown, Tree
from tests.files.brute_force import Judge, visible
from tests.files.engine_by_brute_force import Numbered, State, Watched


class Reachable(Watched):
    """A disk whose states tell the fates of calls that the tree can show: data of a file without a name have none."""

    def _fates(
        self, chosen: Chosen, versions: dict[int, tuple[Shown, dict[int, int], int]]
    ) -> Iterator[tuple[int, str]]:
        for number, parts in self.parts.items():
            there = [step in chosen.steps for step in parts.steps]
            for inode, sector, version in parts.sectors:
                if inode in versions:
                    there.append(versions[inode][1].get(sector, 0) >= version)
            for inode, version in parts.sizes:
                if inode in versions:
                    there.append(versions[inode][2] >= version)
            if there and not all(there):
                yield number, "partly" if any(there) else "lost"


def is_looked_at(state: State, last: int) -> bool:
    """Whether ALICE looks at a state of a `Reachable` disk, whose last call has this number."""
    missing = state.fates
    return not missing or (len(missing) == 1 and (missing[0][1] == "lost" or missing[0][0] == last))


@dataclass(frozen=True)
class Found:
    """Distinct trees at all instants together, each counted once an instant, and whether some of them is wrong."""

    trees: int
    looked_at: int
    #: Among those that are looked at.
    wrong: bool


def found(calls: Sequence[Numbered], switches: Switches, judge: Judge, *, dumps: bool) -> Found:
    """Judges the states that ALICE looks at, as `wrong_trees` judges all."""
    disk = Reachable(switches)
    after: list[tuple[int, tuple[str, ...]]] = []
    for numbered in calls:
        if dumps and (numbered.call.op == "end" or (numbered.call.op == "begin" and not after)):
            after.append(judge.answer(visible(disk.disk), "check dump"))
        disk.apply(numbered)
    if dumps:
        after.append(judge.answer(visible(disk.disk), "check dump"))
    disk, trees, looked_at, wrong = Reachable(switches), 0, 0, False
    for place, numbered in enumerate(calls):
        disk.apply(numbered)
        if numbered.number == 0 and not numbered.mark:
            continue
        done = calls[: place + 1]
        ended = sum(each.call.op == "end" for each in done)
        begun = sum(each.call.op == "begin" for each in done)
        states = [state for state in disk.states() if all(shown != BAD for _, shown in state.tree)]
        selected: set[Tree] = {state.tree for state in states if is_looked_at(state, numbered.number)}
        trees += len({state.tree for state in states})
        looked_at += len(selected)
        for tree in () if wrong else selected:
            status, lines = judge.answer(tree, "check dump" if dumps else "check")
            wrong = wrong or bool(status or (dumps and (status, lines) not in after[ended : begun + 1]))
    return Found(trees, looked_at, wrong)
