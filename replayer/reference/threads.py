"""Several threads: every interleaving and every instant of it, and the cuts that stand for all of them.

A power cut ends all threads at one instant. `explored` visits each instant of each interleaving of a small program and
says what a cut there leaves: a *frontier*, the contents that each line may have and the history of begins and ends. It
also says which of these instants are *saturated*: no thread can go on without an operation's begin or end, or an event
that makes something durable. MODELS.md, "Cuts of several threads", argues that these suffice: whatever an instant
leaves, a saturated one with the same history leaves as well. `uncovered` looks for what contradicts that.

Visibility is sequentially consistent, as everywhere in the reference: memory as all see it decides whether a `wait`
goes on, what a `load` remembers, and what a `cas` or an `add` stores. A thread that waits, for a value or for a lock,
has no next event. Two instants are one where all that later events and cuts can tell apart is equal: how far the
threads are, what they have loaded, the history, and what each line holds in which order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from replayer.media.memory.reference import MODELS, Adr, Eadr

from .atoms import Atom, content
from .program import (
    LINE_SIZE,
    OPS,
    STORE_OPS,
    THREAD_OPS,
    AtomPolicy,
    Event,
    Model,
    Program,
    ProgramError,
    check,
    check_policy,
)

History = tuple[tuple[str, int], ...]  # begins and ends, and whose, in their order
Lines = tuple[tuple[int, frozenset[bytes]], ...]  # by address; those that no store has reached are not there


@dataclass(frozen=True, slots=True)
class Threads:
    """The events of each thread in its order. No store has several pieces; a thread unlocks what it holds."""

    model: Model
    atoms: AtomPolicy
    threads: tuple[tuple[Event, ...], ...]
    pool_size: int = 128  # in bytes: whole lines

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise ProgramError(f"model '{self.model}' is not one of memory; use {' or '.join(MODELS)}.")
        check_policy(self.atoms)
        if self.pool_size % LINE_SIZE:
            raise ProgramError(f"a pool of {self.pool_size} bytes: give whole lines of {LINE_SIZE} bytes.")
        for thread, events in enumerate(self.threads):
            held: set[str] = set()
            loaded = 0
            for number, event in enumerate(events):
                where = f"thread {thread}, event {number} ({event.op})"
                if event.op not in (*OPS, *THREAD_OPS):
                    raise ProgramError(f"{where}: unknown operation; use one of {', '.join((*OPS, *THREAD_OPS))}.")
                if event.thread != thread:
                    raise ProgramError(f"{where}: says that it is of thread {event.thread}.")
                if event.continues:
                    raise ProgramError(f"{where}: a store of threads has one piece.")
                check(event, where, self.pool_size)
                if event.op == "load":
                    loaded = event.size
                if event.op == "store-loaded" and not 0 < event.size == loaded:
                    raise ProgramError(f"{where}: stores {event.size} bytes, and the load before it took {loaded}.")
                if event.op in ("lock", "unlock") and (event.op == "lock") == (event.lock in held):
                    state = "already holds" if event.op == "lock" else "does not hold"
                    raise ProgramError(f"{where}: the thread {state} {event.lock}.")
                held ^= {event.lock} if event.op in ("lock", "unlock") else set()

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "atoms": self.atoms,
            "pool_size": self.pool_size,
            "threads": [[event.to_json() for event in events] for events in self.threads],
        }

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Threads:
        threads = (
            tuple(replace(Event.from_json(event), thread=thread) for event in events)
            for thread, events in enumerate(record["threads"])
        )
        return Threads(record["model"], record.get("atoms", "any"), tuple(threads), int(record.get("pool_size", 256)))


@dataclass(frozen=True, slots=True)
class Frontier:
    """The state after a power cut: the contents that each line may have, and the operations begun and ended until
    then."""

    history: History
    lines: Lines

    def within(self, other: Frontier) -> bool:
        """True when `other` has the same history and all of these images. Lines are independent: line by line."""
        more = dict(other.lines)
        return self.history == other.history and all(
            contents <= more.get(line, frozenset()) for line, contents in self.lines
        )

    def whole(self, pool_size: int) -> Frontier:
        """The state with each line of the pool, also lines that no store has reached."""
        lines = {line: frozenset({bytes(LINE_SIZE)}) for line in range(0, pool_size, LINE_SIZE)} | dict(self.lines)
        return Frontier(self.history, tuple(lines.items()))

    def to_json(self) -> dict[str, Any]:
        """As `powercut-engine model` writes it."""
        lines = {str(line): sorted(content.hex() for content in contents) for line, contents in self.lines}
        return {"history": [list(pair) for pair in self.history], "lines": lines}

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Frontier:
        history = tuple((str(op), int(thread)) for op, thread in record["history"])
        lines = {int(line): frozenset(map(bytes.fromhex, contents)) for line, contents in record["lines"].items()}
        return Frontier(history, tuple(sorted(lines.items())))


@dataclass(frozen=True, slots=True)
class Explored:
    """Frontiers of all instants, and of the saturated ones; how many different instants there are of either."""

    all: frozenset[Frontier]
    saturated: frozenset[Frontier]
    instants: int
    cuts: int

    def uncovered(self) -> Iterator[Frontier]:
        """Frontiers that lie within none of a saturated cut."""
        by_history: dict[History, list[Frontier]] = defaultdict(list)
        for frontier in self.saturated:
            by_history[frontier.history].append(frontier)
        for frontier in self.all - self.saturated:
            if not any(frontier.within(cut) for cut in by_history[frontier.history]):
                yield frontier


Holds = Callable[[Adr, Event], bool]
Made = Callable[["Instant", Event], Event | None]


def holds(model: Adr, event: Event) -> bool:
    """Whether a saturated cut stands before this event, made next by its thread, as it does before each begin and end.

    It does where the event makes something durable. Under eadr each store does: it takes away what was there before.
    """
    if event.op in ("begin", "end"):
        return True
    if isinstance(model, Eadr) and event.op in STORE_OPS:
        return True
    raised = _copy(model)
    if event.op == "flush":
        raised.flush(event)
    elif event.op in ("fence", "rmw", "cas-fail"):
        raised.fence(event)
    return raised.durable != model.durable


def made(now: Instant, event: Event) -> Event | None:
    """The thread's next event at this instant, as the models are told of it; None while the thread waits."""
    held = now.memory(event.addr, len(event.expected))
    if event.op == "wait":
        return event if held == event.expected else None
    if event.op == "lock":
        return None if event.lock in now.locked() else replace(event, op="fence", kind="lock")
    if event.op == "unlock":
        return replace(event, op="fence", kind="lock")
    if event.op == "store-loaded":
        return replace(event, op="store", data=now.loaded[event.thread])
    if event.op == "cas":
        return replace(event, op="rmw") if held == event.expected else replace(event, op="cas-fail", data=b"")
    if event.op == "add":
        size = len(event.data)
        sums = int.from_bytes(now.memory(event.addr, size), "little") + int.from_bytes(event.data, "little")
        return replace(event, op="rmw", data=(sums % (1 << 8 * size)).to_bytes(size, "little"))
    return event


