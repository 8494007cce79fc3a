"""The minimiser on workloads of threads: operations that may be taken away, limits of candidates, and the saved
file."""

import json
import tomllib
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.minimise.case import Case, Phase, plan_of, runnable
from powercut.minimise.concrete import _meets, _planned, key_of, of_client
from powercut.minimise.minimal import Minimal
from powercut.minimise.order import order
from powercut.minimise.passes.threads import drop_threads
from powercut.minimise.scenario_text import scenario_text
from powercut.minimise.shrink import shrink
from powercut.scenarios.clients import may_meet_present
from powercut.scenarios.schema import ScenarioFile
from powercut_records.base import changed
from powercut_records.finding import Begun
from tests.minimise.minimising import case, finding, holds, operation, phase, search, words


def race(*programs: str, name: str = "race") -> Phase:
    """A phase of threads: `"update 1, lookup 1"` is one of them."""
    made = [[operation(word.strip()) for word in program.split(",")] for program in programs]
    flat = tuple(item for program in made for item in program)
    return Phase(name=name, explore=True, cut_at=None, operations=flat, threads=tuple(len(program) for program in made))


def programs(item: Case) -> list[list[str]]:
    assert item.race is not None
    return [[f"{one.kind} {one.text or one.key}" for one in program] for program in item.race.programs]


SET_UP = phase("insert 1", "insert 2", "insert 3", name="set-up", explore=False)
WORK = case(SET_UP, race("update 1, update 2", "lookup 3, lookup 1", "erase 3"), phase("lookup 2", name="after"))


def test_a_thread_that_loses_its_operations_is_gone() -> None:
    kept = WORK.without(3, 5)
    assert programs(kept) == [["lookup 3", "lookup 1"], ["erase 3"]]
    assert [item.name for item in kept.phases] == ["set-up", "race", "after"]
    one = kept.without(5, 6)
    assert one.race is None
    assert words(one) == ["insert 1", "insert 2", "insert 3", "lookup 3", "lookup 1", "lookup 2"]
    assert one.phases[1].threads == () and one.phases[1].programs == ()
    assert [item.name for item in one.without(3, 5).phases] == ["set-up", "after"]


def test_mapping_keeps_the_threads() -> None:
    mapped = WORK.mapped([replace(item, kind="lookup") for item in WORK.operations])
    assert programs(mapped) == [["lookup 1", "lookup 2"], ["lookup 3", "lookup 1"], ["lookup 3"]]


def test_the_bug_of_two_threads_is_left_with_two_threads() -> None:
    def bug(now: Case) -> bool:
        """An update of key 1 in one thread, a lookup of it in another, and its insert before."""
        if now.race is None or not holds(now, ["insert 1"]):
            return False
        pairs = permutations(programs(now), 2)
        return any("update 1" in one and "lookup 1" in other for one, other in pairs)

    now = search(WORK, bug)
    assert shrink(now, {}) == ""
    assert programs(now.best) == [["update 1"], ["lookup 1"]]
    assert words(now.best) == ["insert 1", "update 1", "lookup 1"]


def test_a_bug_of_one_thread_becomes_a_phase_of_steps() -> None:
    now = search(WORK, lambda now: holds(now, ["insert 3", "erase 3"]))
    assert shrink(now, {}) == ""
    assert now.best.race is None
    assert words(now.best) == ["insert 3", "erase 3"]
    assert "steps" in plan(now.best)["scenario"]["phases"][-1]


def test_fewer_threads_come_before_fewer_operations() -> None:
    both = case(phase("insert 1", name="set-up"), race("update 1", "lookup 1"))
    alone = case(phase("insert 1", "update 1", "lookup 1", "lookup 1", "lookup 1"))
    assert order(alone, events=100) < order(both, events=10)


def test_threads_may_do_their_work_in_one() -> None:
    """Three threads, of which two have to be one for the bug to stay."""

    def bug(now: Case) -> bool:
        return now.race is not None and (now == start or ["update 1", "update 2"] in programs(now))

    start = case(SET_UP, race("update 1", "update 2", "lookup 1"))
    now = search(start, bug)
    drop_threads(now)
    assert programs(now.best) == [["update 1", "update 2"], ["lookup 1"]]


def test_inserts_that_may_meet_their_key_are_left_out() -> None:
    start = case(phase("insert 1"), race("erase 1, insert 1", "insert 2"))
    assert runnable(start) == start
    without_erase = runnable(start.without(1, 2))
    assert words(without_erase) == ["insert 1", "insert 2"] and without_erase.race is None
    checked = replace(start, meets=True)
    assert words(runnable(checked.without(1, 2))) == ["insert 1", "insert 1", "insert 2"]
    absent = case(phase("insert 1"), race("update 2", "erase 2"))
    assert runnable(absent) == absent, "threads may find no such key"


