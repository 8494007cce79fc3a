"""Atoms: the pieces of a store that the hardware never tears, and the order in which they become visible.

A store within an aligned quadword is never torn on any x86-64 (Intel SDM vol. 3, "Guaranteed Atomic Operations"; AMD64
manual vol. 2, "Access Atomicity"). Beyond that the vendors promise different things or nothing, so a store is cut at
8-byte boundaries and nobody knows in which order its pieces land. The C standard promises even less for `memcpy` and
friends: policy `byte`.
"""

from __future__ import annotations

from dataclasses import dataclass

from .program import ATOM_SIZE, LINE_SIZE, AtomPolicy, Event, line_of


@dataclass(frozen=True, slots=True)
class Atom:
    """One untearable piece. `store` is the index of its event, so it orders atoms of different stores."""

    store: int
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


def split(event: Event, index: int, policy: AtomPolicy) -> list[Atom]:
    """The atoms of the store-like event number `index`, ascending by address. Never crosses a line."""
    grain = 1 if policy == "byte" and event.memcall else ATOM_SIZE
    if event.op == "rmw":
        grain = LINE_SIZE  # `lock` makes it one event of the cache (cmpxchg16b): never torn within a line
    atoms = []
    start, end = event.addr, event.addr + len(event.data)
    while start < end:
        stop = min(end, start - start % grain + grain)
        data = event.data[start - event.addr : stop - event.addr]
        atoms.append(Atom(index, start, data, event.thread, event.op != "ntstore"))
        start = stop
    return atoms


def overlap(a: Atom, b: Atom) -> bool:
    return a.addr < b.end and b.addr < a.end


def content(base: int, size: int, persisted: list[Atom]) -> bytes:
    """Bytes [base, base + size) after the persisted atoms fell on zeroes in visibility order."""
    image = bytearray(size)
    for atom in sorted(persisted, key=lambda a: a.store):
        image[atom.addr - base : atom.end - base] = atom.data
    return bytes(image)
