"""The judged folder on a mounted file system: makes the calls of a program there, and reads trees.

A letter of the plain language is `unit` bytes of that letter. A page of the kernel has 4,096 bytes, so a program whose
pages have two sectors has letters of 2,048 bytes.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from powercut.real_fs import kernel
from replayer.media.files.calls import ROOT, Call
from replayer.media.files.language import text_of
from replayer.media.files.trees import BAD, FOLDER, Shown

PAGE = 4096
WAYS = {"none": 0, "data": os.RWF_DSYNC, "all": os.RWF_SYNC}
ALLOCATIONS = {
    "extend": 0,
    "keep": kernel.FALLOC_FL_KEEP_SIZE,
    "punch": kernel.FALLOC_FL_PUNCH_HOLE | kernel.FALLOC_FL_KEEP_SIZE,
    "zero": kernel.FALLOC_FL_ZERO_RANGE,
}


@contextmanager
def opened(path: Path, flags: int = os.O_RDONLY) -> Iterator[int]:
    file = os.open(path, flags)
    try:
        yield file
    finally:
        os.close(file)


class Folder:
    """Makes calls. `keeps_open`: files stay open until the end, as in a program that works on a few files."""

    def __init__(self, path: Path, unit: int, *, keeps_open: bool) -> None:
        self.path, self.unit, self.keeps_open = path, unit, keeps_open
        self.names: dict[tuple[int, str], int] = {}
        self.new: dict[int, Call] = {}  # inodes of the start, each until its first name
        self.nameless: dict[int, int] = {}  # files of O_TMPFILE, with their descriptors
        self.open: dict[int, int] = {}

    def close(self) -> None:
        for file in (*self.open.values(), *self.nameless.values()):
            os.close(file)
        self.open, self.nameless = {}, {}

    def files(self) -> list[int]:
        """The inodes of files that have a name."""
        return sorted({inode for inode in self.names.values() if self.where(inode).is_file()})

    def where(self, inode: int) -> Path:
        if inode == ROOT:
            return self.path
        folder, name = next(entry for entry, other in self.names.items() if other == inode)
        return self.where(folder) / name

    def entry(self, folder: int, name: str) -> Path:
        return self.where(folder) / name

    def file(self, inode: int) -> int:
        """A descriptor. `done` follows the use."""
        if inode in self.nameless:
            return self.nameless[inode]
        if inode in self.open:
            return self.open[inode]
        path = self.where(inode)
        file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        if self.keeps_open:
            self.open[inode] = file
        return file

    def done(self, file: int) -> None:
        if file not in self.open.values() and file not in self.nameless.values():
            os.close(file)

    def make(self, call: Call) -> None:
        match call.op:
            case "create":
                self._create(call)
            case "link":
                self._link(call)
            case "unlink":
                self._unlink(call)
            case "rename":
                self._rename(call)
            case "inode":
                self.nameless[call.inode] = os.open(self.path, os.O_TMPFILE | os.O_RDWR, 0o600)
            case "sync-all":
                with opened(self.path) as file:
                    kernel.sync_file_system(file)
            case "begin" | "end":
                pass
            case _:
                file = self.file(call.inode)
                self._use(file, call)
                self.done(file)

    def make_start(self, calls: list[Call]) -> None:
        """The tree at the start, from its calls `inode` and `entry`."""
        for call in calls:
            if call.op == "inode":
                self.new[call.inode] = call
            elif call.inode in self.new:
                made = self.new.pop(call.inode)
                self._create(Call("create", call.inode, call.folder, call.name, kind=made.kind, target=made.target))
                if made.data:
                    self.make(Call("write", call.inode, data=made.data))
            else:
                self._link(call)

    # -- names -------------------------------------------------------------------------------------------------------

    def _create(self, call: Call) -> None:
        path = self.entry(call.folder, call.name)
        if call.kind == "folder":
            path.mkdir()
        elif call.kind == "link":
            path.symlink_to(call.target)
        else:
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
            if self.keeps_open:
                self.open[call.inode] = file
            else:
                os.close(file)
        self.names[call.folder, call.name] = call.inode

    def _link(self, call: Call) -> None:
        path = self.entry(call.folder, call.name)
        if call.inode in self.nameless:
            kernel.name_file(self.nameless[call.inode], path)
        else:
            os.link(self.where(call.inode), path, follow_symlinks=False)
        self.names[call.folder, call.name] = call.inode

    def _unlink(self, call: Call) -> None:
        path = self.entry(call.folder, call.name)
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
        del self.names[call.folder, call.name]

    def _rename(self, call: Call) -> None:
        old, new = (call.folder, call.name), (call.to_folder, call.to_name)
        moved, other = self.names[old], self.names.get(new, 0)
        if call.exchange:
            kernel.exchange(self.entry(*old), self.entry(*new))
            self.names[old] = other
        else:
            self.entry(*old).rename(self.entry(*new))
            if moved != other:  # two names of one inode stay both
                del self.names[old]
        self.names[new] = moved

    # -- contents ----------------------------------------------------------------------------------------------------

    def bytes_of(self, data: bytes) -> bytes:
        return b"".join(bytes([letter]) * self.unit for letter in data)

    def _use(self, file: int, call: Call) -> None:
        offset, length = call.offset * self.unit, call.length * self.unit
        match call.op, call.what:
            case "write", _:
                data = self.bytes_of(call.data)
                assert os.pwritev(file, [data], offset, WAYS[call.through]) == len(data)
            case "size", _:
                os.ftruncate(file, call.size * self.unit)
            case "allocate", _:
                kernel.allocate(file, ALLOCATIONS[call.mode], offset, length)
            case "sync", "file":
                os.fsync(file)
            case "sync", "data":
                os.fdatasync(file)
            case "sync", "range":
                _sync_mapping(file, offset, length)
            case "sync", "started":
                kernel.sync_file_range(file, offset, length, kernel.SYNC_FILE_RANGE_WRITE)
            case _:
                raise ValueError(f"the rig cannot make '{call.op}'.")


def _sync_mapping(file: int, offset: int, length: int) -> None:
    """msync of the pages of a range."""
    begin, end = offset // PAGE * PAGE, -(-(offset + length) // PAGE) * PAGE
    if os.fstat(file).st_size == 0:
        os.fdatasync(file)  # Python maps no empty file; the kernel does the same for either call
        return
    with mmap.mmap(file, min(end, os.fstat(file).st_size), access=mmap.ACCESS_WRITE) as mapping:
        if begin < len(mapping):
            mapping.flush(begin, min(end, len(mapping)) - begin)


# -- trees -------------------------------------------------------------------------------------------------------------


def read_tree(path: Path, unit: int) -> str:
    """The tree that a reader finds, as litmus tests write it. `!` is a name that cannot be read, `?` a sector without a
    whole letter."""
    return text_of(tuple(sorted(_walk(path, "", unit), key=lambda each: each[0])))


def _walk(path: Path, prefix: str, unit: int) -> Iterator[tuple[str, Shown]]:
    for name in os.listdir(path):
        here = path / name
        shown = _shown(here, unit)
        yield prefix + name, shown
        if shown == FOLDER:
            yield from _walk(here, f"{prefix}{name}/", unit)


def _shown(path: Path, unit: int) -> Shown:
    try:
        if path.is_symlink():
            return ("link", os.readlink(path), ())
        if path.is_dir():
            return FOLDER
        data = path.read_bytes()
    except OSError:
        return BAD
    return ("file", "", tuple(_letter(data[at : at + unit], unit) for at in range(0, len(data), unit)))


def _letter(data: bytes, unit: int) -> bytes | int:
    """A sector of the plain language, which has one byte: a letter, a zero, or anything else."""
    first = data[:1]
    return first if data == first * unit and (first == b"\0" or first.isupper()) else 1