def explored(program: Threads, holds: Holds = holds, made: Made = made) -> Explored:
    """Every instant of every interleaving. `holds` says where saturated cuts are, `made` what events do (tests pass
    broken ones)."""
    every: set[Frontier] = set()
    saturated: set[Frontier] = set()
    known: dict[_Lines, Lines] = {}
    seen: set[object] = set()
    cuts = 0
    nothing = (0,) * len(program.threads)
    waiting = [Instant(program, _empty(program), nothing, (b"",) * len(nothing), ())]
    while waiting:
        now = waiting.pop()
        key = now.key()
        if key in seen:
            continue
        seen.add(key)
        following = list(now.following(made))
        is_cut = all(holds(now.model, event) for event in following)
        cuts += is_cut
        left = [now.frontier(known)]
        for event in following:
            then = now.after(event)
            waiting.append(then)
            left += then.in_flight(event, known)
        every.update(left)
        if is_cut:
            saturated.update(left)
    return Explored(frozenset(every), frozenset(saturated), len(seen), cuts)


def answer(program: Threads) -> dict[str, Any]:
    """States at every instant, in the form in which `powercut-engine model` gives those at saturated cuts."""
    whole = {frontier.whole(program.pool_size) for frontier in explored(program).all}
    return {"frontiers": [frontier.to_json() for frontier in whole]}


