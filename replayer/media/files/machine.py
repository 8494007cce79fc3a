"""A disk with a journal as a machine: it writes back and commits when it likes, and a sync waits until it has.

The machine is an opponent of `trees.py` for file systems in one order. The conditions of `trees.py` on the journal's
length are no rules of the machine: they follow, if the argument of PROFILES.md is right. Machine and reference share
the versions of `disk.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from .calls import Call, split_all
from .disk import Disk
from .objects import Inode, Version
from .trees import Chosen, Content, Shown, Tree, cut, entries_of, reachable, tree_of

Place = tuple[int, int]  # inode and sector


@dataclass(frozen=True, slots=True)
class OnDisk:
    """Committed operations, and for each size and sector the number of the version that the disk has."""

    committed: int
    sizes: tuple[tuple[int, int], ...]
    sectors: tuple[tuple[Place, int], ...]


class Machine:
    """Every state that the disk may be in after some calls."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self.states = {OnDisk(0, (), ())}

    def apply(self, effect: Call) -> None:
        """The kernel makes the call in its cache; the disk then does what it likes, as long as it likes."""
        self.disk.apply(effect)
        self.states = self._anything_later(self.states)
        if effect.op in ("sync", "sync-all"):
            self.states = {state for state in self.states if self._has_what_was_synced(state)}

    def _anything_later(self, states: set[OnDisk]) -> set[OnDisk]:
        found, new = set(states), set(states)
        while new:
            new = {later for state in new for later in (*self._written_back(state), *self._commits(state))} - found
            found |= new
        return found

    def _written_back(self, state: OnDisk) -> Iterator[OnDisk]:
        """One sector reaches the disk as the cache has it. New blocks of a file are found once their operation is
        committed."""
        had = dict(state.sectors)
        for number, inode in self._files():
            for sector, versions in inode.sectors.items():
                at = had.get((number, sector), 0)
                for newest in in_cache(versions):
                    between = versions[at + 1 : newest + 1]
                    if between and not any(each.bound and each.at > state.committed for each in between):
                        sectors = had | {(number, sector): newest}
                        yield OnDisk(state.committed, state.sizes, tuple(sorted(sectors.items())))

    def _commits(self, state: OnDisk) -> Iterator[OnDisk]:
        """All operations until now are committed, with any size that a write brought and whose data are there."""
        now = len(self.disk.operations)
        sizes, sectors = dict(state.sizes), dict(state.sectors)
        for number, inode in self._files():
            sizes[number] = max(sizes.get(number, 0), *bound(inode.sizes, now))
            for sector, versions in inode.sectors.items():
                sectors[number, sector] = max(sectors.get((number, sector), 0), *bound(versions, now))
        for operation in self.disk.operations[state.committed :]:
            if operation.replacement and self.disk.switches.replace == "size":
                replaced = operation.replacement
                sizes[replaced.inode] = max(sizes[replaced.inode], replaced.size)
        choices = []
        for number, inode in self._files():
            late = [at for at in in_cache(inode.sizes) if at > sizes[number]]
            choices.append(
                [(number, at) for at in (sizes[number], *late) if self._has_data(number, inode, at, sectors)]
            )
        for picked in product(*choices):
            yield OnDisk(now, tuple(sorted(picked)), tuple(sorted(sectors.items())))

    def _has_data(self, number: int, inode: Inode, size: int, sectors: dict[Place, int]) -> bool:
        return all(sectors.get((number, sector), 0) >= least for sector, least in inode.sizes[size].needs)

    def _has_what_was_synced(self, state: OnDisk) -> bool:
        sizes, sectors = dict(state.sizes), dict(state.sectors)
        return state.committed >= self.disk.prefix and all(
            sizes.get(number, 0) >= inode.size_floor
            and all(sectors.get((number, sector), 0) >= floor for sector, floor in inode.sector_floors.items())
            for number, inode in self._files()
        )

    def _files(self) -> Iterator[tuple[int, Inode]]:
        return ((number, inode) for number, inode in self.disk.inodes.items() if inode.kind == "file")

    def trees(self) -> frozenset[Tree]:
        return frozenset(self._tree(state) for state in self.states)

    def _tree(self, state: OnDisk) -> Tree:
        sizes, sectors = dict(state.sizes), dict(state.sectors)
        steps = {
            (number, place)
            for number, operation in enumerate(self.disk.operations[: state.committed])
            for place in range(len(operation.steps))
        }
        entries = entries_of(self.disk, Chosen(frozenset(steps), state.committed))
        shown: dict[int, Shown] = {}
        for number in reachable(self.disk, entries):
            inode = self.disk.inodes[number]
            content: Content = ()
            if inode.kind == "file":
                size = inode.sizes[sizes.get(number, 0)].value
                assert isinstance(size, int)
                have = {sector: sectors.get((number, sector), 0) for sector in inode.sectors}
                content = cut(self.disk, inode, have, size)
            shown[number] = (inode.kind, inode.target, content)
        return tree_of(entries, shown)


def in_cache(versions: list[Version]) -> list[int]:
    """The numbers of the versions that the disk may get now: the newest one, those that its write call passed through,
    and a new block before its data."""
    last = len(versions) - 1
    same = [at for at, each in enumerate(versions) if each.call and each.call == versions[last].call]
    fresh = [at - 1 for at in same if at and versions[at - 1].value is None]
    return sorted({last, *same, *fresh})


def bound(versions: list[Version], committed: int) -> Iterable[int]:
    """The numbers of the versions that committed operations bring; 0 is always there."""
    return [0, *(at for at, each in enumerate(versions) if each.bound and each.at <= committed)]


def machine_after(disk: Disk, calls: Iterable[Call]) -> Machine:
    machine = Machine(disk)
    for effect in split_all(calls):
        machine.apply(effect)
    return machine
