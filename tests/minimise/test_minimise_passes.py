"""Each pass of the minimiser by itself, against an engine that is a function of the case."""

from __future__ import annotations

from dataclasses import replace

import pytest

from powercut.minimise.case import Case, runnable
from powercut.minimise.ledger import LimitReached, Limits
from powercut.minimise.order import order
from powercut.minimise.passes.configure import shrink_options
from powercut.minimise.passes.delete import delete_pairs, delete_runs
from powercut.minimise.passes.phases import join_phases
from powercut.minimise.passes.restart import restart
from powercut.minimise.passes.simplify import lower_keys, simplify_operations
from powercut.minimise.passes.substitute import substitute
from powercut.minimise.passes.truncate import truncate
from powercut.minimise.shrink import shrink
from tests.minimise.minimising import FakeEngine, case, holds, operation, phase, search, words

INSERTS = [f"insert {key}" for key in range(1, 21)]


def test_what_comes_after_the_operation_that_was_cut_is_taken_away_at_once() -> None:
    # Index 8 of the history is the seventh operation, after format and open.
    engine = FakeEngine(lambda now: holds(now, ["insert 7"]), index=lambda now: 8)
    now = search(case(phase(*INSERTS)), engine)
    truncate(now)
    assert words(now.best) == INSERTS[:7]
    assert len(engine.asked) < 8


def test_without_a_crash_that_says_where_the_end_is_still_halved_away() -> None:
    now = search(case(phase(*INSERTS)), lambda now: holds(now, ["insert 5"]))
    truncate(now)
    assert words(now.best) == INSERTS[:5]


def test_runs_of_operations_go_and_what_is_needed_stays() -> None:
    needed = ["insert 3", "insert 11", "insert 12"]
    now = search(case(phase(*INSERTS)), lambda now: holds(now, needed))
    delete_runs(now)
    assert words(now.best) == needed


def test_an_insert_takes_the_operations_on_its_key_along() -> None:
    start = case(phase("insert 1", "insert 2", "update 1", "erase 1", "insert 1", "update 2"))
    now = search(start, lambda now: holds(now, ["update 2"]))
    delete_runs(now)
    assert words(now.best) == ["insert 2", "update 2"]


def test_two_operations_that_only_go_together_are_taken_away_together() -> None:
    def bug(now: Case) -> bool:
        found = words(now)
        return "insert 1" in found and ("insert 5" in found) == ("insert 9" in found)

    now = search(case(phase("insert 5", "insert 1", "insert 9")), bug)
    delete_runs(now)
    assert len(now.best.operations) == 3
    delete_pairs(now)
    assert words(now.best) == ["insert 1"]


def test_phases_become_one_that_is_explored() -> None:
    start = case(phase("insert 1", name="warm-up", explore=False), phase("update 1", name="update"))
    now = search(start, lambda now: holds(now, ["insert 1", "update 1"]))
    join_phases(now)
    assert now.best.phases == (phase("insert 1", "update 1", name="update"),)


def test_a_cut_that_the_bug_needs_stays() -> None:
    start = case(
        phase("insert 1", name="warm-up", explore=False),
        phase("insert 2", name="cut", explore=False, cut_at="move.copied"),
        phase("erase 1", name="erase"),
    )
    now = search(start, lambda now: any(item.cut_at for item in now.phases))
    join_phases(now)
    assert [(item.explore, item.cut_at) for item in now.best.phases] == [(True, "move.copied")]


def test_smaller_tables_are_tried_and_what_they_refuse_is_left_out() -> None:
    def full(now: Case) -> int | None:
        places = 2 * int(now.option("top") or "4")
        return places if len(now.operations) > places else None

    engine = FakeEngine(lambda now: holds(now, ["insert 1", "insert 2"]), refuses=full)
    now = search(case(phase(*INSERTS[:8]), options={"top": "4"}), engine)
    shrink_options(now, {"top": ["4", "2", "8"], "slots": ["4", "8"]})
    assert now.best.option("top") == "1"
    assert words(now.best) == ["insert 1", "insert 2"]


def test_a_smaller_number_that_changes_nothing_is_no_setting() -> None:
    now = search(case(phase("insert 1")), lambda now: True)
    shrink_options(now, {"limit": ["500", "16"]})
    assert now.best.options == ()


def test_a_word_is_left_to_its_default_and_another_taken_where_it_saves_operations() -> None:
    def bug(now: Case) -> bool:
        return holds(now, ["insert 2"] if now.option("balance") == "off" else ["insert 1", "insert 2"])

    start = case(phase("insert 1", "insert 2"), options={"resize": "traditional"})
    now = search(start, bug)
    shrink_options(now, {"resize": ["inplace", "traditional"], "balance": ["on", "off"]})
    assert now.best.options == (("balance", "off"),)
    assert words(now.best) == ["insert 2"]


def test_operations_become_simpler_where_that_still_shows_the_bug() -> None:
    start = case(phase("insert 1", "update 1", "insert 2"))
    now = search(start, lambda now: len(now.operations) == 3 and now.operations[2].kind != "lookup")
    simplify_operations(now)
    assert words(now.best) == ["lookup 1", "lookup 1", "insert 2"]


@pytest.mark.parametrize(
    ("needed", "expected"),
    [(lambda keys: True, ["insert 1", "insert 2"]), (lambda keys: keys[1] == 17, ["insert 1", "insert 17"])],
)
def test_keys_become_small(needed: object, expected: list[str]) -> None:
    now = search(
        case(phase("insert ones", "insert 17")),
        lambda now: len(now.operations) == 2 and needed([item.key for item in now.operations]),  # type: ignore[operator]
    )
    lower_keys(now)
    assert words(now.best) == expected