def test_a_single_thread_that_is_left_keeps_the_rules_of_steps() -> None:
    start = case(phase("insert 2"), race("insert 2", "update 1"))
    assert words(runnable(start)) == ["insert 2"], "a thread may update an absent key, a step may not"


def test_what_threads_leave_is_unknown() -> None:
    start = case(phase("insert 1"), race("insert 2", "erase 1"), phase("update 1", "erase 2", "update 3", "insert 4"))
    assert words(runnable(start)) == ["insert 1", "insert 2", "erase 1", "update 1", "erase 2", "insert 4"]
    again = case(phase("insert 1"), race("erase 1", "lookup 1"), phase("insert 1"))
    assert words(runnable(again)) == ["insert 1", "erase 1", "lookup 1"]
    assert runnable(replace(again, meets=True)) == replace(again, meets=True)


PROGRAM = st.lists(
    st.sampled_from(["insert 1", "insert 2", "update 1", "erase 1", "erase 2", "lookup 2"]), min_size=1, max_size=3
)


@settings(deadline=None, max_examples=150)
@given(st.sets(st.integers(1, 2)), st.lists(PROGRAM, min_size=2, max_size=3), st.data())
def test_candidates_break_no_rule_that_the_finding_kept(live: set[int], drawn: list[list[str]], data: Any) -> None:
    set_up = [phase(*(f"insert {key}" for key in sorted(live)), name="set-up")] if live else []
    start = runnable(case(*set_up, race(*(", ".join(program) for program in drawn))))
    kept = data.draw(st.lists(st.booleans(), min_size=len(start.operations), max_size=len(start.operations)))
    made = runnable(start.keeping(kept))
    for item in made.phases:
        assert not item.threads or (len(item.threads) > 1 and sum(item.threads) == len(item.operations))
    if made.race is not None:
        there = {one.key for item in made.phases if not item.threads for one in item.operations if one.kind == "insert"}
        asked = [[(one.kind, one.key) for one in program if one.key is not None] for program in made.race.programs]
        assert not may_meet_present(asked, [key for key in there if key is not None])
    assert runnable(made) == made


TEMPLATE: dict[str, Any] = {
    "plan": 1,
    "target": {"library": "/x.so", "name": "level", "variant": "hardened", "options": {}},
    "scenario": {"name": "s", "expect_marks": [], "phases": []},
    "search": {"kind": "bounded", "preemptions": 2, "schedules": 0, "model": "adr"},
    "seed": 7,
}


def plan(item: Case) -> dict[str, Any]:
    return plan_of(item, TEMPLATE, toggle=None, bug_option="bug")


def test_a_plan_has_a_search_where_it_has_threads() -> None:
    made = plan(WORK)
    assert made["search"] == TEMPLATE["search"]
    assert made["scenario"]["phases"][1] == {
        "name": "race",
        "explore": True,
        "cut_at": None,
        "threads": [
            [{"op": "update", "keys": [1]}, {"op": "update", "keys": [2]}],
            [{"op": "lookup", "keys": [3]}, {"op": "lookup", "keys": [1]}],
            [{"op": "erase", "keys": [3]}],
        ],
    }
    assert "search" not in plan(WORK.without(5, 8)), "one thread is left"


def test_a_choice_becomes_what_was_chosen() -> None:
    choice = {"any": [{"op": "update", "keys": [1]}, {"op": "lookup", "keys": [1]}]}
    written = plan(WORK)
    written["scenario"]["phases"][1] |= {"threads": [[choice, choice]] * 3, "alike": True}
    key = "5fb9a2f9a6f1a2e8"
    begun = [Begun(thread=3, kind="lookup", key=key), Begun(thread=1, kind="maintain", text="expand")]
    does = [{"op": "maintain", "command": "expand"}], [{"op": "lookup", "keys": [key_of(key)]}]
    made = of_client(written, begun)
    assert made["scenario"]["phases"][1]["threads"] == list(does) and "alike" not in made["scenario"]["phases"][1]
    assert made["search"] == written["search"] and made["scenario"]["phases"][0] == written["scenario"]["phases"][0]
    alone = of_client(written, begun[1:])
    assert alone["scenario"]["phases"][1]["steps"] == does[0] and "search" not in alone
    assert of_client(plan(WORK), begun) == plan(WORK)
    before = of_client(written, [])
    assert before["scenario"]["phases"][1]["steps"] == [{"op": "update", "keys": [1]}]


def test_plans_are_spelled_out() -> None:
    phases = [_planned(item) for item in plan(WORK)["scenario"]["phases"][1:]]
    assert phases == list(WORK.phases[1:])
    ranged = _planned(
        {
            "name": "race",
            "explore": True,
            "cut_at": None,
            "threads": [[{"op": "erase", "from": 2, "to": 3}], [{"op": "maintain", "command": "expand"}]],
        }
    )
    assert ranged == race("erase 2, erase 3", "maintain expand")
    assert not _meets([SET_UP, WORK.phases[1]])
    assert _meets([SET_UP, race("insert 1", "lookup 1")])
    assert not _meets([SET_UP, phase("erase 1"), race("insert 1", "lookup 1")])


