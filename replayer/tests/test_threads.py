"""Saturated cuts of several threads stand for every instant: looked for in all interleavings of random programs."""

from __future__ import annotations

from random import Random

import pytest

from replayer.media.memory.reference import Adr
from replayer.reference.program import Event, ProgramError
from replayer.reference.threads import Explored, Frontier, Holds, Threads, explored, holds, interleavings
from replayer.tests.mutants import BROKEN_CUTS, BROKEN_CUTS_OF_OPERATIONS
from replayer.tests.thread_programs import generate


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


@pytest.mark.parametrize("broken", [*BROKEN_CUTS, *BROKEN_CUTS_OF_OPERATIONS], ids=lambda broken: broken.__name__)
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


ZERO, ONE = bytes(8), b"\x01" + bytes(7)


def left(*threads: tuple[Event, ...]) -> set[tuple[int, ...]]:
    """The first bytes of three lines after a power cut under eadr, at each instant of each schedule."""
    found = explored(Threads("eadr", "any", threads, 192)).all
    whole = [dict(frontier.whole(192).lines) for frontier in found]
    return {(x[0], y[0], z[0]) for lines in whole for x in lines[0] for y in lines[64] for z in lines[128]}


def store(thread: int, addr: int, value: int = 1) -> Event:
    return Event("store", thread, addr, bytes([value]) + bytes(7))


def test_a_thread_waits_until_memory_holds_what_it_waits_for() -> None:
    reader = (Event("wait", 1, 0, expected=ONE), store(1, 64))
    assert left((store(0, 0),), reader) == {(0, 0, 0), (1, 0, 0), (1, 1, 0)}
    assert left((store(0, 0, 2),), reader) == {(0, 0, 0), (2, 0, 0)}, "for ever"
    assert left((store(0, 0), store(0, 0, 2)), reader) >= {(2, 0, 0), (2, 1, 0)}, "until it comes too late"


def test_another_thread_may_store_between_a_load_and_what_is_stored_of_it() -> None:
    copy = (Event("load", 1, 0, size=8), Event("store-loaded", 1, 64, size=8))
    assert (1, 0, 1) in left((store(0, 0), store(0, 64, 2), store(0, 128)), copy)


def test_one_thread_has_a_lock_at_a_time() -> None:
    def section(thread: int) -> tuple[Event, ...]:
        return (
            Event("lock", thread, lock="l"),
            store(thread, 0, thread + 1),
            store(thread, 64, thread + 1),
            Event("unlock", thread, lock="l"),
            Event("add", thread, 128, ONE),
        )

    assert {(x, y) for x, y, ended in left(section(0), section(1)) if ended == 2} == {(1, 1), (2, 2)}


def test_one_compare_exchange_wins_and_additions_add_up() -> None:
    first = Event("cas", 0, 0, ONE, expected=ZERO), Event("add", 0, 64, ONE)
    second = Event("cas", 1, 0, b"\x02" + bytes(7), expected=ONE), Event("add", 1, 64, b"\xff" * 8)
    assert {x for x, _, _ in left(first, second)} == {0, 1, 2}
    assert {x for x, _, _ in left(first[1:], second)} == {0}
    assert {y for _, y, _ in left(first, second)} == {0, 1, 255}


def test_what_a_power_cut_leaves_survives_json() -> None:
    program = Threads("adr", "any", ((Event("begin", 0), store(0, 0)), (Event("lock", 1, lock="l"),)))
    assert Threads.from_json(program.to_json()) == program
    for frontier in explored(program).all:
        assert Frontier.from_json(frontier.to_json()) == frontier


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        ((Event("jump"),), "unknown operation"),
        ((Event("wait", 0, 124, expected=bytes(8)),), "leaves the pool"),
        ((Event("load", 0, 128, size=8),), "leaves the pool"),
        ((Event("cas", 0, 0, b"", expected=bytes(8)),), "0 bytes"),
        ((Event("store-loaded", 0, 0, size=8),), "the load before it took 0"),
        ((Event("store", 1, 0, b"1"),), "says that it is of thread 1"),
        ((Event("store", 0, 0, b"1"), Event("store", 0, 8, b"1", continues=True)), "has one piece"),
        ((Event("unlock", 0, lock="l"),), "does not hold l"),
        ((Event("lock", 0, lock="l"), Event("lock", 0, lock="l")), "already holds l"),
    ],
)
def test_impossible_threads_are_refused(events: tuple[Event, ...], complaint: str) -> None:
    with pytest.raises(ProgramError, match=complaint):
        Threads("adr", "any", (events,))
