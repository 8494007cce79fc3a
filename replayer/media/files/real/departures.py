"""What a real file system does, every profile excludes, and no switch can say.

A departure explains trees that lie outside of the profile. It is as narrow as what was seen: a tree that it does not
explain fails the run. A new value of a switch should take its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from powercut.models.switches import Switches
from replayer.media.files import language
from replayer.media.files.calls import Call, split_all
from replayer.media.files.disk import Disk
from replayer.media.files.trees import legal_trees

Trees = list[frozenset[str]]  # at each instant: before the first effect of a call, and behind each
Apply = Callable[[Disk, Call, int], None]  # an effect, with its number


def trees_at_instants(
    start: Sequence[Call],
    calls: Sequence[Call],
    page: int,
    switches: Switches,
    apply: Apply = lambda disk, effect, _: disk.apply(effect),
) -> Trees:
    """The reference's trees. `apply` takes the place of what an effect does."""
    disk = Disk(switches, sector=language.SECTOR, page=page)
    for call in start:
        disk.apply(call)
    found = [frozenset(map(language.text_of, legal_trees(disk)))]
    for number, effect in enumerate(split_all(calls)):
        apply(disk, effect, number)
        found.append(frozenset(map(language.text_of, legal_trees(disk))))
    return found


@dataclass(frozen=True, slots=True)
class Departure:
    text: str
    #: Other ways in which the effects of a program may take effect.
    ways: Callable[[Sequence[Call]], Iterator[Apply]]

    def trees(self, start: Sequence[Call], calls: Sequence[Call], page: int, switches: Switches) -> Trees:
        every = [trees_at_instants(start, calls, page, switches, way) for way in self.ways(split_all(calls))]
        return [frozenset[str]().union(*trees) for trees in zip(*every, strict=True)]


def _sync_without_flush(effects: Sequence[Call]) -> Iterator[Apply]:
    """sync(2) makes names and sizes durable, and no data."""

    def apply(disk: Disk, effect: Call, _: int) -> None:
        floors = {number: dict(inode.sector_floors) for number, inode in disk.inodes.items()}
        disk.apply(effect)
        if effect.op == "sync-all":
            for number, inode in disk.inodes.items():
                inode.sector_floors = floors[number]

    yield apply


def _names_that_overtake(effects: Sequence[Call]) -> Iterator[Apply]:
    """A new name of a file that was synced before is made durable by itself: any of these names, or none."""
    names = [number for number, effect in enumerate(effects) if effect.op in ("link", "rename")]
    for chosen in (set(some) for size in range(len(names) + 1) for some in combinations(names, size)):
        synced: set[int] = set()

        def apply(disk: Disk, effect: Call, number: int, chosen: set[int] = chosen, synced: set[int] = synced) -> None:
            moved = effect.inode or disk.names.get((effect.folder, effect.name), 0)
            disk.apply(effect)
            if effect.op == "sync":
                synced.add(effect.inode)
            elif number in chosen and moved in synced:
                disk.apply(Call("sync", moved))

        yield apply


XFS_SYNC = Departure(
    "`sync` and `syncfs` write data back, and flush the disk's cache together with the log alone. The log is empty "
    "where something else has forced it since the overwrite, such as another process's `fsync`. Then nothing is "
    "flushed, and overwritten data may be lost though `sync` has returned.",
    _sync_without_flush,
)
BTRFS_NAMES = Departure(
    "A file that was synced, and then gets a new name by `rename` or `link`, has the new name in the log of syncs. A "
    "sync of any other file writes this log, so the new name may be on disk without the operations before it.",
    _names_that_overtake,
)
