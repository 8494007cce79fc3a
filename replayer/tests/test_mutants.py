"""The litmus suite and the random programs each notice every broken rule."""

from __future__ import annotations

from functools import cache
from random import Random

import pytest

from powercut.litmus.litmus import judge_one, judge_threads, suite_dir
from powercut.litmus.program import LitmusTest, Request, load
from replayer.reference.crashes import CrashPoint
from replayer.reference.media import crash_points
from replayer.reference.program import Program
from replayer.reference.threads import Threads
from replayer.tests.mutants import Mutant, ScheduleMutant, all_mutants, schedule_mutants
from replayer.tests.programs import generate

SEED = 20
PROGRAMS = 1500  # the rarest mutant shows after about a third of them


@cache
def litmus_tests() -> list[LitmusTest]:
    return [test for test in load(suite_dir()) if test.needs is None and test.threads is None]


@cache
def thread_tests() -> list[LitmusTest]:
    return [test for test in load(suite_dir()) if test.needs is None and test.threads is not None]


@cache
def truth() -> list[tuple[Program, list[CrashPoint]]]:
    random = Random(SEED)
    programs = [generate(random, max_atoms=6) for _ in range(PROGRAMS)]
    return [(program, crash_points(program)) for program in programs]


def notices(test: LitmusTest, mutant: Mutant) -> bool:
    def ask(request: Request) -> dict[str, object]:
        return mutant.answer(Program.from_json(request))

    whole = test.whole()
    return judge_one(test, ask(test.plain()), ask(test.probed()), ask(whole) if whole else None) is not None


@pytest.mark.parametrize("mutant", all_mutants(), ids=lambda mutant: mutant.name)
def test_litmus_suite_notices(mutant: Mutant) -> None:
    assert any(notices(test, mutant) for test in litmus_tests() if test.model == mutant.model)


@pytest.mark.parametrize("mutant", all_mutants(), ids=lambda mutant: mutant.name)
def test_random_programs_notice(mutant: Mutant) -> None:
    candidates = (pair for pair in truth() if pair[0].model == mutant.model)
    assert any(mutant.crash_points(program) != expected for program, expected in candidates), f"seed {SEED}"


def notice_schedules(mutant: ScheduleMutant) -> list[str]:
    """The tests with threads that fail."""
    answers = ((test, mutant.answer(Threads.from_json(test.every_schedule()))) for test in thread_tests())
    return [test.name for test, answer in answers if judge_threads(test, answer) is not None]


def test_litmus_tests_with_threads_pass_where_no_rule_is_broken() -> None:
    assert notice_schedules(ScheduleMutant("none")) == []


@pytest.mark.parametrize("mutant", schedule_mutants(), ids=lambda mutant: mutant.name)
def test_litmus_tests_with_threads_notice(mutant: ScheduleMutant) -> None:
    assert notice_schedules(mutant) != []
