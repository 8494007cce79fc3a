"""Several threads: every interleaving and every instant of it, and the cuts that stand for all of them.

A power cut ends all threads at one instant. `explored` visits each instant of each interleaving of a small program and
says what a cut there leaves: a *frontier*, the contents that each line may have and the history of begins and ends. It
also says which of these instants are *saturated*: no thread can go on without an operation's begin or end, or an event
that makes something durable. MODELS.md, "Cuts of several threads", argues that these suffice: whatever an instant
leaves, a saturated one with the same history leaves as well. `uncovered` looks for what contradicts that.

Visibility is sequentially consistent, as everywhere in the reference. Two instants are one where all that later events
and cuts can tell apart is equal: how far the threads are, the history, and what each line holds in which order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .atoms import Atom
from .models import Adr, Eadr
from .program import STORE_OPS, AtomPolicy, Event, Model, Program

History = tuple[tuple[str, int], ...]  # begins and ends, and whose, in their order
Lines = tuple[tuple[int, frozenset[bytes]], ...]  # by address; those that no store has reached are not there


@dataclass(frozen=True, slots=True)
class Threads:
    """The events of each thread in its order. No store has several pieces."""

    model: Model
    atoms: AtomPolicy
    threads: tuple[tuple[Event, ...], ...]
    pool_size: int = 128


@dataclass(frozen=True, slots=True)
class Frontier:
    """What a power cut leaves: the contents that each line may have, and the operations begun and ended until then."""

    history: History
    lines: Lines

    def within(self, other: Frontier) -> bool:
        """True when `other` has the same history and all of these images. Lines are independent: line by line."""
        more = dict(other.lines)
        return self.history == other.history and all(
            contents <= more.get(line, frozenset()) for line, contents in self.lines
        )


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


def holds(model: Adr, event: Event) -> bool:
    """Whether a saturated cut stands before this event, next of its thread, as it does before each begin and end.

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


def explored(program: Threads, holds: Holds = holds) -> Explored:
    """Every instant of every interleaving. `holds` says where saturated cuts are (tests pass broken ones)."""
    every: set[Frontier] = set()
    saturated: set[Frontier] = set()
    known: dict[_Lines, Lines] = {}
    seen: set[object] = set()
    cuts = 0
    start = _Instant(_empty(program), (0,) * len(program.threads), ())
    waiting = [start]
    while waiting:
        now = waiting.pop()
        key = now.key()
        if key in seen:
            continue
        seen.add(key)
        following = list(now.following(program))
        is_cut = all(holds(now.model, event) for _, event in following)
        cuts += is_cut
        left = [now.frontier(known)]
        for thread, event in following:
            then = now.after(thread, event)
            waiting.append(then)
            left += then.in_flight(event, known)
        every.update(left)
        if is_cut:
            saturated.update(left)
    return Explored(frozenset(every), frozenset(saturated), len(seen), cuts)


# One atom as others see it: whose, where, what, of which store of its line, in a cache, durable.
_Atoms = tuple[tuple[int, int, bytes, int, bool, bool], ...]
_Lines = tuple[tuple[int, _Atoms], ...]


@dataclass(frozen=True, slots=True)
class _Instant:
    model: Adr
    at: tuple[int, ...]  # the next event of each thread
    history: History

    def following(self, program: Threads) -> Iterator[tuple[int, Event]]:
        for thread, number in enumerate(self.at):
            if number < len(program.threads[thread]):
                yield thread, program.threads[thread][number]

    def after(self, thread: int, event: Event) -> _Instant:
        model = _copy(self.model)
        model.apply(event, sum(self.at))
        at = tuple(number + (index == thread) for index, number in enumerate(self.at))
        history = (*self.history, (event.op, thread)) if event.op in ("begin", "end") else self.history
        return _Instant(model, at, history)

    def key(self) -> object:
        """What tells two instants apart."""
        places = {atom: (line, place) for line, atoms in self._by_line() for place, atom in enumerate(atoms)}
        remembered = frozenset(
            (thread, places[atom]) for thread, atoms in self.model.remembered.items() for atom in atoms
        )
        return self.at, self.history, self._told(), remembered

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
    return Eadr(none) if program.model == "eadr" else Adr(none)


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
