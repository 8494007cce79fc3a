"""Second lives of targets: the clever explorer tells the answers of the eager one, and each way of merging the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from powercut.scenarios import catalog, scenario, targets
from tests.real_engine import Exploration, Subject, explore, planted_bugs, record

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("real_engine")]

LIVES = ("--lives", "2", "--nested", "0")
#: Schemes whose eager exploration takes a second or two.
FEW = ("cceh", "path", "smartcuckoo", "turbohash")
#: Schemes that it takes longer.
LONG = ("bch", "bcht", "clevel", "linear", "level")


def core(target: str, name: str) -> scenario.Scenario:
    return next(item for item in catalog.core(target) if item.name == name)


def compared() -> Iterator[pytest.param]:
    for name in (*FEW, *LONG):
        yield pytest.param(name, id=name, marks=pytest.mark.long if name in LONG else ())


def lines_of_second_lives(run: Exploration) -> set[str]:
    return {line for line in run.dump.splitlines() if " second life " in line}


@pytest.mark.parametrize("target", list(compared()))
def test_answers_are_those_of_a_run_without_memory(target: str, tmp_path: Path) -> None:
    trace = record(Subject(scenario=core(target, "map_update"), target=target, variant="hardened"), tmp_path)
    clever = explore(trace, *LIVES, dump=True)
    eager = explore(trace, *LIVES, strategy="exhaustive", dump=True)
    assert clever.dump.splitlines() == eager.dump.splitlines()
    told = lines_of_second_lives(clever)
    assert any(" lookup(" in line for line in told) and any("a new key" in line or "lookup(0x" in line for line in told)
    assert clever.result["coverage"]["kind"] == eager.result["coverage"]["kind"] == "complete"
    assert clever.findings == eager.findings == []


@pytest.mark.parametrize("target", [target for target in FEW if target in targets.libraries()])
def test_a_run_that_merges_lives_finds_no_less(target: str, tmp_path: Path) -> None:
    trace = record(Subject(scenario=core(target, "map_churn"), target=target, variant="hardened"), tmp_path)
    merged, each, one = (explore(trace, *arguments) for arguments in (LIVES, (*LIVES, "--no-merge-lives"), LIVES[2:]))
    assert merged.result["verdict"] == each.result["verdict"] == one.result["verdict"] == "consistent"
    assert merged.findings == each.findings == []
    lives, all_lives = merged.result["coverage"]["lives"], each.result["coverage"]["lives"]
    assert 0 < lives["new"] <= lives["begun"] <= all_lives["begun"] == all_lives["new"]
    assert "lives" not in one.result["coverage"] or one.result["coverage"]["lives"] is None


#: Published schemes, and scenarios that show nothing of their bugs in one life.
SECOND_ALONE = {"bch": "map_erase", "bcht": "map_churn", "cceh": "cceh_update"}


def wrong_answers(trace: Path, *arguments: str, strategy: str = "read-driven") -> tuple[Exploration, set[str]]:
    file = trace.with_suffix(".violations")
    run = explore(trace, *arguments, "--dump-violations", str(file), strategy=strategy)
    lines = set(file.read_text(encoding="utf-8").splitlines())
    file.unlink()
    return run, lines


@pytest.mark.parametrize("target", list(SECOND_ALONE))
def test_what_only_a_second_life_shows_is_found_however_lives_are_merged(target: str, tmp_path: Path) -> None:
    item = core(target, SECOND_ALONE[target])
    trace = record(Subject(scenario=item, target=target, variant="published"), tmp_path)
    one, nothing = wrong_answers(trace, *LIVES[2:])
    assert (one.result["verdict"], nothing) == ("consistent", set())
    merged, wrong = wrong_answers(trace, *LIVES)
    assert merged.result["verdict"] == "inconsistent"
    assert wrong and all(line.startswith("second ") for line in wrong)
    assert wrong_answers(trace, *LIVES, "--no-merge-lives")[1] == wrong
    assert wrong_answers(trace, *LIVES, "--no-remember")[1] == wrong
    assert wrong_answers(trace, *LIVES, strategy="exhaustive")[1] == wrong
    for finding in merged.findings:
        assert "In a second life: behind recovery came " in finding["message"]
        assert finding["invariant"] != "not-idempotent" and finding["crash_point"]["depth"] == 1


#: Planted bugs, and scenarios of which one life shows nothing of them: an operation of the continuation does.
PLANTED = [
    *(
        ("bch", "erase_first_copy", "map_erase"),
        ("bch", "kick_out", "map_erase"),
        ("bch", "log_unordered", "map_insert"),
    ),
    *(("bch", "move_clear_first", "map_erase"), ("bch", "move_duplicate", "map_insert")),
    *(("bch", "log_not_replayed", "map_erase"), ("bch", "path_end_unordered", "map_erase")),
    *(("bch", "update_two_writes", "map_erase"), ("bch", "update_unordered", "map_update")),
    *(("cceh", "erase_unflushed", "map_update"), ("cceh", "key_before_value", "map_update")),
    *(("cceh", "sentinel_leaks", "map_update"), ("cceh", "update_unflushed", "map_erase")),
    *(("clevel", "context_in_place", "map_insert"), ("clevel", "context_unordered", "map_insert")),
    *(("clevel", "index_after_context", "map_insert"), ("clevel", "index_before_items", "map_insert")),
    *(("clevel", "insert_unordered", "map_update"), ("clevel", "rehash_clear_first", "map_insert")),
    *(("clevel", "update_frees_first", "map_erase"), ("clevel", "update_unordered", "map_erase")),
    ("dash", "erase_not_flushed", "map_update"),
]
QUICK = {"erase_first_copy", "key_before_value", "insert_unordered", "erase_not_flushed"}


@pytest.mark.parametrize(
    ("target", "toggle", "scenario_name"),
    [pytest.param(*bug, id="/".join(bug), marks=() if bug[1] in QUICK else pytest.mark.long) for bug in PLANTED],
)
def test_a_planted_bug_shows_in_a_second_life_alone(
    target: str, toggle: str, scenario_name: str, tmp_path: Path
) -> None:
    bug = next(subject for subject in planted_bugs() if (subject.target, subject.toggle) == (target, toggle))
    trace = record(replace(bug, scenario=core(target, scenario_name)), tmp_path)
    one, nothing = wrong_answers(trace, *LIVES[2:])
    assert (one.result["verdict"], nothing) == ("consistent", set())
    merged, wrong = wrong_answers(trace, *LIVES)
    assert merged.result["verdict"] == "inconsistent"
    assert wrong_answers(trace, *LIVES, "--no-merge-lives")[1] == wrong
