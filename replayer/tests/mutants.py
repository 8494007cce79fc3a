"""Broken models: each breaks one rule of the reference. A suite that cannot tell one from the truth has a gap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from replayer.media.memory.reference import Adr, Eadr
from replayer.reference.atoms import Atom, overlap
from replayer.reference.crashes import CrashPoint
from replayer.reference.media import crash_points
from replayer.reference.program import ATOM_SIZE, STORE_OPS, Event, Program, line_of
from replayer.reference.threads import Holds, Instant, Made, Threads, explored, holds, made


class FlushNeedsNoFence(Adr):
    """clwb and clflushopt make the line durable at once."""

    def flush(self, event: Event) -> None:
        super().flush(replace(event, kind="clflush"))


class ClflushNeedsFence(Adr):
    """clflush is no stronger than clflushopt."""

    def flush(self, event: Event) -> None:
        super().flush(replace(event, kind="clflushopt"))


class AnyFenceCompletesFlushes(Adr):
    """A fence completes the write-backs of every thread."""

    def fence(self, event: Event) -> None:
        super().fence(event)
        self.durable |= {a for remembered in self.remembered.values() for a in remembered}


class AnyFenceDrainsNt(Adr):
    """A fence drains the write-combining buffers of every thread."""

    def fence(self, event: Event) -> None:
        super().fence(event)
        self.durable |= {a for a in self.visible if not a.cacheable}


class FenceNeedsNoFlush(Adr):
    """A fence alone makes what its thread stored durable."""

    def fence(self, event: Event) -> None:
        super().fence(event)
        self.durable |= {a for a in self.visible if a.thread == event.thread}


class NtDrainTakesLine(Adr):
    """A fence makes all of a line durable that holds a non-temporal store of its thread."""

    def fence(self, event: Event) -> None:
        super().fence(event)
        drained = {a.line for a in self.visible if not a.cacheable and a.thread == event.thread}
        self.durable |= {a for a in self.visible if a.line in drained}


class NtDurableAtOnce(Adr):
    """A non-temporal store goes straight to the medium."""

    def store(self, event: Event, index: int) -> None:
        super().store(event, index)
        self.durable |= {a for a in self.visible if not a.cacheable}


class NtNeedsFlush(Adr):
    """A fence does not drain non-temporal stores."""

    def fence(self, event: Event) -> None:
        self.durable |= self.remembered.pop(event.thread, set())


class FlushTakesNt(Adr):
    """A write-back takes pending non-temporal data of the line along."""

    def flush(self, event: Event) -> None:
        super().flush(event)
        nt = {a for a in self.visible if not a.cacheable and a.line == line_of(event.addr)}
        if event.kind == "clflush":
            self.durable |= nt
        else:
            self.remembered[event.thread] |= nt


class NtJoinsTheChain(Adr):
    """Non-temporal stores persist in order with the other stores of their line."""

    def precedes_in_chain(self, a: Atom, b: Atom) -> bool:
        return a.line == b.line and a.store < b.store


class FlushTakesOwnStores(Adr):
    """A write-back covers only what its own thread stored."""

    def flush(self, event: Event) -> None:
        hidden = [a for a in self.visible if a.thread != event.thread]
        shown, self.visible = self.visible, [a for a in self.visible if a not in hidden]
        super().flush(event)
        self.visible = shown


class FlushTakesLaterStores(Adr):
    """The fence completes the line as it is at the fence, not at the write-back."""

    def fence(self, event: Event) -> None:
        lines = {a.line for a in self.remembered[event.thread]}
        super().fence(event)
        self.durable |= {a for a in self.visible if a.cacheable and a.line in lines}


class LastFlushOnly(Adr):
    """A thread remembers its last write-back only."""

    def flush(self, event: Event) -> None:
        if event.kind != "clflush":
            self.remembered.pop(event.thread, None)
        super().flush(event)


class WideStoresAtomic(Adr):
    """A store is never torn within a line."""

    def precedes(self, a: Atom, b: Atom) -> bool:
        return super().precedes(a, b) or (a.store == b.store and a.line == b.line and a.cacheable)


class AlwaysAscending(Adr):
    """The atoms of a store persist in ascending order whatever the policy."""

    def precedes_in_store(self, a: Atom, b: Atom) -> bool:
        return a.cacheable and a.line == b.line and a.store == b.store and a.addr < b.addr


class NeverAscending(Adr):
    """The ascending policy is ignored."""

    def precedes_in_store(self, a: Atom, b: Atom) -> bool:
        return False


class NoChain(Adr):
    """The stores of a line persist in any order."""

    def precedes_in_chain(self, a: Atom, b: Atom) -> bool:
        return False


class NoOverlapClosure(Adr):
    """An atom may persist without an earlier one of the same bytes."""

    def precedes_by_overlap(self, a: Atom, b: Atom) -> bool:
        return False


class RmwDoesNotFence(Adr):
    """A locked read-modify-write is a plain store."""

    def apply(self, event: Event, index: int) -> None:
        super().apply(replace(event, op="store") if event.op == "rmw" else event, index)

    def fence(self, event: Event) -> None:
        if event.op != "rmw":
            super().fence(event)


class RmwFencesAfter(Adr):
    """The store of a locked read-modify-write is durable with its fence."""

    def store(self, event: Event, index: int) -> None:
        super().store(event, index)
        if event.op == "rmw":
            self.durable |= {a for a in self.visible if a.store == index}


class FailedCasDoesNotFence(Adr):
    """A failed compare-exchange does nothing."""

    def fence(self, event: Event) -> None:
        if event.op != "cas-fail":
            super().fence(event)


class PiecesInOrder(Adr):
    """A piece of a store is a store of its own, behind the one before it."""

    def precedes_in_chain(self, a: Atom, b: Atom) -> bool:
        return a.cacheable and b.cacheable and a.line == b.line and (a.store, a.piece) < (b.store, b.piece)


class PiecesAreFree(Adr):
    """Pieces of a store that overlap persist in any order."""

    def precedes_by_overlap(self, a: Atom, b: Atom) -> bool:
        return a.store < b.store and overlap(a, b)


class PieceIsWhole(Adr):
    """The words of one piece persist together."""

    def precedes(self, a: Atom, b: Atom) -> bool:
        return super().precedes(a, b) or (a.piece == b.piece and a.line == b.line and a.cacheable)


class CopiesOfWholeWords(Adr):
    """A mem* call is never cut within a word."""

    def precedes(self, a: Atom, b: Atom) -> bool:
        event = self.program.events[a.piece]
        same_word = a.piece == b.piece and a.addr // ATOM_SIZE == b.addr // ATOM_SIZE
        return super().precedes(a, b) or (same_word and event.memcall and self.program.atoms == "any")


class DirectStoresAreTorn(Adr):
    """movdir64b is a non-temporal store of eight words."""

    def store(self, event: Event, index: int) -> None:
        super().store(replace(event, direct=False), index)


class DirectStoresAreDurable(Adr):
    """movdir64b needs no fence."""

    def store(self, event: Event, index: int) -> None:
        super().store(event, index)
        if event.direct:
            self.durable |= {a for a in self.visible if a.store == index}


class EadrPiecesLand(Eadr):
    """A piece of the store in flight has landed when the next one begins."""

    def durable_now(self) -> set[Atom]:
        last = max((a.piece for a in self.visible), default=0)
        return super().durable_now() | {a for a in self.visible if a.cacheable and a.piece != last}


class EadrNtDurableAtOnce(Eadr):
    """Write-combining buffers are inside the persistence domain."""

    def durable_now(self) -> set[Atom]:
        return {a for a in self.visible if a.store != self.in_flight}


class EadrNothingInFlight(Eadr):
    """Stores land whole."""

    def durable_now(self) -> set[Atom]:
        return self.durable | {a for a in self.visible if a.cacheable}


class EadrNoOverlapClosure(Eadr):
    """A landed store says nothing about pending non-temporal data under it."""

    def precedes_by_overlap(self, a: Atom, b: Atom) -> bool:
        return False


class EadrCachesAreLost(Eadr):
    """Only fenced data is durable."""

    def durable_now(self) -> set[Atom]:
        return self.durable


class EadrFenceDrainsAll(Eadr):
    """A fence drains the write-combining buffers of every thread."""

    def fence(self, event: Event) -> None:
        self.durable |= set(self.visible)


class EadrNeverDrains(Eadr):
    """A fence does not drain non-temporal stores."""

    def fence(self, event: Event) -> None:
        pass


class EadrFlushDrains(Eadr):
    """A write-back drains non-temporal data of its line."""

    def flush(self, event: Event) -> None:
        self.durable |= {a for a in self.visible if a.line == line_of(event.addr)}


class EadrNeverAscending(Eadr):
    """The ascending policy is ignored."""

    def precedes_in_store(self, a: Atom, b: Atom) -> bool:
        return False


class EadrRmwDoesNotFence(Eadr):
    """A locked read-modify-write drains nothing."""

    def fence(self, event: Event) -> None:
        if event.op != "rmw":
            super().fence(event)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A broken model; `build` makes it for a program of `model`."""

    name: str
    model: str
    build: Callable[[Program], Adr]

    def crash_points(self, program: Program) -> list[CrashPoint]:
        return crash_points(program, self.build(program) if program.model == self.model else None)

    def answer(self, program: Program) -> dict[str, Any]:
        return {"crash_points": [point.to_json() for point in self.crash_points(program)]}


