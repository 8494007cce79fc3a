"""Which litmus tests with threads need a store buffer: those that say so, and no other."""

from __future__ import annotations

from functools import cache

import pytest

from powercut.litmus.litmus import suite_dir
from powercut.litmus.program import LitmusTest, Outcome, load
from replayer.reference.program import Event, ProgramError
from replayer.reference.store_buffers import images
from replayer.reference.threads import Threads

ONE = b"\x01" + bytes(7)


@cache
def without_ntstores() -> list[LitmusTest]:
    threaded = [test for test in load(suite_dir()) if test.threads is not None]
    return [test for test in threaded if all(event["op"] != "ntstore" for event in test.events)]


def outcomes(test: LitmusTest) -> frozenset[Outcome]:
    names = sorted({name for outcome in test.allowed for name, _ in outcome})
    places = [(name, test.locations[name]) for name in names]
    return frozenset(
        tuple((name, int.from_bytes(image[place.addr :][: place.size], "little")) for name, place in places)
        for image in images(Threads.from_json(test.every_schedule()))
    )


def test_a_store_buffer_adds_no_outcome_and_takes_none_away() -> None:
    assert len(without_ntstores()) > 50
    assert [test.name for test in without_ntstores() if outcomes(test) != test.allowed] == []


def test_a_store_waits_in_the_buffer_while_later_loads_are_made() -> None:
    """Store buffering: both threads load 0, which no order of visibility allows."""

    def thread(number: int) -> tuple[Event, ...]:
        mine, other = (0, 64) if number == 0 else (64, 0)
        return (
            Event("store", number, mine, ONE),
            Event("load", number, other, size=8),
            Event("store-loaded", number, mine + 8, size=8),
            Event("store", number, mine + 16, ONE),
        )

    left = images(Threads("eadr", "any", (thread(0), thread(1))))
    both_ended = [image for image in left if image[16] and image[80]]
    assert {(image[8], image[72]) for image in both_ended} == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_non_temporal_stores_are_refused() -> None:
    with pytest.raises(ProgramError, match="ntstore"):
        images(Threads("adr", "any", ((Event("ntstore", 0, 0, ONE),),)))
