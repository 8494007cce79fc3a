"""Properties of every minimal case, over random workloads; the rule of sameness; the scenario that is saved."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from powercut.minimise.case import Case, Phase, plan_of, runnable
from powercut.minimise.choose import clearest, lost
from powercut.minimise.concrete import key_of
from powercut.minimise.order import order
from powercut.minimise.passes.configure import smaller_values
from powercut.minimise.same_bug import same_bug
from powercut.minimise.scenario_text import renamed, scenario_text
from powercut.minimise.shrink import shrink
from powercut.scenarios import scenario
from powercut_records.finding import FindingRecord
from reports.tests.typed import finding_of
from tests.minimise.minimising import FakeEngine, case, finding, holds, phase, search, words

OPERATIONS = st.sampled_from(
    [f"{kind} {key}" for kind in ("insert", "update", "erase", "lookup") for key in ("1", "2", "3", "9", "zeros")]
    + ["maintain expand"]
)
WORKLOADS = st.lists(
    st.tuples(st.lists(OPERATIONS, min_size=1, max_size=8), st.booleans()), min_size=1, max_size=3
).map(lambda phases: _case(phases))


def _case(phases: list[tuple[list[str], bool]]) -> Case:
    """Phases with names of their own, the last of them explored; only what can be run."""
    made = [
        phase(*items, name=f"phase {number}", explore=explore or number == len(phases) - 1)
        for number, (items, explore) in enumerate(phases)
    ]
    return runnable(case(*made, options={"top": "8"}))


@st.composite
def bugs(draw: st.DrawFn) -> tuple[Case, list[str], int]:
    """A workload, the operations of it that its bug needs, and the least table that it needs."""
    start = draw(WORKLOADS.filter(lambda item: bool(item.operations) and item.is_explored))
    found = words(start)
    chosen = draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found)))
    return start, [word for word, keep in zip(found, chosen, strict=True) if keep], draw(st.integers(0, 8))


@settings(deadline=None, max_examples=150)
@given(bugs())
def test_a_minimal_case_shows_the_bug_and_nothing_of_it_can_be_missed(drawn: tuple[Case, list[str], int]) -> None:
    start, needed, top = drawn

    def bug(now: Case) -> bool:
        return holds(now, needed) and int(now.option("top") or "4") >= top

    now = search(start, bug)
    assert shrink(now, {"top": ["4", "2", "8"]}) == ""
    best = now.best
    assert bug(best)
    assert best.is_explored
    assert runnable(best) == best
    for number in range(len(best.operations)):
        left = runnable(best.without(number, number + 1))
        assert not (left.is_explored and bug(left)), "an operation could be missed"
    for smaller in smaller_values(best.option("top"), ["4", "2", "8"]):
        candidate = best.with_option("top", smaller)
        simpler = order(candidate, events=10) < order(best, events=10)
        assert not (simpler and bug(candidate)), "a smaller table would do"


@settings(deadline=None, max_examples=40)
@given(bugs())
def test_the_same_finding_gives_the_same_case_by_the_same_steps(drawn: tuple[Case, list[str], int]) -> None:
    start, needed, _ = drawn
    engines = [FakeEngine(lambda now: holds(now, needed)) for _ in range(2)]
    results = [search(start, engine) for engine in engines]
    for result in results:
        shrink(result, {"top": ["4", "2", "8"]})
    assert results[0].best == results[1].best
    assert engines[0].asked == engines[1].asked


@settings(deadline=None, max_examples=100)
@given(WORKLOADS, WORKLOADS)
def test_the_order_is_strict(first: Case, second: Case) -> None:
    def nameless(item: Case) -> Case:
        return replace(item, phases=tuple(replace(part, name="") for part in item.phases))

    equal = order(first, events=1) == order(second, events=1)
    assert not equal or words(first) == words(second)
    assert (nameless(first) != nameless(second)) or equal


def _mixed(value: int) -> int:
    """The finaliser of splitmix64, as scenarios/SCHEMA.md has it."""
    mask = (1 << 64) - 1
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 & mask
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB & mask
    return value ^ (value >> 31)


@given(st.integers(1, 2**32 - 3))
def test_the_bytes_of_a_key_lead_back_to_it(key: int) -> None:
    assert key_of(_mixed(key).to_bytes(8, "little").hex() + "00" * 8) == key


def test_keys_that_have_names_keep_them() -> None:
    assert key_of("00" * 16) == "zeros"
    assert key_of("ff" * 8) == "ones"


def store(fate: str, site: str, *, decisive: bool = True) -> dict[str, Any]:
    return {"fate": fate, "site": site, "function": "f", "decisive": decisive, "event": 1}


def with_(record: FindingRecord, **fields: Any) -> FindingRecord:
    return finding_of({**record.as_json(), **fields})


STORES = [store("lost", "a.cc:1"), store("lost", "a.cc:2"), store("persisted", "a.cc:3")]
ORIGINAL = finding(stores=STORES)
CRASHED = finding(invariant="recovery-failed", fault={"signal": "SIGSEGV", "site": "open.cc:7"})
SETTLED = finding(stores=[store("persisted", "a.cc:3")])


@pytest.mark.parametrize(
    ("found", "original", "same"),
    [
        (ORIGINAL, ORIGINAL, True),
        # Fewer stores are missing, and torn instead of lost.
        (finding(stores=[store("torn", "a.cc:2"), store("persisted", "a.cc:3")]), ORIGINAL, True),
        (finding(stores=[store("lost", "a.cc:2")]), ORIGINAL, True),
        # More stores persisted that do not matter.
        (finding(stores=[*STORES, store("persisted", "b.cc:9")]), ORIGINAL, True),
        # Another store is missing, or none, or nothing that persisted is the same.
        (finding(stores=[*STORES, store("lost", "b.cc:1")]), ORIGINAL, False),
        (finding(stores=[store("lost", "b.cc:1"), store("persisted", "a.cc:3")]), ORIGINAL, False),
        (finding(stores=[store("persisted", "a.cc:3")]), ORIGINAL, False),
        (finding(stores=[store("lost", "a.cc:1"), store("persisted", "b.cc:3")]), ORIGINAL, False),
        # A store that does not decide does not count.
        (finding(stores=[*STORES, store("lost", "b.cc:1", decisive=False)]), ORIGINAL, True),
        (with_(ORIGINAL, invariant="torn-value"), ORIGINAL, False),
        (with_(ORIGINAL, underlying="lost-item"), ORIGINAL, False),
        # A finding that needs no power cut is another bug, and the other way round.
        (with_(ORIGINAL, needs_power_cut=False), ORIGINAL, False),
        (with_(ORIGINAL, needs_power_cut=False), with_(ORIGINAL, needs_power_cut=False), True),
        (ORIGINAL, with_(ORIGINAL, needs_power_cut=False), False),
        (with_(ORIGINAL, needs_power_cut=True), ORIGINAL, True),
        # A crash of recovery is its place; the stores may be others.
        (with_(CRASHED, stores=[store("lost", "c.cc:1")]), CRASHED, True),
        (with_(CRASHED, fault={"signal": "SIGBUS", "site": "open.cc:7"}), CRASHED, False),
        (with_(CRASHED, fault=None), CRASHED, False),
        # Nothing is missing: the code is wrong by itself.
        (SETTLED, SETTLED, True),
        (finding(), SETTLED, True),
        (finding(operation={"kind": "erase"}), SETTLED, False),
        (finding(query={"kind": "probe"}), finding(), False),
        (finding(stores=[store("lost", "a.cc:1")]), SETTLED, False),
    ],
)
def test_what_is_the_same_bug(found: FindingRecord, original: FindingRecord, same: bool) -> None:
    assert same_bug(found, original) is same


def test_the_earliest_crash_with_the_least_lost_is_shown() -> None:
    def record(key: str, index: int, *, depth: int = 0, missing: int = 1) -> FindingRecord:
        stores = [store("lost", "a.cc:1")] * missing
        point = {"index": index, "depth": depth}
        return finding(stores=stores, crash_point=point, key=key, fingerprint=key)

    records = [record("a", 3), record("b", 1, depth=1), record("c", 2, missing=2), record("d", 2), record("d", 9)]
    chosen = clearest(records, ORIGINAL)
    # The last finding of one key is valid, so 'd' is at crash point 9.
    assert chosen is not None
    assert chosen["key"] == "c"
    assert lost(chosen) == 2
    assert clearest([with_(records[0], invariant="leak")], ORIGINAL) is None


RECORD = finding(
    stores=STORES,
    fingerprint="0123456789ab",
    target="level",
    variant="hardened",
    scenario='update "quoted"',
    message="An acknowledged update of key 17 is gone, " + "and this is a long sentence " * 5,
    engine={"model": "eadr", "atoms": "any", "strategy": "read-driven", "nested": 1, "seed": 1},
    plan={"target": {"library": "/elsewhere/libmine.so"}},
)


@given(WORKLOADS.filter(lambda item: item.is_explored))
def test_a_case_is_a_valid_scenario_with_the_same_operations(drawn: Case) -> None:
    text = scenario_text(drawn, finding=RECORD, original=RECORD, toggle="a_bug")
    content = scenario.ScenarioFile.model_validate(tomllib.loads(text))
    steps = [(item.name, item.explore, item.cut_at, step) for item in content.phases for step in item.steps]
    said = [
        f"{step.op} {key}"  # type: ignore[union-attr]
        for _, _, _, step in steps
        for key in (getattr(step, "keys", None) or [getattr(step, "command", "")])
    ]
    assert said == words(drawn)
    assert content.config == {"top": 8, "bug": "a_bug"}
    assert [(item.name, item.explore) for item in content.phases] == [
        (item.name, item.explore) for item in drawn.phases
    ]


def test_a_scenario_takes_the_name_of_its_file_and_tells_how_to_run_it(tmp_path: Path) -> None:
    text = scenario_text(case(phase("insert 1")), finding=RECORD, original=RECORD, toggle=None)
    path = tmp_path / "regression.toml"
    path.write_text(renamed(text, path))
    loaded = scenario.load(path)
    assert loaded.name == "regression"
    assert loaded.content.known_bug is None
    command = "# Shows it again: powercut run libmine.so:hardened --scenario regression.toml --model eadr --atoms any"
    assert f"{command} --nested 0\n" in path.read_text()
    assert max(map(len, path.read_text().splitlines()[:4])) <= 120


def test_steps_of_a_phase_with_a_cut_stay_apart() -> None:
    """A cut drops the rest of its step."""
    text = scenario_text(
        case(phase("insert 1", "insert 2", cut_at="m", name="cut"), phase("insert 3", "insert 4", name="last")),
        finding=RECORD,
        original=RECORD,
        toggle=None,
    )
    assert text.count('{ op = "insert", keys = [1] },\n  { op = "insert", keys = [2] },') == 1
    assert '{ op = "insert", keys = [3, 4] },' in text


def test_the_plan_of_a_case_keeps_target_variant_bug_and_seed() -> None:
    template = {
        "plan": 1,
        "target": {"library": "/x.so", "name": "level", "variant": "hardened", "options": {"top": "4", "bug": "b"}},
        "scenario": {"name": "s", "expect_marks": ["m"], "phases": []},
        "seed": 7,
    }
    plan = plan_of(case(phase("insert ones"), options={"top": "2"}), template, toggle="b", bug_option="bug")
    assert plan["target"] == {**template["target"], "options": {"top": "2", "bug": "b"}}
    assert plan["seed"] == 7
    assert plan["scenario"]["expect_marks"] == []
    assert plan["scenario"]["phases"] == [
        {"name": "work", "explore": True, "cut_at": None, "steps": [{"op": "insert", "keys": ["ones"]}]}
    ]
    assert isinstance(case(phase("insert 1")).phases[0], Phase)
