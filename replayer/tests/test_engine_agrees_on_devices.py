"""The engine and the brute force of devices give the same crash points, contents and state counts."""

from __future__ import annotations

import json
from random import Random

import pytest

from replayer.media.block.reference import Block
from replayer.media.flash.reference import Flash
from replayer.reference.media import answer, crash_points, rules_of
from replayer.reference.program import LINE_SIZE, Event, Model, Program, ProgramError
from replayer.tests.engine import EngineModel, disagreement

MAX_EVENTS, MAX_OPEN = 14, 8
PROGRAMS, LONG_PROGRAMS = 600, 100_000
WORD = 8


def generate(random: Random, model: Model) -> Program:
    """Writes of one to eight words in a few lines, forces, flushes and operations."""
    lines = random.randint(1, 3)
    pool, events = lines * LINE_SIZE, []
    for number in range(random.randint(1, MAX_EVENTS)):
        op = random.choice(("write",) * 6 + ("force",) * 3 + ("flush", "begin", "end"))
        if op == "write" and sum(event.op == "store" for event in events) < MAX_OPEN:
            words = random.choice((1, 1, 1, 2, 3, 8)) if model == "block" else random.choice((1, 2))
            at = random.randrange(0, pool // WORD - words + 1) * WORD
            value = random.choice((number + 1, number + 1, 1, 0))
            events.append(Event("store", random.randrange(2), at, bytes([value]) * (WORD * words)))
        elif op == "force":
            events.append(Event("flush", random.randrange(2), random.randrange(0, pool, WORD), kind="force"))
        elif op == "flush":
            events.append(Event("fence", random.randrange(2), kind="device"))
        elif op in ("begin", "end"):
            events.append(Event(op))
    return Program(model, "any", tuple(events), pool)


def differences(engine: EngineModel, model: str, *, programs: int, seed: int) -> list[str]:
    random = Random(seed)
    made = (generate(random, model) for _ in range(programs))
    compared = (disagreement(program, engine.answer(program), answer(program)) for program in made)
    return [difference for difference in compared if difference is not None]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["block", "flash"])
def test_random_programs(engine_model: EngineModel, model: str) -> None:
    assert differences(engine_model, model, programs=PROGRAMS, seed=1)[:1] == []


@pytest.mark.long
@pytest.mark.parametrize("model", ["block", "flash"])
def test_many_random_programs(engine_model: EngineModel, model: str) -> None:
    assert differences(engine_model, model, programs=LONG_PROGRAMS, seed=2026)[:1] == []


class ForgetsWhatIsBelow(Block):
    """A force makes everything in the unit durable."""

    def force(self, address: int) -> None:
        super().flush()


class KeepsOrder(Block):
    """A later write drags the earlier ones along, as a cache of whole units would."""

    def legal(self, line):  # type: ignore[no-untyped-def]
        here = self.of(line)
        return [chosen for chosen in super().legal(line) if chosen == here[: len(chosen)]]


class Torn(Flash):
    """An interrupted program leaves what is stored second, and not what is stored first."""

    def legal(self, line):  # type: ignore[no-untyped-def]
        here = self.of(line)
        return [*super().legal(line), *([here[1:]] if len(here) > 1 and not self.durable else [])]


@pytest.mark.parametrize("broken", [ForgetsWhatIsBelow, KeepsOrder, Torn])
def test_random_programs_tell_a_broken_model(broken: type[Block] | type[Flash]) -> None:
    random = Random(1)
    model: Model = "flash" if issubclass(broken, Flash) else "block"
    programs = [generate(random, model) for _ in range(200)]
    assert any(crash_points(each) != crash_points(each, broken(each)) for each in programs)


def test_what_is_of_the_other_medium_is_refused() -> None:
    for model, event in (("adr", Event("fence", kind="device")), ("block", Event("flush", kind="clwb"))):
        with pytest.raises(ProgramError, match="is no instruction of the model"):
            rules_of(Program.from_json({"model": model, "events": [json.loads(json.dumps(event.to_json()))]}))
