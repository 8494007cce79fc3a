"""Threads with store buffers, by brute force: PTSOsyn of Khyzha and Lahav (POPL 2021), which has the outcomes of Px86.

The rest of the reference takes a thread's stores as seen by all at once, as the engine does for targets. Here stores,
flushes and `sfence` wait in a buffer of their thread, which its loads look into and which others do not see. An entry
that leaves the buffer enters the queue of its line, from whose front the medium takes it. A litmus test that is in
scope has the same outcomes here (`tests/test_store_buffers.py`).

Known limits: no non-temporal stores; a store's atoms are those of the policy `any`, and become visible one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from .atoms import split
from .program import LINE_SIZE, Event, ProgramError, line_of
from .threads import Frontier, History, Threads

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a buffer or a queue."""

    kind: str  # "store", "clflush", "clwb" (and clflushopt), "sfence"
    thread: int
    line: int = -1
    store: int = -1  # the number of the store in its thread
    addr: int = 0
    data: bytes = b""

    def may_pass(self, before: Entry) -> bool:
        """Whether it may leave the buffer ahead of `before` (order table of Raad et al., POPL 2020)."""
        if self.kind == "store":
            return before.kind == "clwb" or (before.kind == "store" and before.store == self.store)
        if self.kind == "clflush":
            return before.kind == "clwb" and before.line != self.line
        return self.kind == "clwb" and before.kind != "sfence" and (before.kind == "clwb" or before.line != self.line)


@dataclass(frozen=True, slots=True)
class State:
    at: tuple[int, ...]  # the next event of each thread
    buffers: tuple[tuple[Entry, ...], ...]
    loaded: tuple[bytes, ...]
    queue: tuple[Entry, ...]  # of all lines; the lines' own orders matter
    medium: bytes
    history: History = ()

    def seen(self, thread: int | None = None) -> bytes:
        """Memory as all see it, or as a thread does."""
        memory = bytearray(self.medium)
        for entry in self.queue + (self.buffers[thread] if thread is not None else ()):
            memory[entry.addr : entry.addr + len(entry.data)] = entry.data
        return bytes(memory)

    def fenced(self, thread: int) -> bool:
        """Nothing is under way that a fence of the thread waits for."""
        return not any(entry.kind == "clwb" and entry.thread == thread for entry in self.queue)

    def made(self, thread: int) -> State:
        return replace(self, at=_with(self.at, thread, self.at[thread] + 1))

    def enqueued(self, entries: tuple[Entry, ...], *, caches_persist: bool) -> State:
        if not caches_persist:
            return replace(self, queue=self.queue + entries)
        return replace(self, medium=replace(self, queue=entries).seen())

    def buffered(self, thread: int, *entries: Entry) -> State:
        return replace(self, buffers=_with(self.buffers, thread, self.buffers[thread] + entries))


def images(program: Threads) -> set[bytes]:
    """Contents that the pool may have after a power cut at any instant of any execution."""
    return {image for _, image in left(program)}


def left(program: Threads) -> set[tuple[History, bytes]]:
    """These contents, each with the operations begun and ended until then."""
    nothing = len(program.threads)
    todo = [State((0,) * nothing, ((),) * nothing, (b"",) * nothing, (), bytes(program.pool_size))]
    known = set(todo)
    while todo:
        now = todo.pop()
        for then in (*_persisted(now), *_propagated(now, program), *_issued(now, program)):
            if then not in known:
                known.add(then)
                todo.append(then)
    return {(state.history, state.medium) for state in known}


def answer(program: Threads) -> dict[str, Any]:
    """In the form in which `powercut-engine model` gives what saturated cuts leave; each image is one of its own."""
    every = {
        Frontier(
            history,
            tuple((at, frozenset({image[at : at + LINE_SIZE]})) for at in range(0, program.pool_size, LINE_SIZE)),
        )
        for history, image in left(program)
    }
    return {"frontiers": [frontier.to_json() for frontier in every]}


