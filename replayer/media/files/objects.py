"""The objects of a folder on a disk: sectors and sizes with their versions, entries, inodes, operations.

The page PROFILES.md states the model; the sections named here are its sections. Nothing is ever forgotten: a version
or an operation keeps its number, and a floor is such a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Sector = bytes | None  # None: another file's old data


@dataclass(frozen=True, slots=True)
class Version:
    """One value of a sector or of a size ("Versions")."""

    value: Sector | int
    at: int  # how many operations were made before; an operation's own version counts the operation
    bound: bool = False  # belongs to an operation, and is on disk exactly when the operation is
    call: int = 0  # the write call that made it; 0: none
    needs: tuple[tuple[int, int], ...] = ()  # of a size: sectors, each with its earliest version on disk


@dataclass(slots=True)
class Inode:
    kind: str
    target: str = ""
    is_new: bool = False  # was made together with its first name, by the recording
    sizes: list[Version] = field(default_factory=lambda: [Version(0, 0)])
    sectors: dict[int, list[Version]] = field(default_factory=dict)
    written: set[int] = field(default_factory=set)  # sectors that have blocks with data
    allocated: set[int] = field(default_factory=set)  # sectors with blocks that read as zeroes

    # Operations that were made before the last change of the inode, and of its size or blocks ("Syncs").
    changed: int = 0
    resized: int = 0
    # Floors.
    there: bool = True
    synced: bool = False  # by a call on itself, since all operations were durable
    size_floor: int = 0
    sector_floors: dict[int, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        value = self.sizes[-1].value
        assert isinstance(value, int)
        return value


@dataclass(frozen=True, slots=True)
class Step:
    """One entry that an operation changes."""

    folder: int
    name: str
    leads_to: int  # 0: the name is gone
    concerns: int  # the inode that gains or loses this name


@dataclass(frozen=True, slots=True)
class Replacement:
    """A file that was renamed over another one, with its newest versions at that moment."""

    inode: int
    size: int
    sectors: dict[int, int]


@dataclass(frozen=True, slots=True)
class Operation:
    """A call that changes names, or a size in its place. Without steps it is a size."""

    steps: tuple[Step, ...] = ()
    replacement: Replacement | None = None
