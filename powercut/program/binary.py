"""The kind of a command's file: enough of ELF to choose a tracer and to refuse programs that none can record."""

import mmap
import os
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from powercut.base.errors import UsageError

_HEADER = 64
_CLASS_64 = 2
_MACHINE_X86_64 = 62
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRING_TABLE = 1, 5
_RUNTIME = "libpowercut_rt.so"
#: Libraries that store to a pool only in functions that the compiler pass replaces, or not at all.
_SYSTEM = ("libc.", "libm.", "libpthread.", "libdl.", "librt.", "ld-linux", "libgcc_s.", "libstdc++.", _RUNTIME)


@dataclass(frozen=True, kw_only=True)
class Binary:
    """The file behind the first word of a command."""

    path: Path
    kind: Literal["elf", "script", "other"]
    bits: int = 64
    x86_64: bool = True
    #: Without a dynamic linker: nothing can be preloaded into it.
    static: bool = False
    #: Libraries that it names itself.
    needed: tuple[str, ...] = ()

    @property
    def traced_by_llvm(self) -> bool:
        """Linked by `powercut cc` or `powercut c++`."""
        return _RUNTIME in self.needed

    @property
    def other_libraries(self) -> tuple[str, ...]:
        """Libraries that may have been built without the compiler pass."""
        return tuple(name for name in self.needed if not name.startswith(_SYSTEM))

    @property
    def libraries_that_flush(self) -> tuple[str, ...]:
        """PMDK's libraries, whose stores and flushes the compiler pass has not seen."""
        return tuple(name for name in self.needed if name.startswith("libpmem"))


def find(word: str, *, cwd: Path, option: str) -> Binary:
    """The file that a command's first word names, as the shell would find it. UsageError when it cannot be run."""
    named = os.sep in word
    found = cwd / word if named else Path(shutil.which(word) or "")
    if not named and not found.name:
        raise UsageError(
            f"command not found: {word}", where=option, next_step=f"Install it, or name its file, such as ./{word}."
        )
    if found.is_dir():
        raise UsageError("this is a folder, not a program", where=f"{option} {word}", next_step="Name the program.")
    if not found.exists():
        raise UsageError(
            f"no such program: {found}", where=option, next_step="Build it first, or correct the path (see --cwd)."
        )
    if not os.access(found, os.X_OK):
        raise UsageError("not executable", where=f"{option} {word}", next_step=f"Run 'chmod +x {found}'.")
    try:
        binary = inspect(found)
    except OSError as error:
        raise UsageError(
            f"cannot be read ({error.strerror})", where=str(found), next_step="Correct its permissions."
        ) from error

    if binary.kind == "other":
        raise UsageError(
            "neither an ELF program nor a script that begins with '#!'",
            where=str(found),
            next_step="Name the program itself, or its interpreter in front of it.",
        )
    return binary


def inspect(path: Path) -> Binary:
    """Looks at a file; a broken file is left for the kernel to refuse."""
    with path.open("rb") as file:
        start = file.read(_HEADER)
        if start[:2] == b"#!":
            return Binary(path=path, kind="script")
        if start[:4] != b"\x7fELF" or len(start) < _HEADER:
            return Binary(path=path, kind="other")
        bits = 64 if start[4] == _CLASS_64 else 32
        (machine,) = struct.unpack_from("<H", start, 18)
        if bits != 64 or machine != _MACHINE_X86_64:
            return Binary(path=path, kind="elf", bits=bits, x86_64=False)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                segments = _segments(content)
                return Binary(
                    path=path,
                    kind="elf",
                    static=all(segment.kind != _INTERPRETER for segment in segments),
                    needed=tuple(_needed(content, segments)),
                )
            except (struct.error, ValueError):
                return Binary(path=path, kind="other")


@dataclass(frozen=True)
class _Segment:
    kind: int
    offset: int
    address: int
    size: int


def _segments(content: mmap.mmap) -> list[_Segment]:
    (table,) = struct.unpack_from("<Q", content, 32)
    size, count = struct.unpack_from("<HH", content, 54)
    found = []
    for at in (table + number * size for number in range(count)):
        (kind,) = struct.unpack_from("<I", content, at)
        offset, address, _, length = struct.unpack_from("<4Q", content, at + 8)
        found.append(_Segment(kind, offset, address, length))
    return found


def _needed(content: mmap.mmap, segments: list[_Segment]) -> Iterator[str]:
    """The DT_NEEDED names of the dynamic section."""
    dynamic = next((segment for segment in segments if segment.kind == _DYNAMIC), None)
    if dynamic is None:
        return
    entries = list(struct.iter_unpack("<QQ", content[dynamic.offset : dynamic.offset + dynamic.size // 16 * 16]))
    address = next((value for tag, value in entries if tag == _STRING_TABLE), 0)
    strings = next(
        (address - s.address + s.offset for s in segments if s.kind == _LOAD and 0 <= address - s.address < s.size),
        None,
    )
    if strings is None:
        return
    for tag, value in entries:
        if tag == _NEEDED and (end := content.find(b"\0", strings + value)) >= 0:
            yield os.fsdecode(content[strings + value : end])
