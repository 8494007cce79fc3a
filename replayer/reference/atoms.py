"""Atoms: the pieces of a store that the hardware never tears, and the order in which they become visible.

A store within an aligned quadword is never torn on any x86-64 (Intel SDM vol. 3, "Guaranteed Atomic Operations"; AMD64
manual vol. 2, "Access Atomicity"). For wider stores the vendors promise different things or nothing. A store is
therefore cut at 8-byte boundaries, and nobody knows in which order its pieces land. `memcpy` and friends are several
moves, which may overlap: policy `any` cuts where one begins. The C standard promises even less: policy `byte`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .program import ATOM_SIZE, LINE_SIZE, AtomPolicy, Event, line_of


@dataclass(frozen=True, slots=True)
class Atom:
    """One untearable piece. `store` is the index of the store's first event, so it orders atoms of different stores;
    `piece`, that of the event itself, orders those of one store that overlap."""

    store: int
    piece: int
    addr: int
    data: bytes
    thread: int
    cacheable: bool

    @property
    def line(self) -> int:
        return line_of(self.addr)

    @property
    def end(self) -> int:
        return self.addr + len(self.data)


def split(event: Event, index: int, policy: AtomPolicy, store: int | None = None) -> list[Atom]:
    """The atoms of the store-like event number `index`, ascending by address. Never crosses a line.

    `store`: the index of the event that it continues.
    """
    grain = 1 if policy == "byte" and event.memcall else ATOM_SIZE
    if event.op == "rmw" or event.direct:
        grain = LINE_SIZE  # `lock` makes it one event of the cache (cmpxchg16b): never torn within a line
    start, end = event.addr, event.addr + len(event.data)
    stops = {end, *(at for at in range(start + 1, end) if at % grain == 0)}
    if policy == "any" and event.memcall:
        stops |= {start + move for move in move_starts(len(event.data)) if move > 0}
    atoms = []
    for stop in sorted(stops):
        data = event.data[start - event.addr : stop - event.addr]
        atoms.append(Atom(index if store is None else store, index, start, data, event.thread, event.op != "ntstore"))
        start = stop
    return atoms


def move_starts(size: int) -> set[int]:
    """Where the moves of a copy begin: powers of two up to a vector, the greatest first; or the last ones overlap."""
    widths = [width for width in (64, 32, 16, 8, 4, 2, 1) if width <= size]
    done, starts = 0, set()
    for width in widths:
        while size - done >= width:
            starts.add(done)
            done += width
    rest = size % widths[0]
    lasts = [widths[0], *(width for width in widths if width >= rest > width // 2)]
    return starts | {size - width for width in lasts}


def overlap(a: Atom, b: Atom) -> bool:
    return a.addr < b.end and b.addr < a.end


def content(base: int, size: int, persisted: list[Atom]) -> bytes:
    """Bytes [base, base + size) after the persisted atoms fell on zeroes in visibility order."""
    image = bytearray(size)
    for atom in sorted(persisted, key=lambda a: (a.store, a.piece)):
        image[atom.addr - base : atom.end - base] = atom.data
    return bytes(image)