def all_mutants() -> list[Mutant]:
    broken_eadr = Eadr.__subclasses__()
    broken_adr = [kind for kind in Adr.__subclasses__() if kind is not Eadr]
    return [Mutant(kind.__name__, "adr", kind) for kind in broken_adr] + [
        Mutant(kind.__name__, "eadr", kind) for kind in broken_eadr
    ]


# Schedules: what a thread's next event does, and where the saturated cuts are.


def wait_is_over(now: Instant, event: Event) -> Event | None:
    return event if event.op == "wait" else made(now, event)


def wait_is_for_ever(now: Instant, event: Event) -> Event | None:
    return None if event.op == "wait" else made(now, event)


def lock_is_free(now: Instant, event: Event) -> Event | None:
    return replace(event, op="fence", kind="lock") if event.op == "lock" else made(now, event)


def lock_is_kept(now: Instant, event: Event) -> Event | None:
    """An unlock frees nothing."""
    before = [e for steps, at in zip(now.program.threads, now.at, strict=True) for e in steps[:at]]
    taken = any((e.op, e.lock) == ("lock", event.lock) for e in before)
    return None if event.op == "lock" and taken else made(now, event)


def lock_does_not_fence(now: Instant, event: Event) -> Event | None:
    out = made(now, event)
    return replace(out, op="nothing") if out is not None and event.op == "lock" else out


