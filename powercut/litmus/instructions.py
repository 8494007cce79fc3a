"""The instructions of litmus programs, as the events that `powercut-engine model` takes (replayer/LITMUS.md)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

LINE = 64
#: Stores: `write`, `force` and `flush` are of devices, the others of memory.
STORES = {
    "store": "store",
    "write": "store",
    "ntstore": "ntstore",
    "memcpy": "store",
    "rmw": "rmw",
    "movdir64b": "ntstore",
}
PIECES = ("store", "ntstore", "memcpy")  # may continue the store before them
FLUSHES = ("clwb", "clflushopt", "clflush", "force")
FENCES = {"sfence": "sfence", "mfence": "mfence", "lock": "lock", "flush": "device"}
THREADED = ("wait", "copy", "cas", "add", "lock", "unlock")  # have a meaning in tests with threads alone

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Location:
    """A little-endian integer of `size` bytes at pool offset `addr`, within one line."""

    addr: int
    size: int

    @property
    def line(self) -> int:
        return self.addr - self.addr % LINE


def location_of(name: str, place: Mapping[str, int]) -> Location:
    if unknown := set(place) - {"line", "at", "size"}:
        raise ValueError(f"location {name}: unknown key {sorted(unknown)}; known are line, at, size.")
    offset, size = place.get("at", 0), place.get("size", 8)
    if offset < 0 or size < 1 or offset + size > LINE or place["line"] < 0:
        raise ValueError(f"location {name}: must lie within one line of {LINE} bytes.")
    return Location(place["line"] * LINE + offset, size)


def event_of(text: str, locations: Mapping[str, Location]) -> dict[str, Any]:
    """`T0: store x 1` and the like; see the README."""
    if text in ("begin", "end"):
        return {"op": text}
    head, _, rest = text.partition(":")
    op, *arguments = rest.split() or [""]
    thread = thread_of(head, text)
    continues = op == "and" and arguments[:1] and arguments[0] in PIECES
    if continues:
        op, arguments = arguments[0], arguments[1:]
    if op in STORES and len(arguments) >= 2:
        data = bytes_of(arguments[1:], locations[arguments[0]].size)
        event = {"op": STORES[op], "thread": thread, "addr": locations[arguments[0]].addr, "bytes": data.hex()}
        flags = {"memcall": op == "memcpy", "continues": continues, "direct": op == "movdir64b"}
        return event | {name: True for name, is_set in flags.items() if is_set}
    if op in FLUSHES and len(arguments) == 1:
        return {"op": "flush", "thread": thread, "addr": locations[arguments[0]].addr, "kind": op}
    if op in FENCES and not arguments:
        return {"op": "fence", "thread": thread, "kind": FENCES[op]}
    if op == "cas-fail" and len(arguments) == 1 and arguments[0] in locations:
        return {"op": "cas-fail", "thread": thread}  # a failed one stores nothing; the location is for the reader
    if op in THREADED:
        raise ValueError(f"program: '{text}' needs schedules = 'all'.")
    raise ValueError(f"program: '{text}' is no instruction")


def nor_event_of(text: str, locations: Mapping[str, Location]) -> Event:
    """`program x 1 2` and `erase x`: an operation on NOR flash, which is durable when it returns."""
    op, *arguments = text.split()
    place = locations[arguments[0]] if arguments else None
    if place is not None and op == "program" and len(arguments) > 1:
        return {"op": op, "addr": place.addr, "bytes": bytes_of(arguments[1:], place.size).hex()}
    if place is not None and op == "erase" and len(arguments) == 1:
        return {"op": op, "addr": place.addr}
    raise ValueError(f"program: '{text}' is no operation of NOR flash; write 'program x 1' or 'erase x'.")


def thread_events_of(text: str, locations: Mapping[str, Location]) -> list[Event]:
    """The events of one instruction in a test with threads; a copy is two, and another thread may come between them."""
    head, _, rest = text.partition(":")
    op, *arguments = rest.split() or [""]
    if text in ("begin", "end", "crash", "crash during"):
        raise ValueError(f"program: '{text}' has no place where every instant of every schedule is meant.")
    if op == "and":
        raise ValueError(f"program: '{text}': a store of threads has one piece.")
    if op not in THREADED:
        return [event_of(text, locations)]
    thread = thread_of(head, text)
    if op in ("lock", "unlock") and len(arguments) == 1:
        if arguments[0] in locations:
            raise ValueError(f"program: '{text}': a lock is no location of the pool.")
        return [{"op": op, "thread": thread, "lock": arguments[0]}]
    if len(arguments) != {"wait": 2, "copy": 2, "cas": 3, "add": 2}.get(op, 1):
        raise ValueError(f"program: '{text}' is no instruction")
    place = locations[arguments[0]]
    at = {"thread": thread, "addr": place.addr}
    if op == "copy":
        source = locations[arguments[1]]
        if source.size != place.size:
            raise ValueError(f"program: '{text}': {arguments[0]} and {arguments[1]} differ in size.")
        load = {"op": "load", "thread": thread, "addr": source.addr, "size": source.size}
        return [load, {"op": "store-loaded", "size": place.size} | at]
    values = [bytes_of([value], place.size).hex() for value in arguments[1:]]
    if op == "wait":
        return [{"op": "wait", "expected": values[0]} | at]
    if op == "cas":
        return [{"op": "cas", "expected": values[0], "bytes": values[1]} | at]
    return [{"op": "add", "bytes": values[0]} | at]


def thread_of(head: str, text: str) -> int:
    """The number in front of an instruction."""
    if head[:1] != "T" or not head[1:].isdigit():
        raise ValueError(
            f"program: cannot read '{text}'. Write 'T0: store x 1', 'T1: clwb x', 'begin', 'end' or 'crash'."
        )
    return int(head[1:])


def bytes_of(values: list[str], size: int) -> bytes:
    """`store x 1 2` writes two neighbours as one store, each as wide as the location x."""
    return b"".join(int(value, 0).to_bytes(size, "little") for value in values)
