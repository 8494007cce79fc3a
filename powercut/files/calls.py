"""The calls of a recorded folder, as a trace has them (tracer/FORMAT.md, "Calls on trees"), and the names they made."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from powercut.engine import trace_events
from powercut.engine.engine import Interrupt
from powercut.engine.events import Module

#: The number of the folder's own inode.
ROOT = 1
#: Bytes of a sector, the unit in which unsynced data is counted.
SECTOR = 512
#: Kinds of inodes.
FILE, FOLDER, LINK = 1, 2, 3
#: Flags of a write.
DATA_THROUGH, ALL_THROUGH, BY_MAPPING, CONTINUES = 1, 2, 4, 16
#: Kinds of syncs: the low half of a sync's flags.
SYNC_FILE, SYNC_DATA, SYNC_RANGE, SYNC_MAPPING = range(4)
#: The flag of msync that waits.
MS_SYNC = 4
#: Kinds of notes.
TOLD, UNKNOWN, INCOMPLETE = range(3)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One record. Names are bytes, as in the file system."""

    kind: str
    by: str
    thread: int
    inode: int = 0
    flags: int = 0
    offset: int = 0
    size: int = 0
    folder: int = 0
    name: bytes = b""
    new_folder: int = 0
    new_name: bytes = b""
    data: bytes = b""
    #: Modules and offsets, innermost first.
    stack: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def of(raw: dict[str, Any]) -> "Call":
        """The call of a `trace_event` (reports/EVENTS.md)."""
        numbers = {key: raw[key] for key in ("inode", "flags", "offset", "size", "folder", "new_folder") if key in raw}
        data = bytes.fromhex(raw.get("bytes", ""))
        return Call(
            kind=raw["call"],
            by=raw["by"],
            thread=raw["thread"],
            name=bytes.fromhex(raw.get("name", "")),
            new_name=bytes.fromhex(raw.get("new_name", "")),
            data=data,
            stack=_stack(raw),
            **({"size": len(data)} if raw["call"] in ("write", "content") else {}) | numbers,
        )


@dataclass(frozen=True, kw_only=True)
class Mark:
    """Begin or end of an operation, or a named place."""

    kind: str
    thread: int
    #: The kind of the operation, or its status.
    code: str = ""
    key: bytes = b""
    value: bytes = b""
    text: str = ""
    stack: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def of(raw: dict[str, Any]) -> "Mark":
        """The mark of a `trace_event` (reports/EVENTS.md)."""
        return Mark(
            kind=_MARKS[raw["kind"]],
            thread=raw["thread"],
            code=raw.get("code", ""),
            key=bytes.fromhex(raw.get("key", "")),
            value=bytes.fromhex(raw.get("value", "")),
            text=raw.get("text", ""),
            stack=_stack(raw),
        )

    def line(self) -> str:
        """The mark as a program writes it (docs/files-marks.md)."""
        words = [_word(self.key)] if self.key or (self.value and self.kind == "begin") else []
        words += [_word(self.value)] if self.value else []
        return " ".join(word for word in (self.kind, self.code, *words, self.text) if word)


def _stack(raw: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    return tuple(map(tuple, raw["stack"]))


_MARKS = {"op-begin": "begin", "op-end": "end", "marker": "point"}


def calls(
    engine_path: Path, trace: Path, *, contents: bool = True, interrupt: Interrupt | None = None
) -> Iterator[Call]:
    """The calls of a trace, one after the other, and no other record. Without `contents`, writes have no data."""
    for found in records(engine_path, trace, contents=contents, interrupt=interrupt):
        if isinstance(found, Call):
            yield found


def records(
    engine_path: Path,
    trace: Path,
    *,
    contents: bool = True,
    modules: list[Module] | None = None,
    interrupt: Interrupt | None = None,
) -> Iterator[Call | Mark]:
    """The calls of a trace, and the marks among them. At the end `modules` has those that stacks name."""
    for raw in trace_events.records(engine_path, trace, contents=contents, modules=modules, interrupt=interrupt):
        if raw["kind"] == "tree-call":
            yield Call.of(raw)
        elif raw["kind"] in _MARKS:
            yield Mark.of(raw)


def shown(name: bytes) -> str:
    """A name as people read it: bytes that are no UTF-8, and what cannot be printed, are escaped."""
    text = name.decode("utf-8", "backslashreplace")
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def _word(data: bytes) -> str:
    """Bytes as one word of a mark."""
    return shown(data).replace("%", "%25").replace(" ", "%20")


@dataclass
class Names:
    """Which names lead to which inodes, as the calls so far have left them."""

    folders: dict[int, dict[bytes, int]] = field(default_factory=lambda: {ROOT: {}})
    #: The names of each inode, the latest one last: folders, and names in them.
    leading: dict[int, dict[tuple[int, bytes], None]] = field(default_factory=dict)
    #: The latest name of each inode, also one that is gone.
    latest: dict[int, tuple[int, bytes]] = field(default_factory=dict)
    kinds: dict[int, int] = field(default_factory=lambda: {ROOT: FOLDER})

    def take(self, call: Call) -> None:
        """Makes the call."""
        if call.kind in ("inode", "create"):
            self.kinds[call.inode] = call.flags
            if call.flags == FOLDER:
                self.folders[call.inode] = {}
        if call.kind in ("entry", "create", "link"):
            self._enter(call.folder, call.name, call.inode)
        elif call.kind == "unlink":
            self._leave(call.folder, call.name)
        elif call.kind == "rename":
            moved = self._leave(call.folder, call.name)
            there = self._leave(call.new_folder, call.new_name)
            self._enter(call.new_folder, call.new_name, moved)
            if call.flags & 1 and there:
                self._enter(call.folder, call.name, there)

    def _enter(self, folder: int, name: bytes, inode: int) -> None:
        self.folders[folder][name] = inode
        self.leading.setdefault(inode, {})[folder, name] = None
        self.latest[inode] = (folder, name)

    def _leave(self, folder: int, name: bytes) -> int:
        inode = self.folders[folder].pop(name, 0)
        self.leading.get(inode, {}).pop((folder, name), None)
        return inode

    def entry(self, folder: int, name: bytes) -> int:
        """The inode that a name leads to; 0 if there is none."""
        return self.folders.get(folder, {}).get(name, 0)

    def has_gone(self, inode: int) -> bool:
        """Whether the inode had names, and has none now."""
        return inode in self.latest and not self.leading[inode]

    def only(self, inode: int) -> tuple[int, bytes] | None:
        """The name of an inode with one name: the folder, and the name in it. None for all others."""
        leading = self.leading.get(inode, {})
        return next(iter(leading)) if len(leading) == 1 else None

    def path(self, inode: int) -> str:
        """The path of an inode by its latest name, or by the last one that it had; `.` for the folder itself."""
        parts: list[str] = []
        while inode != ROOT and len(parts) <= len(self.latest):
            if inode not in self.latest:
                return f"inode {inode}" if not parts else "/".join(parts)
            inode, name = next(reversed(self.leading[inode]), self.latest[inode])
            parts.insert(0, shown(name))
        return "/".join(parts) or "."

    def below(self, folder: int, name: bytes) -> str:
        """The path of a name in a folder."""
        path = self.path(folder)
        return shown(name) if path == "." else f"{path}/{shown(name)}"