# One atom as others see it: whose, where, what, of which store of its line, in a cache, durable.
_Atoms = tuple[tuple[int, int, bytes, int, bool, bool], ...]
_Lines = tuple[tuple[int, _Atoms], ...]


@dataclass(frozen=True, slots=True)
class Instant:
    """Where the threads of a program are in one schedule, and what they have done there."""

    program: Threads
    model: Adr
    at: tuple[int, ...]  # the next event of each thread
    loaded: tuple[bytes, ...]  # by thread
    history: History

    def memory(self, addr: int, size: int) -> bytes:
        """As all threads see it."""
        return content(0, self.program.pool_size, self.model.visible)[addr : addr + size]

    def locked(self) -> set[str]:
        """The locks that some thread holds."""
        held: set[str] = set()
        for thread, number in enumerate(self.at):
            for event in self.program.threads[thread][:number]:
                held ^= {event.lock} if event.op in ("lock", "unlock") else set()
        return held

    def following(self, made: Made) -> Iterator[Event]:
        """The next event of each thread that can go on."""
        for thread, number in enumerate(self.at):
            if number < len(self.program.threads[thread]):
                event = made(self, self.program.threads[thread][number])
                if event is not None:
                    yield event

    def after(self, event: Event) -> Instant:
        model = _copy(self.model)
        model.apply(event, sum(self.at))
        at = tuple(number + (thread == event.thread) for thread, number in enumerate(self.at))
        loaded = self.loaded
        if event.op == "load":
            taken = self.memory(event.addr, event.size)
            loaded = tuple(taken if thread == event.thread else old for thread, old in enumerate(loaded))
        history = (*self.history, (event.op, event.thread)) if event.op in ("begin", "end") else self.history
        return Instant(self.program, model, at, loaded, history)

    def key(self) -> object:
        """The key that tells two instants apart."""
        places = {atom: (line, place) for line, atoms in self._by_line() for place, atom in enumerate(atoms)}
        remembered = frozenset(
            (thread, places[atom]) for thread, atoms in self.model.remembered.items() for atom in atoms
        )
        return self.at, self.loaded, self.history, self._told(), remembered

    def frontier(self, known: dict[_Lines, Lines]) -> Frontier:
        told = self._told()
        if told not in known:
            known[told] = tuple((line, frozenset(self.model.contents(line))) for line, _ in told)
        return Frontier(self.history, known[told])

    def in_flight(self, event: Event, known: dict[_Lines, Lines]) -> list[Frontier]:
        """Under eadr: what a cut leaves in the middle of the store that has just been made."""
        if not isinstance(self.model, Eadr) or event.op not in STORE_OPS:
            return []
        self.model.in_flight = self.model.last_store
        left = self.frontier(known)
        self.model.in_flight = None
        return [left]

    def _by_line(self) -> Iterator[tuple[int, list[Atom]]]:
        for line in self.model.lines():
            yield line, [atom for atom in self.model.visible if atom.line == line]

    def _told(self) -> _Lines:
        durable = self.model.durable_now()
        out = []
        for line, atoms in self._by_line():
            stores = {store: number for number, store in enumerate(dict.fromkeys(atom.store for atom in atoms))}
            seen = ((a.thread, a.addr, a.data, stores[a.store], a.cacheable, a in durable) for a in atoms)
            out.append((line, tuple(seen)))
        return tuple(out)


def _empty(program: Threads) -> Adr:
    none = Program(program.model, program.atoms, (), program.pool_size)
    return MODELS[program.model](none)


def _copy(model: Adr) -> Adr:
    out = type(model)(model.program)
    out.visible = list(model.visible)
    out.durable = set(model.durable)
    out.remembered.update({thread: set(atoms) for thread, atoms in model.remembered.items()})
    out.last_store = model.last_store
    return out


def interleavings(threads: Iterable[tuple[Event, ...]]) -> int:
    """How many there are: what the table of instants saves."""
    total, count = 0, 1
    for events in threads:
        for number in range(1, len(events) + 1):
            total += 1
            count = count * total // number
    return count