def test_the_pool_becomes_small_and_sizes_stay_those_of_the_scenario() -> None:
    """Eight-byte keys and values were tried, which the scenario had not asked for."""
    start = case(phase("insert 1"))
    now = search(start, lambda now: now.pool_size >= 10_000)
    shrink(now, {})
    assert now.best.pool_size == 16 * 1024
    assert (now.best.key_size, now.best.value_size) == (start.key_size, start.value_size)


def test_other_keys_in_a_smaller_table_are_tried_where_the_search_ends_high() -> None:
    """Six colliding keys are needed; in the small table two, but only of those from 101 on."""

    def bug(now: Case) -> bool:
        if now.option("top") == "1":
            return sum(isinstance(item.key, int) and item.key > 100 for item in now.operations) >= 2
        return holds(now, INSERTS[:6])

    start = case(phase(*INSERTS[:9]), options={"top": "2"})
    now = search(start, bug)
    note = shrink(now, {"top": ["2"]})
    assert note == ""
    assert now.best.option("top") == "1"
    assert len(now.best.operations) == 2


def test_a_command_of_the_maintenance_stands_for_the_inserts_that_lead_to_it() -> None:
    def bug(now: Case) -> bool:
        full = sum(item.kind == "insert" for item in now.operations[:-1]) >= 8
        return words(now)[-1] == "insert 12" and (full or "maintain expand" in words(now))

    start = case(phase(*INSERTS[:9], "insert 12"))
    now = search(start, bug)
    substitute(now, ["shrink", "expand"])
    assert words(now.best)[-2:] == ["maintain expand", "insert 12"]
    assert len(now.best.operations) <= 5
    assert shrink(now, {}, ["shrink", "expand"]) == ""
    assert words(now.best) == ["maintain expand", "insert 12"]


def test_a_restart_leaves_a_short_case_alone() -> None:
    start = case(phase(*INSERTS[:5]))
    engine = FakeEngine(lambda now: True)
    now = search(start, engine)
    restart(now, start, {"top": ["4", "2"]})
    assert engine.asked == [start]


def test_a_limit_ends_the_search_with_the_best_so_far() -> None:
    engine = FakeEngine(lambda now: holds(now, ["insert 3", "insert 17"]))
    now = search(case(phase(*INSERTS)), engine, limits=Limits(considered=5))
    note = shrink(now, {})
    assert note == "the search ended after 5 candidates, its limit"
    assert len(engine.asked) == 6  # and the start
    assert holds(now.best, ["insert 3", "insert 17"])


def test_no_time_is_no_candidate() -> None:
    now = search(case(phase(*INSERTS)), lambda now: True, limits=Limits(seconds=0))
    with pytest.raises(LimitReached, match="0 s"):
        now.consider(case(phase("insert 1")))


def test_progress_tells_the_candidates_and_the_smallest_case() -> None:
    told: list[tuple[int, int]] = []
    now = search(
        case(phase(*INSERTS[:4])),
        lambda now: holds(now, ["insert 2"]),
        on_progress=lambda progress: told.append((progress.considered, progress.operations)),
    )
    delete_runs(now)
    assert [count for count, _ in told] == list(range(1, len(told) + 1))
    assert now.consider(case(phase("lookup 9"))) is False
    assert told[-1][1] == 1


def test_no_case_is_asked_twice() -> None:
    engine = FakeEngine(lambda now: holds(now, ["insert 3", "insert 4"]))
    shrink(search(case(phase(*INSERTS)), engine), {"top": ["4", "2"]})
    assert len(engine.asked) == len(set(engine.asked))


def test_only_a_simpler_case_that_shows_the_bug_is_taken() -> None:
    start = case(phase("insert 1", "insert 2"))
    now = search(start, lambda now: holds(now, ["insert 2"]))
    assert not now.consider(case(phase("insert 1", "insert 2", "insert 3")))  # longer
    assert not now.consider(case(phase("insert 1")))  # clean
    assert not now.consider(case(phase("insert 2", explore=False)))  # nothing is judged
    assert not now.consider(start)
    assert now.consider(case(phase("insert 2")))


def test_the_order_is_by_operations_then_words_then_trace_then_numbers_then_keys() -> None:
    base = case(phase("insert 1", "insert 2"), options={"top": "4"})
    worse = [
        replace(base, phases=(phase("insert 1", "insert 3"),)),
        replace(base, phases=(phase("insert 1", "update 1"),)),
        replace(base, phases=(phase("insert 1", name="a"), phase("insert 2", name="b"))),
        replace(base, value_size=16),
        replace(base, pool_size=base.pool_size * 2),
        replace(base, options=(("top", "8"),)),
        replace(base, options=(("slots", "1"), ("top", "2"))),
    ]
    places = [order(base, events=10), *(order(item, events=10) for item in worse)]
    assert places == sorted(places)
    assert order(base, events=11) > places[-1]
    assert order(base.with_option("resize", "copy"), events=1) > order(base, events=11)
    assert order(replace(base, phases=(phase("insert 1", "insert 2", "insert 3"),)), events=1) > order(
        base.with_option("resize", "copy"), events=99
    )


def test_after_a_cut_nobody_knows_what_is_live() -> None:
    start = case(phase("insert 1", cut_at="m", name="a"), phase("update 7", "insert 1", name="b"))
    assert runnable(start) == start
    assert words(runnable(case(phase("update 7", "insert 1", "insert 1", "lookup 8")))) == ["insert 1", "lookup 8"]
    assert operation("maintain expand").spelling == "maintain(expand)"
