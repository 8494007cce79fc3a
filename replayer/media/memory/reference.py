"""The two persistency models of memory by brute force: every subset of the visible atoms, filtered by the rules.

A rule has one of two shapes. *Durable*: this atom is in every legal subset (a fence or `clflush` saw to it).
*Precedes*: a subset with atom `b` has atom `a` too. A subset that keeps both is legal; nothing else is said about
it. Each rule stands in a method of its own, so that a test can break one and see another test fail.

Sources: Raad et al., "Persistency semantics of the Intel-x86 architecture" (POPL 2020); Khyzha and Lahav, "Taming
x86-TSO persistency" (POPL 2021); Raad, Maranget and Vafeiadis, "Extending Intel-x86 consistency and persistency"
(POPL 2022); Intel SDM. Visibility is sequentially consistent, as in the PSC model of Khyzha and Lahav: there is no
store buffer, and `clflush` is synchronous.

Known limits: the work is exponential in the undecided atoms of one line; `MAX_UNDECIDED` refuses more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from replayer.reference.atoms import Atom, content, overlap, split
from replayer.reference.crashes import CrashPoint, Rules, point_now
from replayer.reference.program import (
    FENCE_KINDS,
    FLUSH_KINDS,
    LINE_SIZE,
    STORE_OPS,
    Event,
    Program,
    ProgramError,
    line_of,
)

MAX_UNDECIDED = 18


class Adr(Rules):
    """Persistence domain = memory controller: caches are lost, lines persist independently."""

    kinds = (*FLUSH_KINDS, *FENCE_KINDS)

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.visible: list[Atom] = []  # invariant: in visibility order
        self.durable: set[Atom] = set()  # only ever grows: nothing un-persists
        self.remembered: dict[int, set[Atom]] = defaultdict(set)  # thread -> written back, not yet fenced
        self.last_store = 0  # index of the first event of the store that was made last

    # Effects of events.

    def apply(self, event: Event, index: int) -> None:
        if event.op in ("rmw", "cas-fail", "fence"):
            self.fence(event)
        if event.op in STORE_OPS:
            self.store(event, index)
        if event.op == "flush":
            self.flush(event)

    def store(self, event: Event, index: int) -> None:
        if not event.continues:
            self.last_store = index
        self.visible += split(event, index, self.program.atoms, self.last_store)

    def flush(self, event: Event) -> None:
        # Non-temporal data is in no cache, so a write-back of the line does not take it along.
        written_back = {a for a in self.visible if a.cacheable and a.line == line_of(event.addr)}
        if event.kind == "clflush":
            self.durable |= written_back
        else:
            self.remembered[event.thread] |= written_back

    def fence(self, event: Event) -> None:
        self.durable |= self.remembered.pop(event.thread, set())
        self.durable |= {a for a in self.visible if not a.cacheable and a.thread == event.thread}

    def make_durable(self, event: Event) -> None:
        if event.op == "flush":
            self.flush(event)
        else:
            self.fence(event)

    # The next functions say which atoms persist only together with which other atoms.

    def precedes(self, a: Atom, b: Atom) -> bool:
        """True when `b` persisted implies `a` persisted."""
        return self.precedes_in_chain(a, b) or self.precedes_in_store(a, b) or self.precedes_by_overlap(a, b)

    def precedes_in_chain(self, a: Atom, b: Atom) -> bool:
        return a.cacheable and b.cacheable and a.line == b.line and a.store < b.store

    def precedes_in_store(self, a: Atom, b: Atom) -> bool:
        # The parts of a store in two lines are two accesses of the CPU, so the policy orders atoms of one line only.
        if self.program.atoms != "ascending":
            return False
        return a.cacheable and a.line == b.line and a.store == b.store and (a.piece, a.addr) < (b.piece, b.addr)

    def precedes_by_overlap(self, a: Atom, b: Atom) -> bool:
        return (a.store, a.piece) < (b.store, b.piece) and overlap(a, b)

    # Contents that a crash may leave now.

    def lines(self) -> list[int]:
        return sorted({a.line for a in self.visible})

    def durable_now(self) -> set[Atom]:
        return self.durable

    def legal_subsets(self, line: int) -> Iterator[list[Atom]]:
        """Every legal set of persisted atoms of this line."""
        durable_now = self.durable_now()
        atoms = [a for a in self.visible if a.line == line]
        durable = [a for a in atoms if a in durable_now]
        undecided = [a for a in atoms if a not in durable_now]
        if len(undecided) > MAX_UNDECIDED:
            raise ProgramError(
                f"{len(undecided)} undecided atoms in line {line}: the brute force takes {MAX_UNDECIDED} at most. "
                "Use fewer or smaller stores between fences."
            )
        bit = {a: 1 << i for i, a in enumerate(undecided)}
        needs = {b: sum(bit[a] for a in undecided if self.precedes(a, b)) for b in atoms}
        always = 0
        for b in durable:
            always |= needs[b]
        for subset in range(1 << len(undecided)):
            if subset & always != always:
                continue
            chosen = [a for a in undecided if subset & bit[a]]
            if all(subset & needs[b] == needs[b] for b in chosen):
                yield durable + chosen

    def contents(self, line: int) -> list[bytes]:
        return sorted({content(line, LINE_SIZE, persisted) for persisted in self.legal_subsets(line)})


class Eadr(Adr):
    """Persistence domain includes the caches: what is visible and cacheable is durable, all lines at one instant.

    Between two instants one store is in flight; its atoms have landed in part. A non-temporal store stays pending
    until its thread fences. Flushes do nothing.
    """

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.in_flight: int | None = None  # the store that is landing: the index of its first event

    def flush(self, event: Event) -> None:
        del event

    def durable_now(self) -> set[Atom]:
        return self.durable | {a for a in self.visible if a.cacheable and a.store != self.in_flight}

    def crash_points(self) -> Iterator[CrashPoint]:
        """Each store while it is in flight, after every `end`, and at the end of the program."""
        events = self.program.events
        for index, event in enumerate(events):
            self.apply(event, index)
            goes_on = index + 1 < len(events) and events[index + 1].continues
            if event.op in STORE_OPS and not goes_on:
                self.in_flight = self.last_store
                yield point_now(self, "after", index)
                self.in_flight = None
            if event.op == "end" or index == len(events) - 1:
                yield point_now(self, "after", index)


MODELS = {"adr": Adr, "eadr": Eadr}
