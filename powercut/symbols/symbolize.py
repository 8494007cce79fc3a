"""Turns (module, offset) into source positions with one `llvm-symbolizer` process.

The process answers one request after the other over pipes and stays for as long as the command runs;
answers are cached, since the same few sites carry most findings. Offsets of stacks are *return*
addresses, which may already belong to the next line: the byte before is looked up. The innermost
offset of a fault is the faulting instruction itself and is looked up as it is.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.engine.events import LOG_MODULE, Module
from powercut_reports.records import places

_PROGRAMS = ("llvm-symbolizer-19", "llvm-symbolizer")
#: Code that stores on behalf of its caller: never the site that a person should look at.
_HELPERS = ("powercut/pmem.h", "powercut/block.h", "powercut/flash.h", "powercut/target.h", "tracer/runtime/")
_SYSTEM = ("/usr/", "/build/", "/lib/")
#: Where a distribution keeps its libraries. Their debug information, where it is installed, names files by paths
#: relative to folders of the machine that built them.
_LIBRARIES = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/")
#: How far back a line is looked for, in bytes of code.
_MERGED_CODE = 64


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One source position of a stack; `file` is None and `line` 0 where nothing is known."""

    function: str
    file: str | None
    line: int
    column: int
    module: str
    offset: int
    inlined: bool
    #: The module is a library of the distribution.
    in_library: bool = False
    #: Where the function begins: its line in `start_file` (0: unknown), and its code in the module (0: unknown).
    start_file: str | None = None
    start_line: int = 0
    start_offset: int = 0

    @property
    def site(self) -> str | None:
        """`file:line`, or None."""
        return f"{self.file}:{self.line}" if self.file and self.line else None

    @property
    def place(self) -> str:
        """`file:line`, or `module+0x12ab` where the module has no line numbers."""
        return self.site or f"{self.module}+0x{self.offset:x}"

    @property
    def belongs_to_user(self) -> bool:
        """True for a position outside the distribution's libraries and powercut's own helpers."""
        return (
            self.site is not None
            and not self.in_library
            and not (
                self.file is not None
                and (self.file.startswith(_SYSTEM) or any(helper in self.file for helper in _HELPERS))
            )
        )

    @property
    def folder(self) -> str:
        """The folder of the file."""
        return os.path.dirname(self.file or "")

    @property
    def in_header(self) -> bool:
        """True for a header file."""
        return (self.file or "").endswith((".h", ".hh", ".hpp", ".hxx", ".inl"))

    def record(self) -> dict[str, Any]:
        """The frame as it stands in a finding record."""
        return {
            "function": self.function,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "module": self.module,
            "offset": self.offset,
            "inlined": self.inlined,
        }


def of_record(frame: places.Frame) -> Frame:
    """A frame of a record."""
    return Frame(
        function=frame.function,
        file=frame.file or None,
        line=frame.line,
        column=frame.column,
        module=frame.module,
        offset=frame.offset,
        inlined=frame.inlined,
    )


def _from_log(text: str, offset: int) -> Frame:
    """A frame as Valgrind wrote it: "main (a.c:9)", "main (in /bin/prog)", "???"."""
    match = re.fullmatch(r"(?P<function>.+?) \((?:in (?P<module>.+)|(?P<file>[^()]+):(?P<line>\d+))\)", text)
    function = match["function"] if match else text
    return Frame(
        function="??" if function == "???" else function,
        file=match["file"] if match else None,
        line=int(match["line"]) if match and match["line"] else 0,
        column=0,
        module=os.path.basename(match["module"]) if match and match["module"] else "pmemcheck log",
        offset=offset,
        inlined=False,
    )


def site_frame(frames: Sequence[Frame]) -> Frame | None:
    """The innermost frame of the user's code; else None.

    Where none of the user's frames has a position, the program has no line numbers: its innermost frame is taken, and
    told by its `place`. Where there is none of the user's at all, the innermost with a position is.

    A small helper in a header ("set this token") says less than the line that calls it: where frames of
    one folder lead from a header out to a source file, that file is taken. Code that is all header stays.
    """
    located = [frame for frame in frames if frame.site]
    chosen = next((frame for frame in located if frame.belongs_to_user), None)
    if chosen is None:
        own = (frame for frame in frames if not frame.in_library and frame.site is None)
        return next(own, located[0] if located else None)
    for frame in located[located.index(chosen) :]:
        if frame.folder != chosen.folder:
            break
        if not frame.in_header:
            return frame
    return chosen


