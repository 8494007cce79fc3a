"""A hash of what a shared library or program *does*: its loadable code and data, and those of the libraries it loads.

Left out is what a rebuild may change without any change of behaviour: the build id, debug information, symbol names
that are not loaded, the compiler's name. An edited comment therefore changes no hash, though it moves line numbers.
Line numbers are hashed apart (`Code.lines`), since findings carry them.

Sections are hashed by name, kind, flags, address and content, in their order. Libraries that are needed are found by
the dynamic linker itself and hashed the same way, system libraries included: another libc is other code. A file that
is no ELF file is hashed as a whole. https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html

Known inaccuracies: libraries that are opened by `dlopen` are not followed. An assertion that prints its line number has
it in its code, so that a comment above it changes the code too; that errs on the side of exploring again.
"""

import hashlib
import os
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_MAGIC = b"\x7fELF\x02\x01"  # 64 bits, little-endian
_NOBITS, _NOTE = 8, 7
_ALLOCATED = 2
#: Where the compiler pass keeps the lines of functions that store (tracer/llvm/pass.cc).
_PLACES = "powercut_places"


@dataclass(frozen=True, kw_only=True)
class Code:
    """Two hashes, in hex."""

    code: str
    #: Hash of the debug information, and of the lines that the compiler pass knows: where each instruction comes from.
    lines: str


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    address: int
    content: bytes
    size: int


def of_file(path: Path, *, lines: bool = True) -> Code:
    """Hashes one file and all libraries that it loads. OSError when it cannot be read. Debug information can be
    large."""
    files = [path, *needed(path)]
    parts = [_of_one(os.fspath(file), _stamp(file), with_lines=lines) for file in files]
    code, places = hashlib.sha256(), hashlib.sha256()
    for file, part in zip(files, parts, strict=True):
        # By name and not by path: a build folder may move.
        name = file.name if file != path else ""
        code.update(f"{name}\0{part.code}\n".encode())
        places.update(f"{name}\0{part.lines}\n".encode())
    return Code(code=code.hexdigest(), lines=places.hexdigest())


def needed(path: Path) -> tuple[Path, ...]:
    """The libraries that the dynamic linker loads for a file, in its order, without those that it does not find."""
    return _needed(os.fspath(path), _stamp(path))


@cache
def _needed(path: str, stamp: tuple[int, int, int]) -> tuple[Path, ...]:
    del stamp
    with open(path, "rb") as content:
        if content.read(len(_MAGIC)) != _MAGIC:
            return ()
    answer = subprocess.run(["ldd", path], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    found = []
    for line in answer.stdout.splitlines():
        _, arrow, place = line.partition(" => ")
        file = place.rpartition(" (")[0]
        if arrow and file.startswith("/"):
            found.append(Path(file))
    return tuple(found)


def _stamp(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


@cache
def _of_one(path: str, stamp: tuple[int, int, int], *, with_lines: bool) -> Code:
    """Hashes one file alone. `stamp` makes a file that was replaced another one."""
    del stamp
    data = Path(path).read_bytes()
    try:
        sections = list(_sections(data))
    except (struct.error, IndexError, OverflowError, ValueError):
        sections = []
    if not sections:
        return Code(code=hashlib.sha256(data).hexdigest(), lines=hashlib.sha256(b"").hexdigest())
    code, lines = hashlib.sha256(), hashlib.sha256()
    for item in sections:
        head = f"{item.name}\0{item.kind}\0{item.flags}\0{item.address}\0{item.size}\0".encode()
        if item.name == _PLACES:
            if with_lines:
                lines.update(head + item.content)
        elif item.flags & _ALLOCATED and not (item.kind == _NOTE and "build-id" in item.name):
            code.update(head + item.content)
        elif with_lines and item.name.startswith(".debug_"):
            lines.update(head + item.content)
    return Code(code=code.hexdigest(), lines=lines.hexdigest())


def _sections(data: bytes) -> Iterator[_Section]:
    """The sections of an ELF file; none for a file of another kind, ValueError for one that is cut short."""
    if data[: len(_MAGIC)] != _MAGIC:
        return
    (table,) = struct.unpack_from("<Q", data, 0x28)
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    heads = [struct.unpack_from("<IIQQQQ", data, table + size * number) for number in range(count)]
    if not heads:
        return
    text_at, text_size = heads[names][4], heads[names][5]
    text = data[text_at : text_at + text_size]
    for name, kind, flags, address, offset, length in heads:
        content = b"" if kind == _NOBITS else data[offset : offset + length]
        if kind != _NOBITS and len(content) != length:
            raise ValueError("a section is cut short")
        label = text[name : text.index(b"\0", name)].decode("utf-8", "replace")
        yield _Section(name=label, kind=kind, flags=flags, address=address, content=content, size=length)
