"""The models of devices by brute force, in their own terms: writes to units of sectors, programs and erases of pages.

`Block`: a write to a unit is one whole. Any set of those that are not certainly durable may have reached the medium,
and of two that have, the later one shows. `Flash`: what is stored to a page or an erase block is there in order, each
store whole, and is durable once the line is forced.

Sources: NVM Express Base Specification 2.0 (FLUSH, "Force Unit Access", AWUPF); Open NAND Flash Interface 5.1; Tseng,
Grupp and Swanson, "Understanding the impact of power loss on flash memory" (DAC 2011).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import chain, combinations

from .program import DEVICE_FLUSH, FORCE, LINE_SIZE, Event, Program, line_of

Write = tuple[int, int, bytes]  # number, address, bytes: within one line


class Device(ABC):
    """Which writes there were, and which are certainly durable."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.writes: list[Write] = []
        self.durable: set[int] = set()  # numbers

    def apply(self, event: Event, index: int) -> None:
        del index
        if event.op in ("store", "ntstore"):
            self.write(event)
        elif event.kind == FORCE:
            self.force(event.addr)
        elif event.kind == DEVICE_FLUSH:
            self.flush()

    def write(self, event: Event) -> None:
        """One write for each line that it touches."""
        start, end = event.addr, event.addr + len(event.data)
        while start < end:
            stop = min(end, line_of(start) + LINE_SIZE)
            data = event.data[start - event.addr : stop - event.addr]
            self.writes.append((len(self.writes), start, data))
            start = stop

    def of(self, line: int) -> list[Write]:
        return [write for write in self.writes if line_of(write[1]) == line]

    def lines(self) -> list[int]:
        return sorted({line_of(address) for _, address, _ in self.writes})

    @abstractmethod
    def force(self, address: int) -> None:
        """Makes the last write to this address durable."""

    @abstractmethod
    def flush(self) -> None:
        """All that was written is durable, where writes wait for this."""

    @abstractmethod
    def legal(self, line: int) -> list[list[Write]]:
        """Every set of writes that may have reached the medium, in order."""

    def contents(self, line: int) -> list[bytes]:
        return sorted({laid_over(line, persisted) for persisted in self.legal(line)})


def laid_over(line: int, writes: list[Write]) -> bytes:
    image = bytearray(LINE_SIZE)
    for _, address, data in writes:
        image[address - line : address - line + len(data)] = data
    return bytes(image)


class Block(Device):
    def force(self, address: int) -> None:
        """The last write to this sector, with whatever else of the unit it wrote."""
        touching = [number for number, at, data in self.writes if at <= address < at + len(data)]
        self.durable |= set(touching[-1:])

    def flush(self) -> None:
        self.durable |= {number for number, _, _ in self.writes}

    def legal(self, line: int) -> list[list[Write]]:
        here = self.of(line)
        open_ = [write for write in here if write[0] not in self.durable]
        sure = [write for write in here if write[0] in self.durable]
        subsets = chain.from_iterable(combinations(open_, size) for size in range(len(open_) + 1))
        return [sorted([*sure, *chosen]) for chosen in subsets]


class Flash(Device):
    def force(self, address: int) -> None:
        self.durable |= {number for number, _, _ in self.of(line_of(address))}

    def flush(self) -> None:
        pass

    def legal(self, line: int) -> list[list[Write]]:
        here = self.of(line)
        sure = sum(write[0] in self.durable for write in here)
        return [here[:size] for size in range(sure, len(here) + 1)]
