"""The passes for cases that the others leave long: another beginning, and other keys."""

from __future__ import annotations

from collections import Counter

from powercut.minimise.case import Case
from powercut.minimise.passes.beginnings import beginnings
from powercut.minimise.passes.other_keys import other_keys
from tests.minimise.minimising import FakeEngine, case, holds, operation, phase, search, words

INSERTS = [f"insert {key}" for key in range(1, 10)]
COMMANDS = ["expand", "rehash"]


def crowded(now: Case) -> bool:
    """The last insert finds its bucket full: four buckets of four slots; or the whole table is."""
    last = now.operations[-1].key
    assert isinstance(last, int)
    buckets = Counter(item.key % 4 for item in now.operations if isinstance(item.key, int))
    return buckets[last % 4] > 4 or len(now.operations) >= len(INSERTS)


def test_commands_stand_for_the_inserts_that_lead_to_the_same_state() -> None:
    def bug(now: Case) -> bool:
        return words(now)[-1].startswith("erase") and (
            holds(now, INSERTS[:7]) or holds(now, ["insert 1", "maintain expand", "maintain rehash"])
        )

    now = search(case(phase(*INSERTS[:7], "erase 4")), bug)
    beginnings(now, {}, COMMANDS)
    assert words(now.best) == ["insert 1", "maintain expand", "maintain rehash", "erase 1"]


def test_a_beginning_leaves_the_cut_and_what_comes_after_it() -> None:
    start = case(
        phase(*INSERTS[:5], name="warm-up", explore=False),
        phase("insert 6", name="cut", explore=False, cut_at="move.copied"),
        phase("erase 3", "lookup 3", name="erase"),
    )
    now = search(start, lambda now: holds(now, INSERTS[:5]) or "maintain expand" in words(now))
    beginnings(now, {}, COMMANDS)
    assert now.best.phases == (
        phase("maintain expand", "insert 2", name="cut", explore=False, cut_at="move.copied"),
        phase("erase 1", "lookup 1", name="erase"),
    )


def test_what_comes_after_the_cut_in_its_own_phase_stays_as_well() -> None:
    start = case(phase(*INSERTS[:5], "maintain rehash", "erase 3", cut_at="rehash.copied"))
    now = search(start, lambda now: holds(now, INSERTS[:5]) or holds(now, ["maintain expand", "maintain rehash"]))
    beginnings(now, {}, COMMANDS)
    assert words(now.best) == ["maintain expand", "maintain rehash", "erase 1"]


def test_a_case_that_erases_may_begin_with_an_erase() -> None:
    needed = ["insert 1", "maintain expand", "erase 1", "maintain gc"]
    start = case(phase(*INSERTS[:4], "maintain gc", "erase 2", "maintain gc"), options={"shards": "1"})
    now = search(start, lambda now: holds(now, INSERTS[:4]) or (words(now) == needed and not now.options))
    beginnings(now, {"shards": ["2", "1"]}, ["expand", "gc"])
    assert words(now.best) == needed


def test_a_beginning_may_do_without_a_word() -> None:
    start = case(phase(*INSERTS[:7]), options={"interleave": "expand", "slots": "4"})

    def bug(now: Case) -> bool:
        return holds(now, INSERTS[:7]) if now.option("interleave") else "maintain expand" in words(now)

    now = search(start, bug)
    beginnings(now, {}, COMMANDS)
    assert words(now.best) == ["maintain expand", "insert 2"]
    assert now.best.options == (("slots", "4"),)


def test_two_keys_that_meet_fill_the_least_bucket() -> None:
    start = case(
        phase(*INSERTS[:7], "insert 8", name="cut", cut_at="move.copied"),
        phase("update 3", name="update"),
        options={"slots": "4"},
    )

    def bug(now: Case) -> bool:
        keys = [item.key for item in now.operations if isinstance(item.key, int)]
        full = len(keys) > 3 and len({key % 4 for key in keys[-4:-1]}) == 1 and keys[-1] in keys[-4:-2]
        return holds(now, INSERTS[:7]) or (now.option("slots") == "2" and full)

    now = search(start, bug)
    beginnings(now, {"slots": ["4", "2"]}, [])
    assert len(now.best.operations) == 4
    assert now.best.option("slots") == "2"
    assert now.best.phases[0].cut_at == "move.copied"


def test_keys_that_meet_do_without_the_others() -> None:
    now = search(case(phase(*INSERTS)), crowded)
    other_keys(now, {})
    assert len(now.best.operations) == 5
    assert len({int(word.split()[1]) % 4 for word in words(now.best)}) == 1


def test_the_same_case_comes_to_the_same_keys() -> None:
    found = []
    for _ in range(2):
        now = search(case(phase(*INSERTS)), crowded)
        other_keys(now, {"top": ["4", "2"], "search": ["static", "dynamic"]})
        found.append(now.best)
    assert found[0] == found[1]


def test_a_larger_number_is_taken_where_it_saves_operations() -> None:
    start = case(phase(*INSERTS[:5], "maintain gc"))

    def bug(now: Case) -> bool:
        return now.operations[-1] == operation("maintain gc") and (
            len(now.operations) > 5 or now.option("shards") == "4"
        )

    now = search(start, bug)
    other_keys(now, {"shards": ["2", "1", "4", "..."]})
    assert len(now.best.operations) == 5
    assert now.best.option("shards") == "4"


def test_a_short_case_is_left_alone() -> None:
    start = case(phase(*INSERTS[:5]))
    engine = FakeEngine(lambda now: True)
    now = search(start, engine)
    beginnings(now, {}, COMMANDS)
    other_keys(now, {})
    assert engine.asked == [start]