class Symbolizer:
    """One symboliser process, shared by the threads of a command. Missing tool: frames without positions."""

    def __init__(self, program: str | None = None, *, root: Path | None = None) -> None:
        self._program = program or next((found for name in _PROGRAMS if (found := shutil.which(name))), None)
        self._root = root
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._cache: dict[tuple[str, int], tuple[Frame, ...]] = {}

    def __enter__(self) -> "Symbolizer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process; the cache stays."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            # What a symboliser that has ended did not read is still in the buffer.
            with contextlib.suppress(OSError):
                process.stdin.close()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def stack(self, modules: Sequence[Module], stack: Sequence[tuple[int, int]], *, fault: bool = False) -> list[Frame]:
        """The frames of a raw stack, innermost first, inlined frames expanded."""
        frames: list[Frame] = []
        for depth, (index, offset) in enumerate(stack):
            path = modules[index].path if 0 <= index < len(modules) else ""
            exact = fault and depth == 0
            frames += self._lookup(path, offset, offset if exact else max(offset - 1, 0))
        return frames

    def _lookup(self, path: str, offset: int, address: int) -> tuple[Frame, ...]:
        with self._lock:
            key = (path, address)
            if key not in self._cache:
                self._cache[key] = self._ask(path, offset, address)
            return self._cache[key]

    def _ask(self, path: str, offset: int, address: int) -> tuple[Frame, ...]:
        if path.startswith(LOG_MODULE):
            return (_from_log(path.removeprefix(LOG_MODULE), offset),)
        module = os.path.basename(path) or "?"
        unknown = (
            Frame(
                function="??",
                file=None,
                line=0,
                column=0,
                module=module,
                offset=offset,
                inlined=False,
                in_library=path.startswith(_LIBRARIES),
            ),
        )
        if not path or '"' in path or "\n" in path or self._program is None:
            return unknown
        symbols = self._symbols(path, address)
        if not symbols:
            return unknown
        last = len(symbols) - 1
        return tuple(
            Frame(
                function=symbol.get("FunctionName") or "??",
                file=paths.relative(name, root=self._root) if (name := symbol.get("FileName")) else None,
                line=int(symbol.get("Line") or 0),
                column=int(symbol.get("Column") or 0),
                module=module,
                offset=offset,
                inlined=position < last,
                in_library=path.startswith(_LIBRARIES),
                start_file=paths.relative(start, root=self._root) if (start := symbol.get("StartFileName")) else None,
                start_line=int(symbol.get("StartLine") or 0),
                start_offset=int(str(symbol.get("StartAddress") or "0"), 16),
            )
            for position, symbol in enumerate(symbols)
        )

    def _symbols(self, path: str, address: int) -> list[dict[str, Any]]:
        """The functions at an address, inlined ones first.

        Code that a compiler has merged from several lines has line 0. It gets the line of the code before it in the
        same function, which the same statement or its neighbour was compiled to.
        """
        symbols = self._code(path, address)
        if not symbols or not symbols[0].get("FileName") or symbols[0].get("Line"):
            return symbols
        for before in range(address - 1, max(address - _MERGED_CODE, 0), -1):
            found = self._code(path, before)
            if not found or found[-1].get("FunctionName") != symbols[-1].get("FunctionName"):
                break
            if found[0].get("Line"):
                return found
        return symbols

    def _code(self, path: str, address: int) -> list[dict[str, Any]]:
        answer = self._request(f'CODE "{path}" 0x{address:x}\n')
        symbols = answer.get("Symbol") if answer else None
        return symbols if isinstance(symbols, list) else []

    def _request(self, request: str) -> dict[str, Any] | None:
        """One question and its answer; None when the process cannot be asked (positions are lost, not findings)."""
        try:
            process = self._running()
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(request)
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
        except (OSError, ValueError):
            return None
        return answer if isinstance(answer, dict) else None

    def _running(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            assert self._program is not None
            self._process = subprocess.Popen(
                [self._program, "--output-style=JSON", "--inlines", "--demangle"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                errors="replace",
                process_group=0,
            )
        return self._process
