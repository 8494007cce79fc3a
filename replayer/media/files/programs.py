"""Random programs of calls, small enough for the brute force and dense enough for rules to meet.

A program is a tree at the start and lines of the plain language. A person reads a failing program as a litmus test.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from .calls import ROOT, Call, CallError
from .language import SECTOR, LanguageError, Reader

MOST_LINES, MOST_SECTORS, MOST_OPERATIONS = 7, 3, 5
MOST_TRIES = 4  # for each line that is wanted; a line that no program can have is dropped
NAMES = ("a", "b", "d/a")
STARTS = ("a=A d/", "a=AB b=C d/", "d/ d/a=A", "a=A b==a d/", "d/", "a=A d/ e/ e/a=B")
LINES = (
    *("creat {n}", "mkdir e", "link {n} {m}", "unlink {n}", "rmdir {f}", "rename {n} {m}", "rename {n} {m}"),
    *("rename d e", "rename {n} e/a", "exchange {n} {m}", "tmpfile t", "linkat t {n}", "append t {x}"),
    *("pwrite {n} {o} {x}", "pwrite {n} {o} {x}{y}", "append {n} {x}", "append {n} {x}{y}", "pwrite {n} {o} {x} dsync"),
    *("append {n} {x} dsync", "append {n} {x} sync", "truncate {n} {o}", "truncate {n} {o}", "allocate {n} {o} 1"),
    *("allocate {n} {o} 1 keep", "allocate {n} {o} 2 punch", "allocate {n} {o} 1 zero"),
    *(
        "fsync {n}",
        "fsync {n}",
        "fdatasync {n}",
        "msync {n} {o} 1",
        "sync_file_range {n} {o} 1",
        "fsync {f}",
        "fsync t",
    ),
    *("sync", "begin", "end", "creat b", "append b {x}{y}", "rename b a", "rename b a"),
)


@dataclass(frozen=True, slots=True)
class Program:
    start: str
    lines: tuple[str, ...]
    page: int
    calls: tuple[Call, ...]  # those that make the tree at the start come first

    def __str__(self) -> str:
        return f"start: {self.start}, page: {self.page}\n" + "\n".join(self.lines)


def generate(random: Random) -> Program:
    start, page = random.choice(STARTS), random.choice((1, 1, 2))
    lines: list[str] = []
    calls = _calls(start, lines, page)
    assert calls is not None
    wanted = random.randint(2, MOST_LINES)
    for _ in range(MOST_TRIES * wanted):
        if len(lines) == wanted:
            break
        words = {"n": random.choice(NAMES), "m": random.choice(NAMES), "f": random.choice((".", "d", "e"))}
        letters = {"x": "STUVWXYZ"[len(lines)], "y": "LMNOPQRK"[len(lines)], "o": random.randrange(MOST_SECTORS)}
        line = random.choice(LINES).format(**words, **letters)
        grown = _calls(start, [*lines, line], page)
        if grown is not None:
            lines, calls = [*lines, line], grown
    return Program(start, tuple(lines), page, tuple(calls))


def _calls(start: str, lines: list[str], page: int) -> list[Call] | None:
    """The calls, or None where no program can have made the last one, or where the program is too large."""
    reader = Reader()
    try:
        calls = [*reader.start(start), *(reader.call(line) for line in lines)]
        plain = Plain()
        for call in calls:
            plain.apply(call)
    except (LanguageError, CallError, KeyError):
        return None
    operations = sum(call.op in ("create", "link", "unlink", "rename", "size", "allocate") for call in calls)
    too_large = operations > MOST_OPERATIONS or any(len(data) > MOST_SECTORS for data in plain.files.values())
    return None if too_large else calls


class Plain:
    """A file system that never loses anything: what a reader finds without a power cut. CallError for a call that it
    would refuse."""

    def __init__(self) -> None:
        self.folders: dict[int, dict[str, int]] = {ROOT: {}}
        self.files: dict[int, bytes] = {}
        self.links: dict[int, str] = {}

    def apply(self, call: Call) -> None:
        match call.op:
            case "inode" | "create":
                if call.kind == "folder":
                    self.folders[call.inode] = {}
                elif call.kind == "file":
                    self.files[call.inode] = call.data
                else:
                    self.links[call.inode] = call.target
                if call.op == "create":
                    self.folders[call.folder][call.name] = call.inode
            case "entry" | "link":
                if call.op == "link" and call.inode not in self.files:
                    raise CallError("no link to a folder.")
                self.folders[call.folder][call.name] = call.inode
            case "unlink":
                if self.folders.get(self.folders[call.folder][call.name]):
                    raise CallError("the folder is not empty.")
                del self.folders[call.folder][call.name]
            case "rename":
                self._rename(call)
            case "write":
                old = self.files[call.inode].ljust(call.offset, b"\0")
                self.files[call.inode] = old[: call.offset] + call.data + old[call.offset + len(call.data) :]
            case "size":
                self.files[call.inode] = self.files[call.inode][: call.size].ljust(call.size, b"\0")
            case "allocate":
                self._allocate(call)

    def _rename(self, call: Call) -> None:
        old, new = self.folders[call.folder], self.folders[call.to_folder]
        moved, other = old[call.name], new.get(call.to_name)
        if self._is_within(call.to_folder, moved) or (call.exchange and self._is_within(call.folder, other or 0)):
            raise CallError("a folder into itself.")
        if (
            not call.exchange
            and other
            and ((moved in self.folders) != (other in self.folders) or self.folders.get(other))
        ):
            raise CallError("a folder and a file, or a folder that is not empty.")
        if moved == other:
            return
        if call.exchange:
            assert other
            old[call.name] = other
        else:
            del old[call.name]
        new[call.to_name] = moved

    def _is_within(self, folder: int, other: int) -> bool:
        """Whether a folder is the other one, or lies below."""
        below = self.folders.get(other, {}).values()
        return folder == other or any(self._is_within(folder, each) for each in below)

    def _allocate(self, call: Call) -> None:
        data, end = self.files[call.inode], call.offset + call.length
        if call.mode in ("extend", "zero"):
            data = data.ljust(end, b"\0")
        if call.mode in ("punch", "zero"):
            inside = min(end, len(data)) - min(call.offset, len(data))
            data = data[: call.offset] + bytes(inside) + data[call.offset + inside :]
        self.files[call.inode] = data

    def text(self) -> str:
        """The tree as litmus tests write it."""
        return " ".join(word for _, word in sorted(self._words(ROOT, ""))) or "."

    def _words(self, folder: int, path: str) -> list[tuple[str, str]]:
        words = []
        for name, inode in self.folders[folder].items():
            here = path + name
            if inode in self.folders:
                words += [(here, f"{here}/"), *self._words(inode, f"{here}/")]
            elif inode in self.files:
                words.append((here, f"{here}={self.files[inode].replace(bytes(SECTOR), b'0').decode() or '-'}"))
            else:
                words.append((here, f"{here}->{self.links[inode]}"))
        return words