RECORD = finding(
    stores=[],
    fingerprint="0123456789ab",
    target="level",
    variant="hardened",
    scenario="s",
    message="A lookup returned what the power cut took away.",
    engine={"model": "adr", "atoms": "any", "strategy": "read-driven", "nested": 1, "seed": 1},
    plan={**TEMPLATE, "target": {"library": "/elsewhere/libmine.so"}},
)


def test_a_case_of_threads_is_a_scenario_of_threads() -> None:
    content = ScenarioFile.model_validate(
        tomllib.loads(scenario_text(WORK, finding=RECORD, original=RECORD, toggle=None))
    )
    assert content.schema_version == 2 and content.race is not None
    assert content.search is not None and content.search.preemptions == 2
    assert [[step.op for step in thread] for thread in content.race.threads] == [["update"], ["lookup"], ["erase"]]
    alone = ScenarioFile.model_validate(
        tomllib.loads(scenario_text(WORK.without(5, 8), finding=RECORD, original=RECORD, toggle=None))
    )
    assert alone.schema_version == 1 and alone.search is None
    assert RECORD.plan is not None
    late = changed(RECORD, plan={**RECORD.plan, "search": {**RECORD.plan["search"], "visibility": "tso"}})
    told = tomllib.loads(scenario_text(WORK, finding=late, original=late, toggle=None))
    assert (told["schema"], told["search"]["visibility"]) == (3, "tso")


def test_the_record_names_the_thread_of_each_operation() -> None:
    minimal = Minimal(
        case=WORK, plan={}, trace=Path("x.pct"), finding=RECORD, original=RECORD, operations_before=9, config_before={},
        scenario="", considered=1, seconds=0.0, complete=True, note="",
    )  # fmt: skip
    told = minimal.record()
    assert [item.thread for item in told.operations] == [None, None, None, 1, 1, 2, 2, 3, None]
    assert str(told.operations[0]) == "insert(1)" and str(told.operations[5]) == "lookup(3) in thread 2"
    assert "thread" not in told.as_json()["operations"][0]


BIG = """\
schema = 2
summary = "More than the bug needs."
targets = ["turbohash"]
config = { concurrency = "concurrent", bug = "dirty_hit" }
data = { key_size = 8, value_size = 8 }
search = { preemptions = 2 }
[[phase]]
name = "set-up"
explore = false
steps = [{ op = "insert", from = 1, to = 4 }, { op = "erase", keys = [4] }]
[[phase]]
name = "race"
threads = [
  [{ op = "update", keys = [2] }, { op = "update", keys = [1] }],
  [{ op = "lookup", keys = [1] }, { op = "lookup", keys = [3] }],
  [{ op = "erase", keys = [3] }],
]
[[phase]]
name = "after"
steps = [{ op = "lookup", from = 1, to = 2 }]
"""


def test_a_bug_of_one_client_of_many_is_minimised(folder: Path) -> None:
    words_of_run = ["run", "turbohash:hardened", "--client", "2x2", "--keys", "1", "--config", "bug=dirty_hit"]
    chosen = ["--scenario", "clients_2x2_u1", "--out", "out", "--format", "json", "--explain", "1"]
    assert main([*words_of_run, *chosen]) == ExitCode.FINDINGS
    records = [json.loads(file.read_text()) for file in (folder / "out" / "findings").glob("*.json")]
    (minimal,) = (record["minimal"] for record in records if record.get("minimal"))
    assert [item["text"] for item in minimal["operations"]] == ["insert(1)", "update(1)", "lookup(1)"]


def test_a_planted_bug_of_threads_is_minimised(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "big.toml").write_text(BIG)
    words_of_run = ["run", "turbohash:hardened", "--scenario", "big.toml", "--out", "out", "--format", "json"]
    assert main([*words_of_run, "--explain", "1"]) == ExitCode.FINDINGS
    (file,) = (folder / "out" / "findings").glob("*.json")
    minimal = json.loads(file.read_text())["minimal"]
    assert [(item["text"], item.get("thread")) for item in minimal["operations"]] == [
        ("insert(1)", None), ("update(1)", 1), ("lookup(1)", 2),
    ]  # fmt: skip
    (folder / "smallest.toml").write_text(minimal["scenario"].replace(f'name = "minimal-{file.stem}"\n', ""))
    capsys.readouterr()
    again = ["run", "turbohash:hardened", "--scenario", "smallest.toml", "--explain", "0", "--out", "again"]
    assert main(again) == ExitCode.FINDINGS
    assert "unpersisted-read" in capsys.readouterr().out
