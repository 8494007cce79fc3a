"""The engine and the brute force of NOR flash give the same crash points, state counts and contents of a device.

The engine runs `powercut/nor.h` and its model; the brute force has the rules of a part, and neither pool nor stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple
from random import Random
from typing import Any

import pytest

from replayer.media.nor import parts
from replayer.tests.engine import EngineModel

PROGRAMS, LONG_PROGRAMS = 600, 100_000
MAX_EVENTS, MAX_BITS, MAX_BYTES = 8, 9, 12
ONES = 0xFF


def generate(random: Random) -> dict[str, Any]:
    """Programs of some units, and erases, on a part with any parameters."""
    torn, ecc = random.choice(parts.VALUES["torn"]), random.choice(("off", "off", "off", "on"))
    unit = random.choice((1, 2, 4, 8, 16, 32))
    cell = 1 if torn == "bit" and ecc == "off" else unit
    sector = unit * random.randint(1, max(1, min(4, 6 * cell // unit)))
    part = {name: random.choice(values) for name, values in parts.VALUES.items()}
    part |= {"torn": torn, "ecc": ecc, "unit": str(unit), "sector": str(sector)}
    size, events = sector * random.randint(1, 2), []
    known = bytearray([ONES]) * size  # what the device holds, if every operation is taken
    for _ in range(random.randint(1, MAX_EVENTS)):
        at = random.randrange(0, size, unit)
        if random.random() < 0.2:
            events.append({"op": "erase", "addr": at})
            first = at - at % sector
            known[first : first + sector] = (
                known[first : first + sector] if part["kind"] != "flash" else [ONES] * sector
            )
            continue
        units = 1 if torn == "bit" else random.randint(1, 3)
        data = bytearray(known[at : at + units * unit].ljust(units * unit, b"\xff"))
        for _ in range(random.randint(0, MAX_BITS)):
            place = random.randrange(len(data))
            data[place] &= ~(1 << random.randrange(8))
            data[place] |= (random.random() < 0.05) << random.randrange(8)
        if random.random() < 0.15 and (torn != "bit" or unit == 1):
            data = bytearray(len(data))
        if torn == "bit" and sum((a ^ b).bit_count() for a, b in zip(data, known[at:], strict=False)) > MAX_BITS:
            continue
        if torn == "bit" and sum(byte != ONES for byte in known) + len(data) - data.count(ONES) > MAX_BYTES:
            continue
        if random.random() < 0.03:
            at += 1  # which no part takes
        else:
            for place, byte in enumerate(data[: size - at], start=at):
                known[place] = byte if part["kind"] != "flash" else known[place] & byte
        events.append({"op": "program", "addr": at, "bytes": data.hex()})
    return {"model": "nor", "part": part, "pool_size": size, "events": [*events, {"op": "end"}]}


def made(seed: int, count: int) -> Iterator[dict[str, Any]]:
    random = Random(seed)
    return (generate(random) for _ in range(count))


def differences(engine: EngineModel, *, programs: int, seed: int) -> Iterator[str]:
    for program in made(seed, programs):
        ours, theirs = engine.ask(program), parts.answer(program)
        if ours != theirs:
            yield f"{program}\n  engine    {ours}\n  reference {theirs}"


@pytest.mark.slow
def test_random_programs(engine_model: EngineModel) -> None:
    assert next(differences(engine_model, programs=PROGRAMS, seed=1), None) is None


@pytest.mark.long
def test_many_random_programs(engine_model: EngineModel) -> None:
    assert next(differences(engine_model, programs=LONG_PROGRAMS, seed=2026), None) is None


def test_random_programs_have_all_that_a_part_can_be() -> None:
    """Else an agreement would say little."""
    programs = list(made(1, PROGRAMS))
    answers = [parts.answer(program) for program in programs]
    for name, values in parts.VALUES.items():
        assert {program["part"][name] for program in programs} == set(values)
    assert {int(program["part"]["unit"]) for program in programs} == set(parts.UNITS)
    assert sum(bool(answer["refused"]) for answer in answers) > PROGRAMS // 10
    assert sum("xx" in image for answer in answers for point in answer["crash_points"] for image in point["images"]) > 0
    assert max(int(point["states"]) for answer in answers for point in answer["crash_points"]) > 100


class SuffixTorn(parts.Part):
    """A torn unit has its last bytes new."""

    def torn_contents(self, old: bytes, new: bytes) -> set[bytes]:
        if self.torn != "byte":
            return super().torn_contents(old, new)
        return {old[:count] + new[count:] for count in range(len(new) + 1)}


class HalfOfTheBits(parts.Part):
    """The highest bit that changes is never alone."""

    def torn_contents(self, old: bytes, new: bytes) -> set[bytes]:
        contents = super().torn_contents(old, new)
        return contents if self.torn != "bit" else {old, new, *sorted(contents)[: len(contents) // 2]}


class OneMore(parts.Part):
    """A unit takes one program more than the part allows."""

    def takes(self, old: bytes, programs: int, new: bytes) -> bool:
        return super().takes(old, programs - 1, new)


class SetsBits(parts.Part):
    """A program changes bits from 0 to 1."""

    def takes(self, old: bytes, programs: int, new: bytes) -> bool:
        return super().takes(new, programs, new)


@pytest.mark.parametrize("broken", [SuffixTorn, HalfOfTheBits, OneMore, SetsBits])
def test_random_programs_tell_a_broken_part(broken: type[parts.Part], monkeypatch: pytest.MonkeyPatch) -> None:
    programs = list(made(1, 300))
    right = [parts.answer(program) for program in programs]
    whole = parts.Part.of
    monkeypatch.setattr(parts.Part, "of", lambda parameters: broken(*astuple(whole(parameters))))
    assert [parts.answer(program) for program in programs] != right
