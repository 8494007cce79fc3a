"""The functions that store to what may be a pool, as the compiler pass knows them, and which of them were reached.

The engine tells of a target's functions in its events. Instrumented programs leave a file for each module in the folder
that `POWERCUT_REACHED` names (`tracer/runtime/store_functions.h` has the format).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.symbols.function_names import function_name

#: Names the folder to the runtime of an instrumented program.
VARIABLE = "POWERCUT_REACHED"


@dataclass(frozen=True, order=True)
class StoreFunction:
    """A function of the source; `line` is that of its beginning, 0 without debug information."""

    file: str
    line: int
    function: str

    def record(self) -> dict[str, Any]:
        """The function as it stands in a run record."""
        return {"function": self.function, "file": self.file, "line": self.line}


@dataclass(frozen=True, kw_only=True)
class StoreFunctions:
    """Functions that were reached, and the others. All instances of a template are one function."""

    reached: frozenset[StoreFunction] = field(default_factory=frozenset)
    missed: frozenset[StoreFunction] = field(default_factory=frozenset)

    def record(self) -> dict[str, list[dict[str, Any]]]:
        """Both lists, for an event."""
        return {name: [each.record() for each in sorted(getattr(self, name))] for name in ("reached", "missed")}

    @property
    def empty(self) -> bool:
        """No instrumented module was there."""
        return not self.reached and not self.missed


def of_event(rows: Iterable[Mapping[str, Any]]) -> frozenset[StoreFunction]:
    """The functions of a list in an event."""
    return frozenset(_function(str(row["function"]), str(row["file"]), int(row["line"])) for row in rows)


def of_folder(folder: Path) -> StoreFunctions:
    """Reads the counts that all processes of a recording, or of a recovery, have left in `folder`."""
    reached: set[StoreFunction] = set()
    known: set[StoreFunction] = set()
    for file in folder.iterdir():
        for function, mark in _read(file.read_bytes()):
            known.add(function)
            if mark:
                reached.add(function)
    return StoreFunctions(reached=frozenset(reached), missed=frozenset(known - reached))


def _read(content: bytes) -> Iterable[tuple[StoreFunction, int]]:
    """A process that was killed while it began has left a part of a file, which says nothing."""
    head, _, rest = content.partition(b"\n")
    count = int(head) if head.isdigit() else 0
    *lines, marks = rest.split(b"\n", count)
    if len(lines) != count or len(marks) != count:
        return
    for text, mark in zip(lines, marks, strict=True):
        parts = text.decode("utf-8", errors="replace").split("\t")
        if len(parts) == 3 and parts[2].isdigit():
            yield _function(parts[0], parts[1], int(parts[2])), mark


def _function(name: str, file: str, line: int) -> StoreFunction:
    return StoreFunction(file=paths.relative(file), line=line, function=function_name(name) or name)
