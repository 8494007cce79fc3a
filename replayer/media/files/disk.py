"""A disk under one profile: what each call adds to the versions of its objects, and which floors a sync raises.

The page PROFILES.md states the model; the sections named here are its sections.
"""

from __future__ import annotations

from collections.abc import Iterator

from powercut.models.switches import Switches

from .calls import ROOT, Call, CallError
from .objects import Inode, Operation, Replacement, Step, Version


class Disk:
    """All versions and floors after some calls, under one profile."""

    def __init__(self, switches: Switches, *, sector: int = 4096, page: int = 4096) -> None:
        self.switches, self.sector, self.page = switches, sector, page
        self.inodes = {ROOT: Inode("folder")}
        self.start: dict[tuple[int, str], int] = {}  # entries before the first operation
        self.names: dict[tuple[int, str], int] = {}  # entries now
        self.operations: list[Operation] = []
        self.durable: set[tuple[int, int]] = set()  # steps: number of the operation, number within it
        self.prefix = 0  # so many operations are durable
        self.overtaking: list[frozenset[tuple[int, int]]] = []  # steps that may be on disk together, by themselves
        self.calls = 0  # of writes

    def apply(self, call: Call) -> None:
        """Makes one effect of a call; `calls.split` gives the effects."""
        match call.op:
            case "inode":
                self._inode(call)
            case "entry":
                self.start[call.folder, call.name] = self.names[call.folder, call.name] = call.inode
                self.inodes[call.inode].there = True
            case "create":
                self.inodes[call.inode] = Inode(call.kind, call.target, is_new=True, there=False)
                self._operation(Step(call.folder, call.name, call.inode, call.inode))
                self.inodes[call.inode].resized = len(self.operations)
            case "link":
                self._operation(Step(call.folder, call.name, call.inode, call.inode))
                self._may_overtake(call.inode)
            case "unlink":
                self._operation(Step(call.folder, call.name, 0, self._at(call.folder, call.name)))
            case "rename":
                self._rename(call)
            case "write":
                self._write(self._file(call.inode), call.offset, call.data)
            case "size":
                self._resize(self._file(call.inode), call.size)
            case "allocate":
                self._allocate(self._file(call.inode), call)
            case "sync":
                self._sync(call)
            case "sync-all":
                self._sync_all()

    # -- names ---------------------------------------------------------------------------------------------

    def _inode(self, call: Call) -> None:
        """An inode of the start, to which an entry follows, or one of O_TMPFILE."""
        now = len(self.operations)
        inode = self.inodes[call.inode] = Inode(call.kind, call.target, there=False, changed=now, resized=now)
        inode.sizes = [Version(len(call.data), 0)]
        for number in range(-(-len(call.data) // self.sector)):
            content = call.data[number * self.sector :][: self.sector]
            inode.sectors[number] = [Version(content.ljust(self.sector, b"\0"), 0)]
            inode.written.add(number)

    def _at(self, folder: int, name: str) -> int:
        inode = self.names.get((folder, name), 0)
        if not inode:
            raise CallError(f"there is no '{name}' in folder {folder}.")
        return inode

    def _rename(self, call: Call) -> None:
        moved = self._at(call.folder, call.name)
        other = self.names.get((call.to_folder, call.to_name), 0)
        if moved == other:
            return  # two names of one inode: rename does nothing
        there = Step(call.to_folder, call.to_name, moved, moved)
        if call.exchange:
            self._operation(there, Step(call.folder, call.name, other, other))
            self._may_overtake(moved, call.folder)
            self._may_overtake(other, call.to_folder)
            return
        gone = Step(call.folder, call.name, 0, moved)
        inode, replacement = self.inodes[moved], None
        if other and inode.kind == "file":
            newest = {number: len(versions) - 1 for number, versions in inode.sectors.items()}
            replacement = Replacement(moved, len(inode.sizes) - 1, newest)
        self._operation(there, gone, replacement=replacement)
        self._may_overtake(moved, call.folder)
        if other:
            self.inodes[other].changed = len(self.operations)

    def _operation(self, *steps: Step, replacement: Replacement | None = None) -> None:
        self.operations.append(Operation(steps, replacement))
        for step in steps:
            self.names[step.folder, step.name] = step.leads_to
            for inode in (step.folder, step.concerns):
                self.inodes[inode].changed = len(self.operations)

    def _steps(self) -> Iterator[tuple[tuple[int, int], Step]]:
        for number, operation in enumerate(self.operations):
            for place, step in enumerate(operation.steps):
                yield (number, place), step

    # -- contents ------------------------------------------------------------------------------------------

    def _file(self, number: int) -> Inode:
        inode = self.inodes.get(number)
        if inode is None or inode.kind != "file":
            raise CallError(f"inode {number} is no file.")
        return inode

    def versions(self, inode: Inode, number: int) -> list[Version]:
        return inode.sectors.setdefault(number, [Version(bytes(self.sector), 0)])

    def _content(self, inode: Inode, number: int) -> bytearray:
        value = self.versions(inode, number)[-1].value
        assert isinstance(value, bytes)
        return bytearray(value)

    def _write(self, inode: Inode, offset: int, data: bytes) -> None:
        """ "Versions": one version of each sector, and a size for each page behind the old end."""
        self.calls += 1
        now, end, old = len(self.operations), offset + len(data), inode.size
        if not data:
            return
        touched = range(offset // self.sector, -(-end // self.sector))
        if end > old or not self._has_blocks(inode, touched):
            inode.changed = inode.resized = now
        for number in touched:
            content, begin = self._content(inode, number), number * self.sector
            if number not in inode.written | inode.allocated and self.switches.stale == "garbage":
                inode.sectors[number].append(Version(None, now))
            first, last = max(offset, begin), min(end, begin + self.sector)
            content[first - begin : last - begin] = data[first - offset : last - offset]
            inode.sectors[number].append(Version(bytes(content), now, call=self.calls))
        inode.written.update(touched)
        if end > old:
            before = inode.sizes[-1].needs
            page_ends = (at for at in range(old + 1, end) if at % self.page == 0)
            ends = [at for at in page_ends if at > offset or at - old < self.page]
            for size in [*ends, end]:
                inode.sizes.append(
                    Version(size, now, call=self.calls, needs=self._needs(inode, before, offset, old, size))
                )

    def _has_blocks(self, inode: Inode, sectors: range) -> bool:
        """Whether each page of some sectors has a block with data: a block has the size of a page."""
        pages = {number * self.sector // self.page for number in inode.written}
        return pages.issuperset(number * self.sector // self.page for number in sectors)

    def _needs(
        self, inode: Inode, before: tuple[tuple[int, int], ...], offset: int, old: int, size: int
    ) -> tuple[tuple[int, int], ...]:
        """Which sectors a size that a write brought needs ("Sizes")."""
        last = (size - 1) // self.sector
        first = max(offset, old) // self.sector
        if self.switches.size == "alone":
            return ()
        brought = range(last, last + 1) if self.switches.size == "last" else range(first, last + 1)
        kept = before if self.switches.size == "all" else ()
        return (*kept, *((number, len(self.versions(inode, number)) - 1) for number in brought))

    def _resize(self, inode: Inode, size: int) -> None:
        """ "Truncation": a size in its place. Blocks that are cut off go with it; the page's tail is data."""
        old = inode.size
        if size == old:
            return  # times change, as by an overwrite
        self.operations.append(Operation())
        self._zero(inode, size, old, stays=-(-size // self.page) * self.page)
        inode.sizes.append(Version(size, len(self.operations), bound=True))
        inode.changed = inode.resized = len(self.operations)

    def _zero(self, inode: Inode, begin: int, end: int, *, stays: int) -> None:
        """Zeroes of [begin, end): below `stays` the block stays and the zeroes are data; else the block goes."""
        if begin >= end:
            return
        for number in range(begin // self.sector, -(-end // self.sector)):
            low = number * self.sector
            content = self._content(inode, number)
            first, last = max(begin - low, 0), min(end - low, self.sector)
            content[first:last] = bytes(last - first)
            cut = low >= stays
            inode.sectors[number].append(Version(bytes(content), len(self.operations), bound=cut))
            if cut:
                inode.written.discard(number)
                inode.allocated.discard(number)

    def _allocate(self, inode: Inode, call: Call) -> None:
        """ "Truncation" names the modes of fallocate."""
        end = call.offset + call.length
        self.operations.append(Operation())
        inode.changed = inode.resized = len(self.operations)
        if call.mode in ("punch", "zero", "zero-keep"):
            low, high = -(-call.offset // self.page) * self.page, end // self.page * self.page
            # Only whole pages lose their blocks.
            whole = (low, high) if low < high else (end, end)
            self._zero(inode, call.offset, min(whole[0], inode.size), stays=end)
            # Nothing shows zeroes behind the end but a size that came before, and cutting it has left zeroes there.
            pages = -(-inode.size // self.page) * self.page
            self._zero(inode, whole[0], min(whole[1], pages), stays=0)
            self._zero(inode, whole[1], min(end, inode.size), stays=end)
        if call.mode != "punch":
            inside = range(call.offset // self.sector, -(-end // self.sector))
            inode.allocated |= {number for number in inside if number not in inode.written}
        if call.mode in ("extend", "zero") and end > inode.size:
            inode.sizes.append(Version(end, len(self.operations), bound=True))

    # -- syncs ---------------------------------------------------------------------------------------------

    def _sync(self, call: Call) -> None:
        """ "Syncs": raises floors."""
        if call.what == "started":
            return
        inode = self.inodes[call.inode]
        inode.there = inode.synced = True
        if inode.kind == "folder":
            self._sync_folder(call.inode)
            return
        ranged = self.switches.range == "range" and (call.what == "range" or call.length > 0)
        low, high = call.offset // self.page * self.page, -(-(call.offset + call.length) // self.page) * self.page
        for number, versions in inode.sectors.items():
            if not ranged or low <= number * self.sector < high:
                inode.sector_floors[number] = len(versions) - 1
        if ranged:
            inode.size_floor = self._size_for(inode, min(high, inode.size))
        else:
            inode.size_floor = len(inode.sizes) - 1
        beside = self.switches.fsync if call.what == "file" else self.switches.fdatasync
        match beside:
            case "journal":
                self.prefix = max(self.prefix, inode.changed if call.what == "file" else inode.resized)
            case "names":
                self._sync_names(call.inode)
            case "new-name":
                self._sync_first_name(call.inode)

    def _size_for(self, inode: Inode, end: int) -> int:
        """The first version of the size from the floor on that has all before `end`, as all later ones do."""
        needed = inode.size_floor
        for number in range(inode.size_floor, len(inode.sizes)):
            size = inode.sizes[number].value
            assert isinstance(size, int)
            if size < end:
                needed = number + 1
        return needed

    def _sync_folder(self, number: int) -> None:
        if self.switches.fsync_folder == "journal":
            self.prefix = max(self.prefix, self.inodes[number].changed)
        else:
            self._make_durable({place for place, step in self._steps() if step.folder == number})

    def _sync_names(self, number: int) -> None:
        self._make_durable({place for place, step in self._steps() if step.concerns == number})
        for (folder, _), inode in self.names.items():
            if inode == number:
                self._sync_first_name(folder)

    def _sync_first_name(self, number: int) -> None:
        """The first name of an inode that the recording made, and those of the folders above."""
        if not self.inodes[number].is_new:
            return
        self.inodes[number].there = True
        for place, step in self._steps():
            if step.leads_to == number:
                self._make_durable({place})
                self._sync_first_name(step.folder)
                return

    def _make_durable(self, steps: set[tuple[int, int]]) -> None:
        """Makes steps durable, with the steps that cannot be missing then ("Syncs")."""
        for number, place in sorted(steps - self.durable):
            self.durable.add((number, place))
            operation = self.operations[number]
            rename = self.switches.rename
            if rename == "atomic" or (rename == "new-first" and self.needs_first(number, place)):
                self._make_durable({(number, each) for each in range(len(operation.steps))})
            if self.switches.order == "synced":
                entry = operation.steps[place].folder, operation.steps[place].name
                earlier = [each for each, step in self._steps() if (step.folder, step.name) == entry]
                self._make_durable({each for each in earlier if each[0] < number})

    def needs_first(self, operation: int, place: int) -> bool:
        """Whether a step is the second one of a rename: under `new-first` it is on disk with the first one alone. An
        exchange has no new name, so that either of its steps needs the other one."""
        steps = self.operations[operation].steps
        return place > 0 or (len(steps) > 1 and steps[1].leads_to > 0)

    def _may_overtake(self, number: int, old_folder: int = 0) -> None:
        """ "Steps that overtake": a new name, if the inode or the folder of the old name was synced before."""
        synced = self.inodes[number].synced or (old_folder and self.inodes[old_folder].synced)
        if self.switches.new_name != "overtakes" or not synced:
            return
        durable, there = set(self.durable), {each: inode.there for each, inode in self.inodes.items()}
        self._sync_names(number)
        self.overtaking.append(frozenset(self.durable - durable))
        self.durable = durable
        for each, inode in self.inodes.items():
            inode.there = there[each]

    def _sync_all(self) -> None:
        if self.switches.sync == "nothing":
            return
        self.prefix = len(self.operations)
        self.durable = {place for place, _ in self._steps()}
        for inode in self.inodes.values():
            inode.there = True
            inode.synced = False
            inode.size_floor = len(inode.sizes) - 1
            if self.switches.sync == "all":
                inode.sector_floors = {number: len(versions) - 1 for number, versions in inode.sectors.items()}
