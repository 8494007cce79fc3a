"""A program of the reference: stores, flushes and fences of a few threads in visibility order.

The JSON form is the one that `powercut-engine model` reads, so one generated program feeds both sides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

LINE_SIZE = 64
ATOM_SIZE = 8
MAX_STORE_SIZE = 64

Model = str  # a name of `media.MODELS`
AtomPolicy = Literal["any", "ascending", "byte"]

STORE_OPS = ("store", "ntstore", "rmw")
OPS = (*STORE_OPS, "cas-fail", "flush", "fence", "begin", "end")
# Only where threads run in every order: what each of these does depends on the schedule.
THREAD_OPS = ("wait", "load", "store-loaded", "cas", "add", "lock", "unlock")
FLUSH_KINDS = ("clwb", "clflushopt", "clflush")
FENCE_KINDS = ("sfence", "mfence", "lock")
FORCE, DEVICE_FLUSH = "force", "device"


class ProgramError(ValueError):
    """The program cannot be judged; the message says which event, why, and what is accepted."""


@dataclass(frozen=True, slots=True)
class Event:
    """One instruction, or a piece of one. `addr` is a byte offset in the pool, `kind` the flush or fence kind."""

    op: str
    thread: int = 0
    addr: int = 0
    data: bytes = b""
    kind: str = ""
    memcall: bool = False
    continues: bool = False  # a further piece of the store before it
    direct: bool = False  # movdir64b
    expected: bytes = b""  # what memory has to hold: of "wait" and "cas"
    size: int = 0  # in bytes: of "load" and "store-loaded"
    lock: str = ""  # the name of a lock outside of the pool

    def to_json(self) -> dict[str, Any]:
        if self.op in ("begin", "end"):
            return {"op": self.op}
        answer: dict[str, Any] = {"op": self.op, "thread": self.thread}
        if self.op in (*STORE_OPS, "cas", "add"):
            answer |= {"addr": self.addr, "bytes": self.data.hex()}
        if self.op in ("flush", "wait", "load", "store-loaded"):
            answer["addr"] = self.addr
        if self.op in ("wait", "cas"):
            answer["expected"] = self.expected.hex()
        if self.op in ("load", "store-loaded"):
            answer["size"] = self.size
        if self.op in ("lock", "unlock"):
            answer["lock"] = self.lock
        if self.op in ("flush", "fence"):
            answer["kind"] = self.kind
        return answer | {name: True for name in ("memcall", "continues", "direct") if getattr(self, name)}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Event:
        return Event(
            op=str(record["op"]),
            thread=int(record.get("thread", 0)),
            addr=int(record.get("addr", 0)),
            data=bytes.fromhex(str(record.get("bytes", ""))),
            kind=str(record.get("kind", "")),
            memcall=bool(record.get("memcall", False)),
            continues=bool(record.get("continues", False)),
            direct=bool(record.get("direct", False)),
            expected=bytes.fromhex(str(record.get("expected", ""))),
            size=int(record.get("size", 0)),
            lock=str(record.get("lock", "")),
        )


@dataclass(frozen=True, slots=True)
class Program:
    """Events in visibility order over a pool that starts durable and zero."""

    model: Model
    atoms: AtomPolicy
    events: tuple[Event, ...]
    pool_size: int = 256

    def __post_init__(self) -> None:
        check_policy(self.atoms)
        for index, event in enumerate(self.events):
            where = f"event {index} ({event.op})"
            if event.op not in OPS:
                raise ProgramError(f"{where}: unknown operation; use one of {', '.join(OPS)}.")
            check(event, where, self.pool_size)
            if event.continues:
                _check_continues(event, where, self.events[index - 1] if index else None)

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "atoms": self.atoms,
            "pool_size": self.pool_size,
            "events": [event.to_json() for event in self.events],
        }

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Program:
        events: Sequence[Mapping[str, Any]] = record["events"]
        return Program(
            model=record["model"],
            atoms=record.get("atoms", "any"),
            events=tuple(Event.from_json(event) for event in events),
            pool_size=int(record.get("pool_size", 256)),
        )


def line_of(addr: int) -> int:
    """Address of the first byte of the line that holds `addr`."""
    return addr - addr % LINE_SIZE


def check_policy(atoms: str) -> None:
    """ProgramError unless `atoms` is an atom policy."""
    if atoms not in ("any", "ascending", "byte"):
        raise ProgramError(f"atom policy '{atoms}' is unknown; use any, ascending or byte.")


def check(event: Event, where: str, pool_size: int) -> None:
    """Refuses an event that no program can have; `where` names it in the message."""
    stores = (*STORE_OPS, "cas", "add")
    if event.op in stores and not 1 <= len(event.data) <= MAX_STORE_SIZE:
        raise ProgramError(f"{where}: a store has {len(event.data)} bytes; give 1 to {MAX_STORE_SIZE}.")
    size = max(1, len(event.data), len(event.expected), event.size)
    if event.op in (*stores, "flush", "wait", "load", "store-loaded") and not 0 <= event.addr <= pool_size - size:
        raise ProgramError(f"{where}: address {event.addr} leaves the pool of {pool_size} bytes.")
    kinds = {"flush": (*FLUSH_KINDS, FORCE), "fence": (*FENCE_KINDS, DEVICE_FLUSH)}.get(event.op)
    if kinds and event.kind not in kinds:
        raise ProgramError(f"{where}: kind '{event.kind}' is unknown; use one of {', '.join(kinds)}.")
    if event.memcall and event.op != "store":
        raise ProgramError(f"{where}: only a plain store can be a part of a mem* call.")
    if event.direct and (event.op != "ntstore" or len(event.data) != LINE_SIZE or event.addr % LINE_SIZE):
        raise ProgramError(f"{where}: a direct store is a non-temporal one of a whole line.")


def _check_continues(event: Event, where: str, before: Event | None) -> None:
    if event.op not in ("store", "ntstore") or before is None or (before.op, before.thread) != (event.op, event.thread):
        raise ProgramError(f"{where}: continues no store of its kind and thread.")