def unlock_does_not_fence(now: Instant, event: Event) -> Event | None:
    return replace(event, op="nothing") if event.op == "unlock" else made(now, event)


def cas_succeeds(now: Instant, event: Event) -> Event | None:
    return replace(event, op="rmw") if event.op == "cas" else made(now, event)


def cas_fails(now: Instant, event: Event) -> Event | None:
    return replace(event, op="cas-fail", data=b"") if event.op == "cas" else made(now, event)


def cas_is_a_plain_store(now: Instant, event: Event) -> Event | None:
    out = made(now, event)
    return replace(out, op="store") if out is not None and (event.op, out.op) == ("cas", "rmw") else out


def failed_cas_does_not_fence(now: Instant, event: Event) -> Event | None:
    out = made(now, event)
    return replace(out, op="nothing") if out is not None and out.op == "cas-fail" else out


def add_stores_what_it_adds(now: Instant, event: Event) -> Event | None:
    return replace(event, op="rmw") if event.op == "add" else made(now, event)


def add_is_a_plain_store(now: Instant, event: Event) -> Event | None:
    out = made(now, event)
    return replace(out, op="store") if out is not None and event.op == "add" else out


def copy_loads_when_it_stores(now: Instant, event: Event) -> Event | None:
    if event.op != "store-loaded":
        return made(now, event)
    load = now.program.threads[event.thread][now.at[event.thread] - 1]
    return replace(event, op="store", data=now.memory(load.addr, load.size))


def no_cut_before_fences(model: Adr, event: Event) -> bool:
    return event.op not in ("fence", "cas-fail", "rmw") and holds(model, event)


def no_cut_before_locked_instructions(model: Adr, event: Event) -> bool:
    return event.op != "rmw" and holds(model, event)


def no_cut_before_clflush(model: Adr, event: Event) -> bool:
    return event.op != "flush" and holds(model, event)


def no_cut_before_ends(model: Adr, event: Event) -> bool:
    return event.op != "end" and holds(model, event)


def no_cut_before_begins(model: Adr, event: Event) -> bool:
    return event.op != "begin" and holds(model, event)


def no_cut_before_stores_of_eadr(model: Adr, event: Event) -> bool:
    return not (isinstance(model, Eadr) and event.op in STORE_OPS) and holds(model, event)


def no_cut_before_ntstores_of_eadr(model: Adr, event: Event) -> bool:
    """A store in flight over one that was not made yet is another image than over one that was."""
    return not (isinstance(model, Eadr) and event.op == "ntstore") and holds(model, event)


@dataclass(frozen=True, slots=True)
class ScheduleMutant:
    """Saturated cuts of all schedules, by one broken rule."""

    name: str
    holds: Holds = holds
    made: Made = made

    def answer(self, program: Threads) -> dict[str, Any]:
        whole = {frontier.whole(program.pool_size) for frontier in explored(program, self.holds, self.made).saturated}
        return {"frontiers": [frontier.to_json() for frontier in whole]}


BROKEN_STEPS: tuple[Made, ...] = (
    wait_is_over,
    wait_is_for_ever,
    lock_is_free,
    lock_is_kept,
    lock_does_not_fence,
    unlock_does_not_fence,
    cas_succeeds,
    cas_fails,
    cas_is_a_plain_store,
    failed_cas_does_not_fence,
    add_stores_what_it_adds,
    add_is_a_plain_store,
    copy_loads_when_it_stores,
)
BROKEN_CUTS: tuple[Holds, ...] = (
    no_cut_before_fences,
    no_cut_before_locked_instructions,
    no_cut_before_clflush,
    no_cut_before_stores_of_eadr,
    no_cut_before_ntstores_of_eadr,
)
BROKEN_CUTS_OF_OPERATIONS: tuple[Holds, ...] = (no_cut_before_begins, no_cut_before_ends)  # litmus tests have none


def schedule_mutants() -> list[ScheduleMutant]:
    return [ScheduleMutant(_name(step), made=step) for step in BROKEN_STEPS] + [
        ScheduleMutant(_name(cut), holds=cut) for cut in BROKEN_CUTS
    ]


def _name(function: Callable[..., object]) -> str:
    return getattr(function, "__name__", "")