def _persisted(now: State) -> Iterator[State]:
    lines = [entry.line for entry in now.queue]
    for index, entry in enumerate(now.queue):
        if entry.line not in lines[:index]:
            rest = replace(now, queue=now.queue[:index] + now.queue[index + 1 :])
            yield rest.enqueued((entry,), caches_persist=True)


def _propagated(now: State, program: Threads) -> Iterator[State]:
    eadr = program.model == "eadr"
    for thread, buffer in enumerate(now.buffers):
        for index, entry in enumerate(buffer):
            if not all(entry.may_pass(before) for before in buffer[:index]):
                continue
            rest = replace(now, buffers=_with(now.buffers, thread, buffer[:index] + buffer[index + 1 :]))
            if entry.kind in ("store", "clwb"):
                yield rest.enqueued((entry,), caches_persist=eadr)
                continue
            done = now.fenced(thread) if entry.kind == "sfence" else all(e.line != entry.line for e in now.queue)
            if done:
                yield rest


def _issued(now: State, program: Threads) -> Iterator[State]:
    for thread, events in enumerate(program.threads):
        if now.at[thread] < len(events):
            event = events[now.at[thread]]
            if event.op in ("begin", "end"):
                yield replace(now.made(thread), history=(*now.history, (event.op, thread)))
            elif event.op in ("store", "store-loaded", "flush", "load", "wait") or event.kind == "sfence":
                yield from _buffered(now, event)
            elif not now.buffers[thread] and now.fenced(thread):
                yield from _locked(now, event, program)


def _buffered(now: State, event: Event) -> Iterator[State]:
    thread, then = event.thread, now.made(event.thread)
    seen = now.seen(thread)
    if event.op == "wait":
        if seen[event.addr :][: len(event.expected)] == event.expected:
            yield then
    elif event.op == "load":
        yield replace(then, loaded=_with(now.loaded, thread, seen[event.addr :][: event.size]))
    elif event.op == "flush":
        kind = "clflush" if event.kind == "clflush" else "clwb"
        yield then.buffered(thread, Entry(kind, thread, line_of(event.addr)))
    elif event.op == "fence":
        yield then.buffered(thread, Entry("sfence", thread))
    else:
        stored = replace(event, op="store", data=event.data or now.loaded[thread])
        yield then.buffered(thread, *_entries(stored, now.at[thread]))


def _locked(now: State, event: Event, program: Threads) -> Iterator[State]:
    """`mfence` and locked instructions: the buffer is empty, and the write-backs of the thread are done."""
    then, held = now.made(event.thread), now.seen()[event.addr :]
    if event.op == "lock" and event.lock in _taken(now, program):
        return
    if event.op in ("fence", "cas-fail", "lock", "unlock") or (
        event.op == "cas" and held[: len(event.expected)] != event.expected
    ):
        yield then
        return
    if event.op not in ("rmw", "cas", "add"):
        raise ProgramError(f"{event.op}: no instruction of this model.")
    data, size = event.data, len(event.data)
    if event.op == "add":
        total = int.from_bytes(held[:size], "little") + int.from_bytes(data, "little")
        data = (total % (1 << 8 * size)).to_bytes(size, "little")
    entries = _entries(replace(event, op="rmw", data=data), now.at[event.thread])
    yield then.enqueued(entries, caches_persist=program.model == "eadr")


def _entries(event: Event, store: int) -> tuple[Entry, ...]:
    atoms = split(event, store, "any")
    return tuple(Entry("store", event.thread, atom.line, store, atom.addr, atom.data) for atom in atoms)


def _taken(now: State, program: Threads) -> set[str]:
    taken: set[str] = set()
    for thread, number in enumerate(now.at):
        for event in program.threads[thread][:number]:
            taken ^= {event.lock} if event.lock else set()
    return taken


def _with(values: tuple[T, ...], index: int, value: T) -> tuple[T, ...]:
    return (*values[:index], value, *values[index + 1 :])
