"""A survey tells what a recorded program made durable and what not, without a model of a file system.

A sync of a file covers its bytes, its size and its inode; a sync of a folder covers its names. File systems may do
more: their profiles say so.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from powercut.files.calls import (
    ALL_THROUGH,
    BY_MAPPING,
    CONTINUES,
    DATA_THROUGH,
    FILE,
    LINK,
    MS_SYNC,
    SECTOR,
    SYNC_MAPPING,
    SYNC_RANGE,
    TOLD,
    Call,
    Mark,
    Names,
)
from powercut.files.words import line_of

#: Names of one sentence.
_MOST_NAMED = 4


@dataclass
class _Pending:
    """The parts of an inode that no sync has covered, each with the number of the first call that changed it."""

    sectors: dict[int, int] = field(default_factory=dict)
    size: int | None = None
    itself: int | None = None

    def __bool__(self) -> bool:
        return bool(self.sectors) or self.size is not None or self.itself is not None


@dataclass
class _Stores:
    """Stores through a mapping by one place of the program, which the last line of the survey tells together."""

    first: Call
    head: str
    count: int
    begin: int
    end: int

    def takes(self, call: Call) -> bool:
        """Whether the call is one more of these stores."""
        if call.kind != "write" or not call.flags & BY_MAPPING or not call.stack:
            return False
        if (call.inode, call.thread, call.stack) != (self.first.inode, self.first.thread, self.first.stack):
            return False
        self.count += 1
        self.begin, self.end = min(self.begin, call.offset), max(self.end, call.offset + call.size)
        return True

    def line(self, names: Names) -> str:
        within = f"within {self.end - self.begin} bytes at {self.begin}"
        return f'{self.head}{self.count} stores through a mapping of "{names.path(self.first.inode)}", {within}'


@dataclass
class Survey:
    """The calls of a recording, as people read them, and what they left undone."""

    lines: list[str] = field(default_factory=list)
    #: The stack of each line: modules and offsets, innermost first.
    stacks: list[tuple[tuple[int, int], ...]] = field(default_factory=list)
    unsynced: list[str] = field(default_factory=list)
    #: Syncs that had nothing to make durable.
    idle_syncs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: Reasons for the verdict `unknown`.
    missed: list[str] = field(default_factory=list)
    #: How the program ended; empty if the recording does not say.
    ended: str = ""


class _Surveyor:
    def __init__(self) -> None:
        self.names = Names()
        self.survey = Survey()
        self.started = False
        self.number = 0
        self.sizes: dict[int, int] = {}
        self.pending: dict[int, _Pending] = {}
        #: Names that no sync of their folder has covered: the first call that made or took each, and whether the name
        #: was there before.
        self.entries: dict[tuple[int, bytes], tuple[int, bool]] = {}
        self.stores: _Stores | None = None

    def take(self, call: Call | Mark) -> None:
        if isinstance(call, Mark):
            self._show(f"{'':6}  t{call.thread}  {call.line()}", call)
        elif call.kind == "started":
            self.started = True
        elif call.kind == "note":
            text = call.data.decode("utf-8", "backslashreplace")
            (self.survey.notes if call.flags == TOLD else self.survey.missed).append(text)
        elif call.kind == "ended":
            self.survey.ended = f"killed by signal {call.size}" if call.flags else f"status {call.size}"
        elif not self.started:
            self.names.take(call)
            self._resize(call)
        else:
            self._of_program(call)

    def _show(self, line: str, call: Call | Mark) -> None:
        self.stores = None
        self.survey.lines.append(line)
        self.survey.stacks.append(call.stack)

    def _of_program(self, call: Call) -> None:
        if not (call.kind == "write" and call.flags & CONTINUES):
            self.number += 1
        line = line_of(call, self.names)
        head = f"{self.number:6}  t{call.thread}  "
        if self.stores is not None and self.stores.takes(call):
            self.survey.lines[-1] = self.stores.line(self.names)
        elif line is not None:
            self._show(head + line, call)
            if call.kind == "write" and call.flags & BY_MAPPING:
                self.stores = _Stores(call, head, 1, call.offset, call.offset + call.size)
        if call.kind in ("sync", "sync-all") and not self._cover(call):
            self.survey.idle_syncs.append(f"call {self.number}: {line}")
        self._pend(call)
        self.names.take(call)
        self._resize(call)

    def _resize(self, call: Call) -> None:
        if call.kind in ("write", "content"):
            self.sizes[call.inode] = max(self.sizes.get(call.inode, 0), call.offset + call.size)
        elif call.kind == "size":
            self.sizes[call.inode] = call.size

    def _pend(self, call: Call) -> None:
        """Notes what the call leaves for a sync to make durable."""
        if call.kind in ("create", "inode"):
            self._of(call.inode).itself = self.number
        if call.kind == "attributes":
            self._of(call.inode).itself = self._of(call.inode).itself or self.number
        if call.kind in ("create", "link", "unlink", "rename"):
            self._change(call.folder, call.name)
        if call.kind == "rename":
            self._change(call.new_folder, call.new_name)
        if call.kind in ("size", "allocate"):
            self._of(call.inode).size = self._of(call.inode).size or self.number
        if call.kind == "write":
            grows = call.offset + call.size > self.sizes.get(call.inode, 0)
            if call.flags & (DATA_THROUGH | ALL_THROUGH):
                return
            pending = self._of(call.inode)
            for sector in range(call.offset // SECTOR, (call.offset + call.size - 1) // SECTOR + 1):
                pending.sectors.setdefault(sector, self.number)
            if grows:
                pending.size = pending.size or self.number

    def _change(self, folder: int, name: bytes) -> None:
        self.entries.setdefault((folder, name), (self.number, self.names.entry(folder, name) != 0))

    def _of(self, inode: int) -> _Pending:
        return self.pending.setdefault(inode, _Pending())

    def _cover(self, call: Call) -> bool:
        """Whether the sync had something to make durable, which it now has."""
        if call.kind == "sync-all":
            some = bool(self.entries) or any(self.pending.values())
            self.entries.clear()
            self.pending.clear()
            return some
        what, flags = call.flags & 15, call.flags >> 4
        pending = self.pending.get(call.inode, _Pending())
        if what == SYNC_RANGE or (what == SYNC_MAPPING and not flags & MS_SYNC):
            return True  # promises nothing, and was not asked to
        if what == SYNC_MAPPING:
            covered = range(call.offset // SECTOR, (call.offset + call.size - 1) // SECTOR + 1)
            some = any(sector in covered for sector in pending.sectors)
            for sector in covered:
                pending.sectors.pop(sector, None)
            return some
        names = [key for key in self.entries if key[0] == call.inode]
        for key in names:
            del self.entries[key]
        self.pending.pop(call.inode, None)
        return bool(pending) or bool(names)

    def finish(self) -> Survey:
        reached = {inode for folder in self.names.folders.values() for inode in folder.values()}
        for inode, pending in sorted(self.pending.items()):
            if not pending or inode not in reached or self.names.kinds.get(inode) == LINK:
                continue
            path = self.names.path(inode)
            if pending.sectors:
                count = len(pending.sectors)
                sectors = f"{count} sector{'s' if count > 1 else ''}"
                self.survey.unsynced.append(f"data of {path} ({sectors} since call {min(pending.sectors.values())})")
            elif pending.size is not None:
                self.survey.unsynced.append(f"the size of {path} (since call {pending.size})")
            elif pending.itself is not None and self.names.kinds.get(inode) == FILE:
                self.survey.unsynced.append(f"the file {path} itself (since call {pending.itself})")
        passing = []
        for (folder, name), (number, was_there) in self.entries.items():
            path = self.names.below(folder, name)
            if self.names.entry(folder, name):
                self.survey.unsynced.append(f"the name {path} (since call {number})")
            elif was_there:
                self.survey.unsynced.append(f"the removal of {path} (since call {number})")
            else:
                passing.append(path)
        if passing:
            named = ", ".join(passing[:_MOST_NAMED])
            more = f" and {len(passing) - _MOST_NAMED} more" if len(passing) > _MOST_NAMED else ""
            self.survey.unsynced.append(f"names that were made and are gone again, {named}{more}")
        return self.survey


def survey(calls: Iterable[Call | Mark]) -> Survey:
    """Follows the calls of a recording to its end."""
    surveyor = _Surveyor()
    for call in calls:
        surveyor.take(call)
    return surveyor.finish()
