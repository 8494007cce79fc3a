"""With store buffers the engine leaves the images that the brute force does: none too few, none too many."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import product
from random import Random

import pytest

from replayer.reference.program import Event, Model
from replayer.reference.store_buffers import left
from replayer.reference.threads import Frontier, History, Threads
from replayer.tests.engine import EngineModel
from replayer.tests.thread_programs import generate

PROGRAMS = 40
FLUSHING_PROGRAMS = 120
LONG_PROGRAMS = 50_000
PUBLISHES = ["store", "clwb", "sfence", "store"]
OPS = ("store",) * 4 + ("clwb",) * 3 + ("sfence",) * 3 + ("clflush", "mfence", "copy")
ONE = b"\x01" + bytes(7)

Left = set[tuple[History, bytes]]


def images_of(answer: dict[str, object]) -> Left:
    """Every image of every frontier, with the operations begun and ended until then."""
    out: Left = set()
    assert isinstance(answer["frontiers"], list), answer
    for frontier in map(Frontier.from_json, answer["frontiers"]):
        for contents in product(*(contents for _, contents in frontier.lines)):
            out.add((frontier.history, b"".join(contents)))
    return out


def difference(engine: EngineModel, program: Threads) -> str | None:
    answer = engine.ask(program.to_json() | {"visibility": "tso"})
    if "frontiers" not in answer:
        return f"{answer}"
    ours, theirs = images_of(answer), left(program)
    if ours == theirs:
        return None
    text = json.dumps(program.to_json())
    return f"{text}\n{len(ours - theirs)} that no execution leaves, {len(theirs - ours)} missed of {len(theirs)}"


def flushing(random: Random) -> Threads:
    """Two threads that store to two lines, flush and fence, and say so in a line of their own."""

    def steps(thread: int) -> Iterator[Event]:
        some = [random.choice(OPS) for _ in range(random.randint(2, 4))]
        for number, op in enumerate(random.choice((some, PUBLISHES))):
            line = 128 + 64 * thread if number == 3 else random.choice((0, 64))
            data = bytes([1 + 4 * thread + number]) * 8
            if op == "copy":
                yield Event("load", thread, line, size=8)
                yield Event("store-loaded", thread, (line + 8) % 128, size=8)
            elif op in ("clwb", "clflush"):
                yield Event("flush", thread, line, kind="clwb" if op == "clwb" else "clflush")
            elif op == "store":
                yield Event("store", thread, line + random.choice((0, 8)), data)
            else:
                yield Event("fence", thread, kind="sfence" if op == "sfence" else "mfence")

    model: Model = random.choice(("adr", "adr", "adr", "eadr"))
    return Threads(model, "any", tuple(tuple(steps(thread)) for thread in (0, 1)), 256)


def drawn(seed: int, *, programs: int, of_flushes: int, events: int) -> Iterator[Threads]:
    random = Random(seed)
    yield from (generate(random, events=events, buffered=True) for _ in range(programs))
    yield from (flushing(random) for _ in range(of_flushes))


def differences(engine: EngineModel, programs: Iterable[Threads]) -> list[str]:
    return [text for program in programs if (text := difference(engine, program)) is not None]


def test_random_threads(engine_model: EngineModel) -> None:
    found = differences(engine_model, drawn(1, programs=PROGRAMS, of_flushes=FLUSHING_PROGRAMS, events=6))
    assert found == [], found[0]


@pytest.mark.long
def test_many_random_threads(engine_model: EngineModel) -> None:
    found = differences(engine_model, drawn(2026, programs=LONG_PROGRAMS, of_flushes=LONG_PROGRAMS, events=7))
    assert found == [], f"{len(found)} programs, of which\n{found[0]}"


def test_the_comparison_sees_what_a_buffer_adds(engine_model: EngineModel) -> None:
    program = Threads("eadr", "any", ((Event("store", 0, 0, ONE), Event("end", 0)), (Event("begin", 1),)))
    assert difference(engine_model, program) is None
    at_once = images_of(engine_model.answer(program))
    assert at_once < left(program)


@pytest.mark.parametrize(
    ("request_of", "complaint"),
    [
        ({"threads": [[{"op": "ntstore", "addr": 0, "bytes": "00"}]]}, "no non-temporal stores"),
        ({"threads": [[{"op": "store", "addr": 0, "bytes": "00"}]], "atoms": "byte"}, "atom policy any"),
        ({"threads": [[{"op": "store", "addr": 0, "bytes": "00"}] * 40]}, "more steps than store buffers"),
        ({"threads": [[]], "visibility": "arm"}, "unknown visibility 'arm'"),
    ],
)
def test_what_is_not_modelled_is_refused(
    engine_model: EngineModel, request_of: dict[str, object], complaint: str
) -> None:
    request = {"model": "adr", "pool_size": 64, "visibility": "tso"} | request_of
    assert complaint in engine_model.ask(request)["error"]
