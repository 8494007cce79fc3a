"""The engine's frontiers of random threads are those of all instants of all interleavings: none too few or too many."""

from __future__ import annotations

from random import Random

import pytest

from replayer.reference.program import Event
from replayer.reference.threads import Threads
from replayer.tests.engine import EngineModel, disagreement_of_threads
from replayer.tests.thread_programs import generate

PROGRAMS = 300
LONG_PROGRAMS = 100_000


def differing(engine: EngineModel, *, programs: int, seed: int, events: int) -> list[str]:
    random = Random(seed)
    drawn = (generate(random, events=events) for _ in range(programs))
    answers = ((program, engine.answer(program)) for program in drawn)
    return [text for program, answer in answers if (text := disagreement_of_threads(program, answer)) is not None]


def test_random_threads(engine_model: EngineModel) -> None:
    found = differing(engine_model, programs=PROGRAMS, seed=1, events=8)
    assert found == [], found[0]


@pytest.mark.long
def test_many_random_threads(engine_model: EngineModel) -> None:
    found = differing(engine_model, programs=LONG_PROGRAMS, seed=2026, events=12)
    assert found == [], f"{len(found)} programs, of which\n{found[0]}"


def test_the_comparison_sees_what_is_missed_and_what_is_made_up(engine_model: EngineModel) -> None:
    program = Threads("adr", "any", ((Event("store", 0, 0, b"1"),), (Event("store", 1, 64, b"2"),)))
    answer = engine_model.answer(program)
    assert disagreement_of_threads(program, answer) is None
    assert "misses" in str(disagreement_of_threads(program, {"frontiers": []}))
    made_up = {"history": [], "lines": {"0": ["ff" * 64], "64": ["00" * 64]}}
    assert "no instant leaves" in str(disagreement_of_threads(program, {"frontiers": [made_up]}))


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        ({"op": "jump"}, "unknown op 'jump'"),
        ({"op": "wait", "addr": 60, "expected": "0000000000"}, "wait outside the pool"),
        ({"op": "store-loaded", "addr": 0, "size": 8}, "has loaded 0 bytes"),
        ({"op": "store", "addr": 0, "bytes": "00", "continues": True}, "has one piece"),
        ({"op": "unlock", "lock": "l"}, "does not hold"),
    ],
)
def test_the_engine_refuses_what_no_thread_can_do(
    engine_model: EngineModel, event: dict[str, object], complaint: str
) -> None:
    assert complaint in engine_model.ask({"model": "adr", "pool_size": 64, "threads": [[event]]})["error"]
