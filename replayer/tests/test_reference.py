"""Assumptions of the reference, checked by a yet more brutal force."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from replayer.media.memory.reference import Adr, Eadr
from replayer.reference.crashes import CrashPoint, point_now
from replayer.reference.media import answer, crash_points
from replayer.reference.program import LINE_SIZE, STORE_OPS, Event, Program, ProgramError
from replayer.reference.whole import whole_images
from replayer.tests.programs import generate

MAX_WHOLE = 12  # atoms of the whole pool; the whole-pool check visits 2^n subsets

PROGRAMS = st.randoms(use_true_random=False).map(lambda random: generate(random, max_atoms=5))
QUICK = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def model_of(program: Program) -> Adr:
    return Eadr(program) if program.model == "eadr" else Adr(program)


def images_by_line(model: Adr) -> set[bytes]:
    """The product of the lines' contents, written out as images."""
    choices = [
        model.contents(line) if line in model.lines() else [bytes(LINE_SIZE)]
        for line in range(0, model.program.pool_size, LINE_SIZE)
    ]
    return {b"".join(parts) for parts in product(*choices)}


@QUICK
@given(PROGRAMS)
def test_lines_are_independent(program: Program) -> None:
    """Judging all lines together gives the product of judging each, at every instant."""
    model = model_of(program)
    for index, event in enumerate(program.events):
        model.apply(event, index)
        if len(model.visible) > MAX_WHOLE:
            return
        for in_flight in (None, model.last_store):
            if isinstance(model, Eadr):
                model.in_flight = in_flight
            images = whole_images(model)
            assert images == images_by_line(model)
            assert len(images) == point_now(model, "after", index).states


@QUICK
@given(PROGRAMS)
def test_no_instant_has_a_state_that_no_crash_point_has(program: Program) -> None:
    """Under adr a content that is legal at any instant is legal at the next crash point."""
    if program.model != "adr" or not program.events:
        return
    model = Adr(program)
    waiting: dict[int, set[bytes]] = {}
    points = iter(crash_points(program))
    point = next(points)
    for index, event in enumerate(program.events):
        for side in ("before", "after"):
            if side == "after":
                model.apply(event, index)
            now = {line: set(model.contents(line)) for line in model.lines()}
            for line, contents in now.items():
                waiting.setdefault(line, set()).update(contents)
            if (point.side, point.index) == (side, index):
                assert waiting == now
                waiting = {}
                point = next(points, point)
    assert waiting == {}


@dataclass(frozen=True, slots=True)
class Instant:
    """Limits of an instant: `begun` operations may show, `ended` ones must; fewer begun or more ended is stricter."""

    begun: int
    ended: int
    contents: dict[int, set[bytes]]

    def covers(self, other: Instant) -> bool:
        """Whether whatever is wrong with an image of `other` is wrong with the same image here."""
        same = all(choices <= self.contents.get(line, {bytes(LINE_SIZE)}) for line, choices in other.contents.items())
        return self.begun <= other.begun and self.ended >= other.ended and same


def all_instants(program: Program, points: list[CrashPoint]) -> tuple[list[Instant], list[Instant]]:
    """Every instant of the program, and those that are crash points. Under eadr each store has an instant in flight."""
    model = model_of(program)
    wanted = Counter((point.side, point.index) for point in points)
    instants, crashes = [], []
    begun = ended = 0

    def take(side: str, index: int) -> None:
        contents = {line: set(model.contents(line)) for line in model.lines()}
        instants.append(Instant(begun, ended, contents))
        if wanted[side, index]:
            crashes.append(instants[-1])

    for index, event in enumerate(program.events):
        begun += event.op == "begin"
        take("before", index)
        model.apply(event, index)
        ended += event.op == "end"
        goes_on = index + 1 < len(program.events) and program.events[index + 1].continues
        if isinstance(model, Eadr) and event.op in STORE_OPS:
            model.in_flight = model.last_store
            take("after", index)
            model.in_flight = model.last_store if goes_on else None
        take("after", index)
    return instants, crashes


@QUICK
@given(PROGRAMS)
def test_every_instant_is_covered_by_a_crash_point(program: Program) -> None:
    """The theorem of MODELS.md, obligations and all: also where a program stores between two operations."""
    instants, crashes = all_instants(program, crash_points(program))
    for instant in instants:
        if not instant.contents and instant.ended == 0:
            continue  # the pool as it was, and nothing that could be missing from it
        assert any(crash.covers(instant) for crash in crashes), instant


def test_a_store_between_operations_needs_the_crash_point_before_the_next_one() -> None:
    """Without it no crash point has the store's images under the obligations of the instant."""
    events = (Event("begin"), Event("end"), Event("store", 0, 0, b"1"), Event("begin"), Event("store", 0, 64, b"2"))
    program = Program("adr", "any", (*events, Event("end")))
    points = crash_points(program)
    assert [(point.side, point.index) for point in points] == [("after", 1), ("after", 2), ("after", 5)]
    instants, crashes = all_instants(program, [point for point in points if point.index != 2])
    assert not all(any(crash.covers(instant) for crash in crashes) for instant in instants)


@QUICK
@given(PROGRAMS)
def test_everything_persisted_is_always_legal(program: Program) -> None:
    """The litmus runner and every audit lean on this: the newest content is a candidate of its line."""
    model = model_of(program)
    for index, event in enumerate(program.events):
        model.apply(event, index)
        for line in model.lines():
            newest = bytearray(LINE_SIZE)
            for atom in (atom for atom in model.visible if atom.line == line):
                newest[atom.addr - line : atom.end - line] = atom.data
            assert bytes(newest) in model.contents(line)


@QUICK
@given(PROGRAMS)
def test_json_round_trip(program: Program) -> None:
    assert Program.from_json(program.to_json()) == program


def test_generator_is_deterministic() -> None:
    assert [generate(Random(3)) for _ in range(20)] == [generate(Random(3)) for _ in range(20)]


@pytest.mark.parametrize("model", ["adr", "eadr"])
def test_empty_program_has_no_crash_point(model: str) -> None:
    assert answer(Program.from_json({"model": model, "events": []})) == {"crash_points": []}


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        (Event("jump"), "unknown operation"),
        (Event("store", addr=0, data=b""), "0 bytes"),
        (Event("store", addr=0, data=bytes(65)), "65 bytes"),
        (Event("store", addr=250, data=bytes(8)), "leaves the pool"),
        (Event("flush", addr=0, kind="wbinvd"), "kind 'wbinvd'"),
        (Event("ntstore", addr=0, data=b"1", memcall=True), "mem* call"),
        (Event("store", addr=0, data=b"1", continues=True), "continues no store"),
        (Event("ntstore", addr=8, data=bytes(64), direct=True), "whole line"),
    ],
)
def test_impossible_programs_are_refused(event: Event, complaint: str) -> None:
    with pytest.raises(ProgramError, match=complaint.replace("*", r"\*")):
        Program("adr", "any", (event,))


def test_too_much_for_brute_force_is_refused() -> None:
    nt = tuple(Event("ntstore", 0, 0, bytes([i])) for i in range(19))
    with pytest.raises(ProgramError, match="19 undecided atoms in line 0"):
        crash_points(Program("adr", "any", nt))
