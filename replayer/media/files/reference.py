"""The medium of files by brute force: the crash points of a recorded list of calls, and the legal trees at each.

`PROFILES.md` states the model and argues that these crash points suffice. `objects.py` has its objects, `disk.py`
what each call does, `trees.py` the legal trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from powercut.models.switches import Switches

from .calls import Call, split
from .disk import Disk
from .trees import Tree, legal_trees

TAKES_AWAY = ("sync", "sync-all")


@dataclass(frozen=True, slots=True)
class Floors:
    """All that is certainly durable. Sectors and sizes that are still as they were at the start are left out."""

    prefix: int  # operations of the journal
    entries: frozenset[tuple[int, str, int]]  # steps: folder, name, inode or 0
    inodes: frozenset[int]  # made by the recording, and on disk
    sizes: frozenset[tuple[int, int]]
    sectors: frozenset[tuple[int, int, bytes]]


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """One instant: before, during (a write is made, and not yet durable) or after the call `index`."""

    side: str
    index: int
    trees: frozenset[Tree]
    floors: Floors

    def to_json(self) -> dict[str, Any]:
        floors = {
            "prefix": self.floors.prefix,
            "entries": sorted(self.floors.entries),
            "inodes": sorted(self.floors.inodes),
            "sizes": sorted(self.floors.sizes),
            "sectors": sorted((inode, sector, _hex(value)) for inode, sector, value in self.floors.sectors),
        }
        trees = sorted(
            [[path, kind, target, [_hex(sector) for sector in content]] for path, (kind, target, content) in tree]
            for tree in self.trees
        )
        return {self.side: self.index, "states": str(len(self.trees)), "floors": floors, "trees": trees}


def _hex(content: bytes | int) -> str:
    return "?" * content if isinstance(content, int) else content.hex()


def floors_of(disk: Disk) -> Floors:
    prefix = disk.prefix if disk.switches.order != "any" else 0
    steps = {
        (step.folder, step.name, step.leads_to)
        for number, operation in enumerate(disk.operations)
        for place, step in enumerate(operation.steps)
        if (number, place) in disk.durable or number < prefix
    }
    sizes, sectors, inodes = set(), set(), set()
    for number, inode in disk.inodes.items():
        if inode.there and inode.is_new:
            inodes.add(number)
        if inode.size_floor:
            size = inode.sizes[inode.size_floor].value
            assert isinstance(size, int)
            sizes.add((number, size))
        for sector, floor in inode.sector_floors.items():
            value = inode.sectors[sector][floor].value
            assert isinstance(value, bytes)  # data are newer than the old data of their block
            if floor:
                sectors.add((number, sector, value))
    return Floors(prefix, frozenset(steps), frozenset(inodes), frozenset(sizes), frozenset(sectors))


def crash_points(
    calls: Sequence[Call], switches: Switches, *, sector: int = 4096, page: int = 4096
) -> Iterator[CrashPoint]:
    """Before every call that raises a floor, at every mark, and at the end ("Crash points")."""
    disk = Disk(switches, sector=sector, page=page)

    def point(side: str, index: int) -> CrashPoint:
        return CrashPoint(side, index, legal_trees(disk), floors_of(disk))

    changed = True  # since the last crash point
    for index, call in enumerate(calls):
        if call.op == "begin" and changed:
            yield point("before", index)
            changed = False
        for number, effect in enumerate(split(call)):
            if effect.op in TAKES_AWAY and _raises(disk, effect):
                yield point("during" if number else "before", index)
                changed = switches.order == "synced"  # there a sync may add trees
            disk.apply(effect)
            changed = changed or effect.op not in (*TAKES_AWAY, "begin", "end", "attributes")
        if call.op == "end" or index == len(calls) - 1:
            yield point("after", index)
            changed = False


def _raises(disk: Disk, sync: Call) -> bool:
    raised = deepcopy(disk)
    raised.apply(sync)
    return _numbers(raised) != _numbers(disk)


def _numbers(disk: Disk) -> list[Any]:
    """The floors as numbers of versions, which differ where two versions have one value."""
    prefix = disk.prefix if disk.switches.order != "any" else 0
    durable = {place for place in disk.durable if place[0] >= prefix}
    floors = [sorted(each for each in inode.sector_floors.items() if each[1]) for inode in disk.inodes.values()]
    return [prefix, durable, floors, [(inode.there, inode.size_floor) for inode in disk.inodes.values()]]


def trees_at_instants(
    effects: Sequence[Call], switches: Switches, *, sector: int, page: int
) -> Iterator[frozenset[Tree]]:
    """The legal trees before the first effect of a call, and behind each."""
    disk = Disk(switches, sector=sector, page=page)
    yield legal_trees(disk)
    for effect in effects:
        disk.apply(effect)
        yield legal_trees(disk)


def trees_after(calls: Sequence[Call], switches: Switches, *, sector: int = 4096, page: int = 4096) -> frozenset[Tree]:
    """The legal trees after some effects of calls."""
    disk = Disk(switches, sector=sector, page=page)
    for effect in calls:
        disk.apply(effect)
    return legal_trees(disk)


def answer(calls: Sequence[Call], switches: Switches, *, sector: int = 4096, page: int = 4096) -> dict[str, Any]:
    """The answer that an engine must give: each crash point with its trees, their number and the floors."""
    return {"crash_points": [point.to_json() for point in crash_points(calls, switches, sector=sector, page=page)]}
