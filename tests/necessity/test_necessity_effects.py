"""The proof of redundancy against the brute-force reference of the models, on random programs.

`effects.unchanged` follows numbers of stores; the reference enumerates subsets of atoms. Where the first says that
dropping some flushes and fences changes nothing, the second must find the same images between the ends of operations.
"""

from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.necessity.effects import idle_events, unchanged
from replayer.media.memory.reference import Adr, Eadr
from replayer.reference.program import Event, Program

LINES = (0, 64)

_places = st.sampled_from([0, 1, 64])
_bytes = st.sampled_from([b"\0", b"\1", b"\2"])
_threads = st.sampled_from([0, 0, 0, 1])
_stores = st.builds(
    Event, op=st.sampled_from(["store", "store", "ntstore"]), thread=_threads, addr=_places, data=_bytes
)
_flushes = st.builds(
    Event,
    op=st.just("flush"),
    thread=_threads,
    addr=st.sampled_from(LINES),
    kind=st.sampled_from(["clwb", "clwb", "clflush"]),
)
_fences = st.builds(Event, op=st.just("fence"), thread=_threads, kind=st.sampled_from(["sfence", "sfence", "lock"]))
_programs = st.lists(st.one_of(_stores, _flushes, _flushes, _fences, _fences, st.just(Event(op="end"))), max_size=10)


def records(events: list[Event]) -> list[dict[str, Any]]:
    """The program as a trace."""
    kinds = {"ntstore": "nt-store", "end": "op-end"}
    return [
        {
            "index": index,
            "kind": kinds.get(event.op, event.op),
            "thread": event.thread,
            "offset": event.addr,
            "bytes": event.data.hex(),
            "code": event.kind,
        }
        for index, event in enumerate(events)
    ]


def images(events: list[Event], model: str) -> list[set[tuple[bytes, ...]]]:
    """Images that a power cut can leave before the first end of an operation, before the second, and so on."""
    program = Program(model="eadr" if model == "eadr" else "adr", atoms="any", events=tuple(events))
    reference = Eadr(program) if model == "eadr" else Adr(program)
    seen: list[set[tuple[bytes, ...]]] = [set()]

    def look() -> None:
        seen[-1].update(product(*(reference.contents(line) for line in LINES)))

    look()
    for index, event in enumerate(events):
        reference.apply(event, index)
        if isinstance(reference, Eadr) and event.op == "store":
            reference.in_flight = index
            look()
            reference.in_flight = None
        if event.op == "end":
            look()
            seen.append(set())
        look()
    return seen


@pytest.mark.parametrize("model", ["adr", "eadr"])
@settings(max_examples=120, deadline=None)
@given(events=_programs, choice=st.data())
def test_what_is_called_unchanged_has_the_same_images(model: str, events: list[Event], choice: st.DataObject) -> None:
    can_go = [at for at, event in enumerate(events) if event.op == "flush" or event.kind == "sfence"]
    dropped = frozenset(choice.draw(st.sets(st.sampled_from(can_go))) if can_go else [])
    kept = [event for at, event in enumerate(events) if at not in dropped]
    if unchanged(records(events), dropped, model=model):
        assert images(kept, model) == images(events, model)


@pytest.mark.parametrize("model", ["adr", "eadr"])
@settings(max_examples=100, deadline=None)
@given(events=_programs)
def test_what_had_nothing_to_do_changes_nothing(model: str, events: list[Event]) -> None:
    assert unchanged(records(events), idle_events(records(events), model=model), model=model)


def test_equal_numbers_of_states_are_no_proof() -> None:
    """Dropping the first flush moves a crash point: both runs have 6 states, and not the same ones."""
    words = [
        (1, "store"),
        (0, "store"),
        (0, "flush"),
        (0, "fence"),
        (1, "flush"),
        (1, "fence"),
        (0, "flush"),
        (0, "fence"),
    ]
    events = [
        Event(op="store", addr=64 * line, data=b"\1")
        if op == "store"
        else Event(op=op, addr=64 * line if op == "flush" else 0, kind="clwb" if op == "flush" else "sfence")
        for line, op in words
    ]
    assert not unchanged(records(events), frozenset({2}), model="adr")
    assert unchanged(records(events), frozenset({6, 7}), model="adr"), "the line was durable before"


def test_clflush_does_what_a_clwb_before_it_has_not_done() -> None:
    """Without a fence the line is not durable yet: dropping clflush loses it."""
    clwb, clflush = (Event(op="flush", kind=kind) for kind in ("clwb", "clflush"))
    events = [Event(op="store", data=b"\1"), clwb, clflush, Event(op="end")]
    assert idle_events(records(events), model="adr") == frozenset()
    assert not unchanged(records(events), frozenset({2}), model="adr")
    assert unchanged(records(events), frozenset({1}), model="adr")


def test_work_that_the_next_one_does_changes_nothing() -> None:
    flush, fence = Event(op="flush", kind="clwb"), Event(op="fence", kind="sfence")
    twice = [Event(op="store", data=b"\1"), flush, fence, flush, fence, Event(op="end")]
    for dropped in ({1}, {2}, {3}, {4}, {1, 2}, {3, 4}):
        assert unchanged(records(twice), frozenset(dropped), model="adr"), dropped
    for dropped in ({1, 3}, {2, 4}):
        assert not unchanged(records(twice), frozenset(dropped), model="adr"), dropped
    between = [*twice[:3], Event(op="end"), *twice[3:]]
    assert not unchanged(records(between), frozenset({1}), model="adr"), "an acknowledgement saw the difference"
    zeros = [Event(op="store", data=b"\0"), flush, fence, Event(op="end")]
    assert unchanged(records(zeros), frozenset({1, 2}), model="adr"), "the pool is zero already"


def test_only_explored_phases_count() -> None:
    phase: dict[str, Any] = {"kind": "phase", "thread": 0}
    made = records([Event(op="store", data=b"\1"), Event(op="flush", kind="clwb"), Event(op="fence", kind="sfence")])
    assert unchanged([*made, {**phase, "explore": False}], frozenset({2}), model="adr", explored=False)
    assert not unchanged([*made, {**phase, "explore": True}], frozenset({2}), model="adr", explored=False)
