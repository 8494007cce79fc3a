"""NOR flash by brute force, in its own terms: cells of a part that are programmed and erased.

Every content that a power cut in the middle of an operation may leave is listed from the words of the part's
parameters (`replayer/MODELS.md`, "nor"). Nothing here knows how `powercut/nor.h` writes a pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

from replayer.reference.program import ProgramError

VALUES = {
    "again": ("once", "twice", "twice-zero", "bits"),
    "torn": ("unit", "byte", "bit"),
    "erase": ("prefix", "mix"),
    "kind": ("flash", "rram", "eeprom"),
    "ecc": ("off", "on"),
}
UNITS = (1, 2, 4, 8, 16, 32)
ERASED = 0xFF


@dataclass(frozen=True, slots=True)
class Cell:
    """Bytes that a power cut decides together, and the number of their programs since the last erase."""

    data: bytes
    programs: int = 0
    readable: bool = True


Choices = list[list[Cell]]  # for each cell of the device what it may hold


@dataclass(frozen=True, slots=True)
class Part:
    """The parameters of a part, by their names."""

    unit: int = 4
    sector: int = 4096
    again: str = "once"
    torn: str = "unit"
    erase: str = "prefix"
    kind: str = "flash"
    ecc: str = "off"

    @staticmethod
    def of(parameters: Mapping[str, str]) -> Part:
        """The part with these parameters. ProgramError for a name or a value that no part has."""
        chosen: dict[str, Any] = {}
        for name, value in parameters.items():
            if value in VALUES.get(name, ()):
                chosen[name] = value
            elif (name == "unit" and int(value) in UNITS) or (name == "sector" and int(value) > 0):
                chosen[name] = int(value)
            else:
                raise ProgramError(f"no part of NOR flash has {name} = {value}.")
        part = replace(Part(), **chosen)
        if part.sector % part.unit:
            raise ProgramError("a sector is of whole units.")
        return part

    @property
    def cell(self) -> int:
        return 1 if self.torn == "bit" and self.ecc == "off" else self.unit

    def takes(self, old: bytes, programs: int, new: bytes) -> bool:
        """Whether a unit that was programmed so often takes this program."""
        if self.kind != "flash":
            return True
        most = {"once": 1, "bits": programs + 1}.get(self.again, 2)
        zero = self.again != "twice-zero" or programs == 0 or not any(new)
        return programs < most and zero and all(b & ~a == 0 for a, b in zip(old, new, strict=True))

    def torn_contents(self, old: bytes, new: bytes) -> set[bytes]:
        """The contents that a unit may have while its program runs, from the first to the last instant."""
        if self.torn == "byte":
            return {new[:count] + old[count:] for count in range(len(new) + 1)}
        if self.torn == "unit":
            return {old, new}
        each = [[a ^ mask for mask in range(256) if mask & ~(a ^ b) == 0] for a, b in zip(old, new, strict=True)]
        return {bytes(chosen) for chosen in product(*each)}


class Memory:
    """A device between two operations."""

    def __init__(self, part: Part, size: int) -> None:
        self.part = part
        self.cells = [Cell(bytes([ERASED]) * part.cell)] * (size // part.cell)

    def program(self, at: int, data: bytes) -> Iterator[tuple[int, list[str]]] | None:
        """Programs whole units; yields, for each unit in turn, the number of states and the images in its middle. None
        if the part refuses."""
        unit = self.part.unit
        if at % unit or len(data) % unit or at + len(data) > len(self.cells) * self.part.cell:
            return None
        parts = [(at + done, data[done : done + unit]) for done in range(0, len(data), unit)]
        if not all(self._takes(place, new) for place, new in parts):
            return None
        return (self._program_unit(place, new) for place, new in parts)

    def _of(self, at: int) -> range:
        """The cells of the unit at this byte."""
        return range(at // self.part.cell, (at + self.part.unit) // self.part.cell)

    def _takes(self, at: int, new: bytes) -> bool:
        here = [self.cells[number] for number in self._of(at)]
        readable = self.part.kind != "flash" or all(cell.readable for cell in here)
        old = b"".join(cell.data for cell in here)
        return readable and self.part.takes(old, max(cell.programs for cell in here), new)

    def _program_unit(self, at: int, new: bytes) -> tuple[int, list[str]]:
        size, choices = self.part.cell, [[cell] for cell in self.cells]
        earlier = max(self.cells[number].programs for number in self._of(at))
        programs = earlier + 1 if self.part.kind == "flash" else 1
        for i, number in enumerate(self._of(at)):
            old, to = self.cells[number], new[i * size : (i + 1) * size]
            if self.part.ecc == "on":
                done, torn = Cell(to, programs), [Cell(to, programs, readable=False)]
            else:
                done = Cell(to, programs) if to != old.data else old
                torn = [Cell(some, programs) for some in self.part.torn_contents(old.data, to) if some != old.data]
            choices[number] = list({old, done, *torn})
            self.cells[number] = done
        return counted(choices)

    def erase(self, at: int) -> Iterator[tuple[int, list[str]]] | None:
        """Erases the sector of this byte; yields as `program` does. The sector's count of erases comes first."""
        if self.part.kind != "flash":
            return None
        return self._erase(at - at % self.part.sector)

    def _erase(self, first: int) -> Iterator[tuple[int, list[str]]]:
        size, now = self.part.cell, [[cell] for cell in self.cells]
        yield 2 * counted(now)[0], counted(now)[1]
        cells = range(first // size, (first + self.part.sector) // size)
        together = [[number] for number in cells] if self.part.erase == "prefix" else [list(cells)]
        for numbers in together:
            choices = [[cell] for cell in self.cells]
            for number in numbers:
                # A stale byte of an erased cell is nobody's.
                choices[number] = list({self.cells[number], Cell(bytes([ERASED]) * size)})
                self.cells[number] = Cell(bytes([ERASED]) * size)
            yield counted(choices)


def counted(choices: Choices) -> tuple[int, list[str]]:
    """The number of states, and every distinct content of the device; "xx" for a byte that cannot be read."""
    texts = [
        sorted({cell.data.hex() if cell.readable else "xx" * len(cell.data) for cell in cells}) for cells in choices
    ]
    return prod(len(cells) for cells in choices), ["".join(chosen) for chosen in product(*texts)]


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    """The crash points of a program of a part, as `powercut-engine model` answers."""
    part = Part.of(request["part"])
    memory = Memory(part, int(request.get("pool_size", part.sector)))
    points: list[dict[str, Any]] = []
    refused: list[int] = []
    events: Sequence[Mapping[str, Any]] = request["events"]
    for step, event in enumerate(events):
        if event["op"] == "end":
            points.append(_point("after", step, counted([[cell] for cell in memory.cells])))
            continue
        at = int(event["addr"])
        middle = memory.program(at, bytes.fromhex(event["bytes"])) if event["op"] == "program" else memory.erase(at)
        if middle is None:
            refused.append(step)
            continue
        points += [_point("during", step, found) for found in middle if found[0] > 1]
    if events and events[-1]["op"] != "end" and len(refused) < len(events):
        points.append(_point("after", len(events) - 1, counted([[cell] for cell in memory.cells])))
    return {"crash_points": points, "refused": refused}


def _point(side: str, step: int, found: tuple[int, list[str]]) -> dict[str, Any]:
    return {side: step, "states": str(found[0]), "images": sorted(found[1])}
