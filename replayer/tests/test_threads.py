"""Saturated cuts of several threads stand for every instant: looked for in all interleavings of random programs."""

from __future__ import annotations

from random import Random

import pytest

from replayer.reference.models import Adr, Eadr
from replayer.reference.program import FENCE_KINDS, FLUSH_KINDS, STORE_OPS, Event
from replayer.reference.threads import Explored, Holds, Threads, explored, holds, interleavings

OPS = ("store",) * 5 + ("ntstore",) * 2 + ("flush",) * 4 + ("fence",) * 3 + ("rmw", "cas-fail", "begin", "end")


def generate(random: Random, *, events: int) -> Threads:
    """Two or three threads, on two lines whose words they share."""
    count = random.choice((2, 2, 3))
    threads: list[list[Event]] = [[] for _ in range(count)]
    stores = 0
    for number in range(random.randint(count, events)):
        thread = random.randrange(count)
        op = random.choice(OPS)
        if op in STORE_OPS:
            stores += 1
            if stores > 6:
                continue  # of which a line takes two to their power
        threads[thread].append(_event(random, op, thread, number))
    policy = random.choice(("any", "any", "ascending"))
    return Threads(random.choice(("adr", "adr", "eadr")), policy, tuple(map(tuple, threads)))


def _event(random: Random, op: str, thread: int, number: int) -> Event:
    if op == "flush":
        return Event(op, thread, random.choice((0, 64)), kind=random.choice(FLUSH_KINDS))
    if op == "fence":
        return Event(op, thread, kind=random.choice(FENCE_KINDS))
    if op in STORE_OPS:
        size = 8 if op == "rmw" else random.choice((8, 8, 4, 16))
        return Event(op, thread, random.choice((0, 0, 8, 64)), bytes([number + 1]) * size)
    return Event(op, thread)


def wrong(programs: int, *, seed: int, events: int, holds: Holds = holds) -> list[tuple[Threads, Explored]]:
    """Programs of which some instant leaves what no saturated cut leaves."""
    random = Random(seed)
    out = []
    for _ in range(programs):
        program = generate(random, events=events)
        found = explored(program, holds)
        if next(found.uncovered(), None) is not None:
            out.append((program, found))
    return out


def test_saturated_cuts_leave_all_that_instants_leave() -> None:
    assert wrong(1500, seed=1, events=8) == []


@pytest.mark.long
def test_saturated_cuts_leave_all_that_instants_leave_at_length() -> None:
    assert wrong(100_000, seed=2, events=12) == []


def _not_before_fences(model: Adr, event: Event) -> bool:
    return event.op not in ("fence", "cas-fail", "rmw") and holds(model, event)


def _not_before_clflush(model: Adr, event: Event) -> bool:
    return event.op != "flush" and holds(model, event)


def _not_before_ends(model: Adr, event: Event) -> bool:
    return event.op != "end" and holds(model, event)


def _not_before_begins(model: Adr, event: Event) -> bool:
    return event.op != "begin" and holds(model, event)


def _not_before_stores_of_eadr(model: Adr, event: Event) -> bool:
    return not (isinstance(model, Eadr) and event.op in STORE_OPS) and holds(model, event)


def _not_before_ntstores_of_eadr(model: Adr, event: Event) -> bool:
    """A store in flight over one that was not made yet is another image than over one that was."""
    return not (isinstance(model, Eadr) and event.op == "ntstore") and holds(model, event)


@pytest.mark.parametrize(
    "broken",
    [
        _not_before_ntstores_of_eadr,
        _not_before_fences,
        _not_before_clflush,
        _not_before_ends,
        _not_before_begins,
        _not_before_stores_of_eadr,
    ],
)
def test_a_cut_that_is_left_out_is_missed(broken: Holds) -> None:
    assert wrong(800, seed=3, events=8, holds=broken)


def _always(model: Adr, event: Event) -> bool:
    del model, event
    return True


def test_every_instant_is_visited_and_saturated_ones_are_few() -> None:
    """Two threads that insert, each its own line, as a table without locks does: store, clwb, fence, commit."""

    def insert(thread: int, line: int) -> tuple[Event, ...]:
        return (
            Event("begin", thread),
            Event("store", thread, line + 8, b"\x01" * 8),
            Event("flush", thread, line, kind="clwb"),
            Event("fence", thread, kind="sfence"),
            Event("store", thread, line, b"\x02" * 8),
            Event("flush", thread, line, kind="clwb"),
            Event("fence", thread, kind="sfence"),
            Event("end", thread),
        )

    found = explored(Threads("adr", "any", (insert(0, 0), insert(1, 64))))
    # Nothing is shared, so how far each is tells all but the order of begins and ends.
    assert interleavings((insert(0, 0), insert(1, 64))) == 12_870
    assert found.instants < 12_870 and found.cuts < found.instants / 3
    assert list(found.uncovered()) == []
    everywhere = explored(Threads("adr", "any", (insert(0, 0), insert(1, 64))), _always)
    assert everywhere.saturated == everywhere.all == found.all


def test_one_order_of_two_stores_is_not_enough() -> None:
    """A cut is global: with one interleaving of each equivalence class alone, images of the others would be missed."""
    first = (Event("store", 0, 0, b"\x01" * 8), Event("flush", 0, 0, kind="clflush"))
    second = (Event("store", 1, 64, b"\x02" * 8), Event("flush", 1, 64, kind="clflush"))
    found = explored(Threads("adr", "any", (first, second)))
    zero, one, two = bytes(64), b"\x01" * 8 + bytes(56), b"\x02" * 8 + bytes(56)
    # Neither is independent of a power cut: each line alone may be durable while the other one is not even stored.
    assert {frozenset(frontier.lines) for frontier in found.saturated} >= {
        frozenset({(0, frozenset({one})), (64, frozenset({zero, two}))}),
        frozenset({(0, frozenset({zero, one})), (64, frozenset({two}))}),
    }
    assert list(found.uncovered()) == []
