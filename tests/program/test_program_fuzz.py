"""Program mode says of random programs what a brute force says: as many crash points and crash states, the same verdict
and violations, the first of each at the same crash point, and as many outcomes.

The engine runs few of the images: the reads of a recovery tell which others it answers for. The reference performs each
command on each image and knows nothing of reads (`straight_reference.py`). An unnoticed read, or a wrong rule for the
images of a power cut, therefore makes the two differ. Most recoveries are built without `powercut cc`, some with it,
and some run under the Valgrind tool or tell nothing.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

import pytest

from replayer.media.memory.reference import Adr
from replayer.reference.program import ProgramError
from replayer.tests import mutants
from tests.program import straight_engine as engine
from tests.program.straight_judge import Script, Writer, perform, text_of
from tests.program.straight_line import WORD, layout
from tests.program.straight_reference import Case, Expected, expected

PROGRAMS, LONG_PROGRAMS = 24, 2000
PERFORMED = 200  # scripts of commands


@dataclass(frozen=True)
class Judged:
    """A program, and what both say of it."""

    seed: int
    way: engine.Way
    case: Case
    right: Expected
    answer: engine.Answer
    command: list[str]

    def differences(self) -> str:
        """Empty, or what it takes to look at it again."""
        found = engine.differences(self.case, self.way, self.right, self.answer)
        if not found:
            return ""
        steps = f"{self.way.tracer}: steps POOL {self.case.workload.script()}"
        return "\n".join([f"seed {self.seed}", *found, steps, repr(self.command), repr(self.way)])


@dataclass
class Tally:
    """The result of a run of the fuzz."""

    programs: int = 0
    found: int = 0
    large: int = 0  # programs with hundreds of states at a crash point
    sampled: int = 0
    states: int = 0
    executions: int = 0
    behaviours: int = 0
    differing: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def add(self, judged: Judged) -> None:
        result = judged.answer.result
        self.programs += 1
        self.found += bool(judged.right.violations)
        self.large += judged.right.most_states >= 300
        self.sampled += not judged.answer.covered
        self.states += judged.right.states
        self.executions += result["executions"]
        self.behaviours += result["behaviours"]
        if difference := judged.differences():
            self.differing.append(difference)

    def text(self) -> str:
        return (
            f"{self.programs} programs in {time.monotonic() - self.started:.0f} s, {self.found} with findings, "
            f"{self.large} with large crash points, {self.sampled} sampled; {self.states} crash states, "
            f"{self.executions} runs, {self.behaviours} behaviours; {len(self.differing)} differ"
        )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("straight")
    engine.build(made)
    return made


def test_the_simulation_does_what_the_program_does(folder: Path) -> None:
    """Natively, on pools that hold anything."""
    random, pool = Random(7), folder / "native"
    for _ in range(PERFORMED):
        where = layout(random)
        words = [
            random.choice((0, 1, 2, 3, 0xFF, 2**64 - 1, random.getrandbits(64))) for _ in range(where.size // WORD)
        ]
        content = bytearray(b"".join(word.to_bytes(WORD, "little") for word in words))
        writer = Writer(random, where, [bytes(content)])
        script = (*writer.recovery(strict=0.2), *writer.write(), *writer.dump())
        pool.write_bytes(content)
        ran = subprocess.run([folder / "judge-plain", pool, text_of(script)], capture_output=True, check=False)
        end = perform(script, content)
        assert ran.returncode == (-end.code if end.signal else end.code), script
        assert end.signal or ran.stdout == end.printed, script
        assert pool.read_bytes() == content, script


def judged_programs(folder: Path, seeds: Iterable[int]) -> Iterator[Judged]:
    for seed, way, case, right in engine.recorded_programs(folder, seeds):
        command = engine.command_of(folder, case, way)
        yield Judged(seed, way, case, right, engine.judge(folder, case, way), command)


@pytest.fixture(scope="module")
def programs(folder: Path) -> list[Judged]:
    return list(judged_programs(folder, range(PROGRAMS)))


@pytest.mark.slow
def test_random_programs(programs: list[Judged]) -> None:
    tally = Tally()
    for judged in programs:
        tally.add(judged)
    assert tally.differing[:1] == []
    # They are worth something: both verdicts, crash points that take pruning, recoveries that tell images apart.
    assert 0.2 * PROGRAMS < tally.found < 0.7 * PROGRAMS, tally.text()
    assert tally.large > PROGRAMS / 5, tally.text()
    assert tally.behaviours > PROGRAMS, tally.text()
    assert 5 * tally.executions < tally.states, tally.text()
    assert {judged.way.judge for judged in programs} == {"llvm", "plain"}
    assert {judged.way.reads for judged in programs} == {"reported", "traced", "both", "none"}


@pytest.mark.long
def test_many_random_programs(folder: Path) -> None:
    tally = Tally()
    for judged in judged_programs(folder, range(1_000_000, 1_000_000 + LONG_PROGRAMS)):
        tally.add(judged)
        if tally.programs % 100 == 0:
            print(tally.text(), flush=True)
    assert tally.differing[:1] == [], tally.text()


class NothingIsLost(Adr):
    """Visible contents are durable."""

    def durable_now(self) -> set:  # type: ignore[type-arg]
        return set(self.visible)


BROKEN = [
    NothingIsLost,
    mutants.FlushNeedsNoFence,
    mutants.FenceNeedsNoFlush,
    mutants.NtNeedsFlush,
    mutants.NtJoinsTheChain,
    mutants.FlushTakesLaterStores,
    mutants.WideStoresAtomic,
]


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN)
def test_a_reference_with_a_wrong_rule_is_told(programs: list[Judged], broken: type[Adr]) -> None:
    def differs(judged: Judged) -> bool:
        try:
            right = expected(judged.case, most=engine.MOST_IMAGES, model=broken)
        except ProgramError:
            return False
        return bool(engine.differences(judged.case, judged.way, right, judged.answer))

    assert any(differs(judged) for judged in programs if judged.case.workload.model == "adr")


@pytest.mark.slow
def test_a_read_that_is_hidden_from_the_simulation_is_told(programs: list[Judged]) -> None:
    def differs(judged: Judged) -> bool:
        commands = tuple((name, without_first_load(script)) for name, script in judged.case.commands)
        case = replace(judged.case, commands=commands)
        return bool(engine.differences(case, judged.way, expected(case, most=engine.MOST_IMAGES), judged.answer))

    assert sum(map(differs, programs)) > PROGRAMS / 5


def without_first_load(script: Script) -> Script:
    """With nothing in place of the first load, so that jumps are as long as they were."""
    at = next((number for number, instruction in enumerate(script) if instruction[0] == "L"), None)
    return script if at is None else (*script[:at], ("G",), *script[at + 1 :])
