"""A box of trees gives a reader exactly the answers that the legal trees of the brute force give.

The explorer of files follows the answers of boxes (replayer/media/files/tree_box.h). Each answer that is missing would
be trees that no recovery ran on; each answer too many would be a false alarm.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from powercut.base import paths
from powercut.models import profiles
from powercut.models.switches import Switches
from replayer.media.files import scripted_reader
from replayer.media.files.engine import EngineTrees
from replayer.media.files.programs import generate
from replayer.media.files.reference import crash_points
from replayer.tests.test_engine_agrees_on_files import any_switches

PROGRAMS, LONG_PROGRAMS = 60, 30_000
ANY_PROFILES, LONG_ANY_PROFILES = 300, 100_000
PATHS = ("a", "b", "d", "d/a", "e", "e/a", "d/b")


@pytest.fixture(scope="module")
def engine_trees() -> Iterator[EngineTrees]:
    with EngineTrees(paths.engine()) as engine:
        yield engine


def check(engine: EngineTrees, switches: Switches, seed: int, title: str) -> None:
    random = Random(f"reader {seed}")
    program = generate(Random(seed))
    sector = 1 + seed % 2
    page = program.page * sector
    questions = random.randint(1, 9)
    asked = random.sample(PATHS, len(PATHS))
    asked.sort(key=lambda path: path.count("/"))
    calls = list(program.calls)
    told = engine.transcripts(calls, switches, (seed, questions, asked), sector=sector, page=page)
    points = list(crash_points(calls, switches, sector=sector, page=page))
    assert len(told) == len(points)
    for point, found in zip(points, told, strict=True):
        expected = scripted_reader.transcripts(point.trees, seed, questions, asked, sector=sector)
        if sorted(expected) != found:
            where = f"{point.side} call {point.index}"
            missing, wrong = sorted(expected - set(found)), sorted(set(found) - expected)
            pytest.fail(f"seed {seed} under {title}, {where}: {program}\nmissing {missing}\nwrong {wrong}")


@pytest.mark.parametrize("name", profiles.names())
def test_random_programs(engine_trees: EngineTrees, name: str) -> None:
    for seed in range(PROGRAMS):
        check(engine_trees, profiles.named(name).switches, seed, name)


@pytest.mark.long
@pytest.mark.parametrize("name", profiles.names())
def test_many_random_programs(engine_trees: EngineTrees, name: str) -> None:
    for seed in range(3_000_000, 3_000_000 + LONG_PROGRAMS):
        check(engine_trees, profiles.named(name).switches, seed, name)


def test_random_programs_under_any_profile(engine_trees: EngineTrees) -> None:
    for seed in range(ANY_PROFILES):
        check(engine_trees, any_switches(Random(f"profile {seed}")), seed, "a profile that nobody has")


@pytest.mark.long
def test_many_random_programs_under_any_profile(engine_trees: EngineTrees) -> None:
    for seed in range(4_000_000, 4_000_000 + LONG_ANY_PROFILES):
        check(engine_trees, any_switches(Random(f"profile {seed}")), seed, "a profile that nobody has")
