"""Devices by brute force, in their own terms: whole writes to lines, which a force or a flush makes durable."""

from __future__ import annotations

from abc import abstractmethod

from .crashes import Rules
from .program import DEVICE_FLUSH, FORCE, LINE_SIZE, Event, Program, line_of

Write = tuple[int, int, bytes]  # number, address, bytes: within one line


class Device(Rules):
    """Which writes there were, and which are certainly durable."""

    kinds = (FORCE, DEVICE_FLUSH)

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.writes: list[Write] = []
        self.durable: set[int] = set()  # numbers

    def apply(self, event: Event, index: int) -> None:
        del index
        if event.op in ("store", "ntstore"):
            self.write(event)
        else:
            self.make_durable(event)

    def make_durable(self, event: Event) -> None:
        if event.kind == FORCE:
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


class InOrder(Device):
    """Writes to a line reach the medium in their order: a prefix of them, with all that is certainly durable."""

    def legal(self, line: int) -> list[list[Write]]:
        here = self.of(line)
        sure = sum(write[0] in self.durable for write in here)
        return [here[:size] for size in range(sure, len(here) + 1)]


class Flushed(InOrder):
    """The device's flush alone makes writes durable."""

    def force(self, address: int) -> None:
        pass

    def flush(self) -> None:
        self.durable |= {number for number, _, _ in self.writes}


def laid_over(line: int, writes: list[Write]) -> bytes:
    image = bytearray(LINE_SIZE)
    for _, address, data in writes:
        image[address - line : address - line + len(data)] = data
    return bytes(image)
