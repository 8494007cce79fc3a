"""`powercut.check(…, threads=…)`, and the threads that Hypothesis draws."""

from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

import powercut
from powercut.base.errors import UsageError
from powercut.scenarios import scenario
from powercut.scenarios.clients import may_meet_present
from powercut.stateful import _legal_threads, threads
from powercut.testing import api
from tests.conftest import House

pytestmark = pytest.mark.usefixtures("own_session")


def test_threads_become_a_phase_between_warm_up_and_operations(house: House) -> None:
    house.library("threads")
    result = powercut.check(
        "threads:published",
        [("lookup", 1)],
        warmup=[powercut.insert(1)],
        threads=[[("update", 1)], iter([powercut.lookup(1), powercut.maintain("expand")])],
        preemptions=2,
        name="race",
    )
    assert result.consistent and result.complete
    assert result.runs[0].coverage.schedules is not None
    assert result.runs[0].coverage.schedules.preemptions == 2
    content = scenario.load(house.root / ".powercut" / "scenarios" / "race.toml").content
    assert [phase.name for phase in content.phases] == ["warm-up", "threads", "operations"]
    assert content.race is not None and [len(thread) for thread in content.race.threads] == [1, 2]
    assert content.config == {"concurrency": "concurrent"}


def test_operations_may_be_left_out_beside_threads(house: House) -> None:
    house.library("threads")
    result = powercut.check("threads:published", threads=[[("erase", 1)], [("erase", 1)]], search="pct", schedules=3)
    assert result.consistent and not result.complete
    with pytest.raises(UsageError, match="there are no operations"):
        powercut.check("threads:published")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"threads": "insert"}, "threads are a list of lists of operations, and not 'insert'"),
        ({"threads": 7}, "threads are a list of lists of operations, and not 7"),
        ({"threads": [("insert", 1)]}, "threads[0][0]: 'insert' is no operation"),
        ({"threads": [[("insert", 1)], [("delete", 1)]]}, "threads[1][0]: unknown operation 'delete'"),
        ({"threads": [[("insert", 1)], [("fill", 3)]]}, "threads[1][0]: 'fill' is no operation of a thread. There are"),
        ({"threads": [[("insert", 1)]]}, "the phase 'threads' has 1 thread (one thread is a phase of 'steps')"),
        ({"threads": [[("insert", 1)], []]}, "it has no steps"),
        ({"threads": [[("maintain", "grow")], [("erase", 1)]]}, "'threads' has no command 'grow'"),
        ({"operations": [("insert", 1)], "preemptions": 2}, "powercut.check: --preemptions chooses schedules"),
        ({"threads": [[("erase", 1)], [("erase", 1)]], "search": "all"}, "unknown search 'all'"),
        ({"threads": [[("erase", 1)], [("erase", 1)]], "cut_at": "m", "operations": [("lookup", 1)]}, "deliberate cut"),
        ({"threads": [[("erase", 1)], [("erase", 1)]], "config": {"concurrency": "single"}}, "traits.thread_safe"),
    ],
)  # fmt: skip
def test_mistakes_name_their_thread(house: House, given: dict[str, Any], said: str) -> None:
    house.library("threads")
    with pytest.raises(UsageError) as caught:
        powercut.check("threads:published", **given)
    assert said in caught.value.paragraph()
    assert "\n" not in caught.value.paragraph()


def test_a_target_that_is_not_for_threads_is_an_error(house: House) -> None:
    with pytest.raises(UsageError, match="does not say that threads may call it"):
        powercut.check("level:published", threads=[[("erase", 1)], [("erase", 1)]])


def test_runs_of_other_searches_have_files_of_their_own() -> None:
    plain, bounded = powercut_options(), powercut_options(preemptions=2)
    assert api.suffix(plain) == ""
    assert api.suffix(bounded) == "-preemptions-2"


def powercut_options(**chosen: Any) -> Any:
    from powercut.engine.options import ExploreOptions, Schedules

    return ExploreOptions(schedules=Schedules(**chosen))


def test_a_call_with_threads_needs_no_operations() -> None:
    two = [[("erase", 1)], [("lookup", 1)]]
    assert api.call("a", [], threads=two) == f"powercut.check('a', threads={two!r})"
    assert api.call("a", [("lookup", 1)], threads=two, preemptions="none") == (
        f"powercut.check('a', [('lookup', 1)], threads={two!r}, preemptions='none')"
    )
    assert api.call("a", []) == "powercut.check('a', [])"


KINDS = st.sampled_from(["insert", "update", "erase", "lookup"])
PROGRAMS = st.lists(st.tuples(KINDS, st.integers(1, 2)), min_size=1, max_size=3)


@hypothesis.settings(deadline=None)
@hypothesis.given(st.lists(PROGRAMS, min_size=2, max_size=3), st.sets(st.integers(1, 2)))
def test_threads_are_made_legal(drawn: list[list[tuple[str, int]]], live: set[int]) -> None:
    made = _legal_threads(drawn, frozenset(live))
    assert not may_meet_present(made, live)
    assert [[key for _, key in thread] for thread in made] == [[key for _, key in thread] for thread in drawn]
    both = [pair for a, b in zip(drawn, made, strict=True) for pair in zip(a, b, strict=True)]
    changed = [(before, after) for before, after in both if before != after]
    assert all(before[0] == "insert" and after[0] == "update" for before, after in changed)
    if not may_meet_present(drawn, live):
        assert not changed
    assert _legal_threads(drawn, None) == drawn


def test_threads_are_drawn_for_the_target(house: House) -> None:
    house.library("threads")
    house.library("threads-exists")
    seen: list[list[list[Any]]] = []

    @hypothesis.settings(max_examples=60, derandomize=True, database=None, deadline=None)
    @hypothesis.given(threads("threads:published", max_threads=3, commands=["expand"], live=[1]))
    def drawn(made: list[list[Any]]) -> None:
        seen.append(made)

    drawn()
    assert {len(made) for made in seen} == {2, 3}
    assert {name for made in seen for thread in made for name, _ in thread} == {
        "insert", "update", "erase", "lookup", "maintain",
    }  # fmt: skip
    assert not any(may_meet_present(made, [1]) for made in seen)
    checked = threads("threads-exists:published", kinds=["insert"], keys=1, max_operations=1)
    assert hypothesis.find(checked, lambda made: True, settings=hypothesis.settings(database=None)) == [
        [("insert", 1)], [("insert", 1)],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_threads": 5}, "max_threads is 5. Give a number up to 4"),
        ({"max_threads": 1}, "max_threads is 1. Give a number from 2 on"),
        ({"kinds": ["inser"]}, "Did you mean 'insert'?"),
        ({"config": {"concurrency": "single"}}, "traits.thread_safe"),
    ],
)
def test_bad_strategies_are_told(house: House, given: dict[str, Any], said: str) -> None:
    house.library("threads")
    with pytest.raises(UsageError) as caught:
        threads("threads:published", **given)
    assert said in caught.value.paragraph()
