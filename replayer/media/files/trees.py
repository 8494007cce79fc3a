"""Every legal tree of a disk, by enumeration: choices of operations, then of contents, then what a reader of it sees.

The page PROFILES.md states the model; the sections named here are its sections.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product

from .calls import ROOT
from .disk import Disk
from .objects import Inode, Replacement

Content = tuple[bytes | int, ...]  # a number: so many bytes of another file's old data
Shown = tuple[str, str, Content]  # kind, target of a link, content of a file
#: Paths in order, each with what a reader finds there. Two names of one inode look like two equal files.
Tree = tuple[tuple[str, Shown], ...]
Entries = dict[tuple[int, str], int]

BAD: Shown = ("bad", "", ())
FOLDER: Shown = ("folder", "", ())


@dataclass(frozen=True, slots=True)
class Chosen:
    """The operations that are on disk."""

    steps: frozenset[tuple[int, int]]
    prefix: int | None  # the length of the journal; None: there is none


def legal_trees(disk: Disk) -> frozenset[Tree]:
    """The union over all choices of operations of the product over the inodes that a name leads to."""
    found: set[Tree] = set()
    for chosen in choices(disk):
        entries = entries_of(disk, chosen)
        inodes = sorted(reachable(disk, entries))
        every = [states(disk, number, chosen) for number in inodes]
        for picked in product(*every):
            found.add(tree_of(entries, dict(zip(inodes, picked, strict=True))))
    return frozenset(found)


def choices(disk: Disk) -> Iterator[Chosen]:
    """ "Operations": any set that has the durable steps, or each prefix beside them."""
    steps = [(number, place) for number, each in enumerate(disk.operations) for place in range(len(each.steps))]
    if disk.switches.order == "any":
        groups = sorted({group_of(disk, step) for step in steps if step not in disk.durable})
        for size in range(len(groups) + 1):
            for some in combinations(groups, size):
                chosen = Chosen(frozenset(disk.durable | {step for group in some for step in group}), None)
                if keeps_new_first(disk, chosen):
                    yield chosen
    else:
        for prefix in range(disk.prefix, len(disk.operations) + 1):
            for more in unions(disk.overtaking):
                yield Chosen(frozenset(disk.durable | more | {step for step in steps if step[0] < prefix}), prefix)


def unions(sets: list[frozenset[tuple[int, int]]]) -> set[frozenset[tuple[int, int]]]:
    """The unions of some of the sets, and the empty set."""
    found = {frozenset[tuple[int, int]]()}
    for each in sets:
        found |= {each | other for other in found}
    return found


def group_of(disk: Disk, step: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """The steps that reach the disk together with this one."""
    if disk.switches.rename != "atomic":
        return (step,)
    return tuple((step[0], place) for place in range(len(disk.operations[step[0]].steps)))


def keeps_new_first(disk: Disk, chosen: Chosen) -> bool:
    """Under `new-first`, whether no old name is gone without the new one, and each exchange is whole."""
    return disk.switches.rename != "new-first" or all(
        (number, place) in chosen.steps
        for number, at in chosen.steps
        if disk.needs_first(number, at)
        for place in range(len(disk.operations[number].steps))
    )


def entries_of(disk: Disk, chosen: Chosen) -> Entries:
    entries = dict(disk.start)
    for number, operation in enumerate(disk.operations):
        for place, step in enumerate(operation.steps):
            if (number, place) in chosen.steps:
                entries[step.folder, step.name] = step.leads_to
    return {name: inode for name, inode in entries.items() if inode}


def reachable(disk: Disk, entries: Entries) -> set[int]:
    found, new = set(), {ROOT}
    while new:
        found |= new
        new = {inode for (folder, _), inode in entries.items() if folder in found} - found
    return found


# -- contents of an inode ----------------------------------------------------------------------------------


def states(disk: Disk, number: int, chosen: Chosen) -> list[Shown]:
    """Everything that a name of the inode may lead to, with these operations on disk."""
    inode = disk.inodes[number]
    whole = [*contents(disk, number, chosen)] if inode.kind == "file" else [()]
    found: list[Shown] = [(inode.kind, inode.target, content) for content in whole]
    return [*found, BAD] if disk.switches.new_inode == "apart" and not inode.there else found


def contents(disk: Disk, number: int, chosen: Chosen) -> set[Content]:
    """ "Versions" and "Sizes": each size with each choice of sectors that has what the size needs."""
    inode = disk.inodes[number]
    found = set()
    for sectors in sector_choices(disk, inode, number, chosen):
        for version in legal_sizes(disk, inode, number, chosen):
            size = inode.sizes[version]
            if all(sectors.get(sector, 0) >= least for sector, least in size.needs):
                assert isinstance(size.value, int)
                found.add(cut(disk, inode, sectors, size.value))
    return found


def legal_sizes(disk: Disk, inode: Inode, number: int, chosen: Chosen) -> list[int]:
    """The numbers of the versions of the size: from the newest floor on, as far as the journal reaches."""
    floors = [inode.size_floor]
    floors += [at for at, version in enumerate(inode.sizes) if is_on_disk(version.bound, version.at, chosen)]
    if disk.switches.replace in ("size", "data"):
        floors += [each.size for each in replacements(disk, number, chosen)]
    floor = max(floors)
    later = range(floor + 1, len(inode.sizes))
    return [floor, *(at for at in later if chosen.prefix is None or inode.sizes[at].at <= chosen.prefix)]


def legal_versions(disk: Disk, inode: Inode, number: int, sector: int, chosen: Chosen) -> list[int]:
    """The numbers of the versions of a sector: from the newest floor on, before the first operation that is not on
    disk."""
    versions = inode.sectors[sector]
    floors = [inode.sector_floors.get(sector, 0)]
    floors += [at for at, version in enumerate(versions) if is_on_disk(version.bound, version.at, chosen)]
    if disk.switches.replace == "data":
        floors += [each.sectors.get(sector, 0) for each in replacements(disk, number, chosen)]
    legal = [max(floors)]
    for at in range(legal[0] + 1, len(versions)):
        if versions[at].bound and chosen.prefix is not None:
            break
        legal.append(at)
    return legal


def is_on_disk(bound: bool, at: int, chosen: Chosen) -> bool:
    """Whether an operation is on disk that brings this version. Without a journal no operation brings any."""
    return bound and chosen.prefix is not None and at <= chosen.prefix


def replacements(disk: Disk, number: int, chosen: Chosen) -> Iterator[Replacement]:
    """The renames of this file over another one whose new entry is on disk ("Replacing")."""
    for operation, each in enumerate(disk.operations):
        if each.replacement and each.replacement.inode == number and (operation, 0) in chosen.steps:
            yield each.replacement


def sector_choices(disk: Disk, inode: Inode, number: int, chosen: Chosen) -> Iterator[dict[int, int]]:
    """A version for each sector. Sectors are independent, or those of one write call are on disk together."""
    legal = {sector: legal_versions(disk, inode, number, sector, chosen) for sector in sorted(inode.sectors)}
    if disk.switches.overwrite == "sector":
        for picked in product(*legal.values()):
            yield dict(zip(legal, picked, strict=True))
        return
    parts = {sector: [part_of(inode, sector, at) for at in range(len(inode.sectors[sector]))] for sector in legal}
    sure = {part for sector, every in parts.items() for part in every[: legal[sector][0] + 1]}
    beyond = {part for sector, every in parts.items() for part in every[legal[sector][-1] + 1 :]}
    maybe = sorted({part for sector, every in parts.items() for part in every} - sure - beyond)
    for size in range(len(maybe) + 1):
        for some in combinations(maybe, size):
            on_disk = sure | set(some)
            yield {
                sector: max(at for at in versions if at == versions[0] or parts[sector][at] in on_disk)
                for sector, versions in legal.items()
            }


def part_of(inode: Inode, sector: int, at: int) -> tuple[int, int, int]:
    """The write call of a version; a version that no write call made is a part by itself."""
    call = inode.sectors[sector][at].call
    return (call, 0, 0) if call else (0, sector, at)


def cut(disk: Disk, inode: Inode, sectors: dict[int, int], size: int) -> Content:
    """The content that a reader finds below the size."""
    found: list[bytes | int] = []
    for begin in range(0, size, disk.sector):
        number = begin // disk.sector
        versions = inode.sectors.get(number)
        value = versions[sectors[number]].value if versions else bytes(disk.sector)
        assert not isinstance(value, int)
        found.append(min(disk.sector, size - begin) if value is None else value[: size - begin])
    return tuple(found)


# -- what a reader sees ------------------------------------------------------------------------------------


def tree_of(entries: Entries, shown: dict[int, Shown]) -> Tree:
    return tuple(sorted(walk(entries, shown, ROOT, "", (ROOT,))))


def walk(
    entries: Entries, shown: dict[int, Shown], folder: int, path: str, above: tuple[int, ...]
) -> Iterator[tuple[str, Shown]]:
    """All paths below a folder. A folder within itself is shown, and not walked again."""
    for (parent, name), inode in entries.items():
        if parent != folder:
            continue
        yield f"{path}{name}", shown[inode]
        if shown[inode] == FOLDER and inode not in above:
            yield from walk(entries, shown, inode, f"{path}{name}/", (*above, inode))
