"""A trace of many schedules: commands for one run refuse the trace, and each schedule of the trace is such a run."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from tests.real_engine import Subject, explore, planted_bugs, record

THREAD_BUGS = [bug for bug in planted_bugs() if bug.scenario.bug_id.startswith("turbohash/threads_")]


def engine(*words: str | Path) -> list[dict[str, Any]]:
    done = subprocess.run([paths.engine(), *map(str, words)], capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def refusal(*words: str | Path) -> dict[str, Any]:
    (error,) = [event for event in engine(*words) if event["event"] == "error"]
    assert error["kind"] == "usage"
    return error


@pytest.fixture
def tree(real_engine: None, tmp_path: Path) -> Path:
    """The trace of a bug that a lookup beside an update shows."""
    (subject,) = [item for item in planted_bugs() if item.scenario.bug_id == "turbohash/threads_dirty_hit"]
    return record(subject, tmp_path)


def test_what_follows_one_run_refuses_many_schedules(tree: Path, tmp_path: Path) -> None:
    edits = tmp_path / "edits.json"
    edits.write_text('{"edits": 1, "drop": [3]}')
    for words in (
        ("edit", "--edits", edits, "--out", tmp_path / "out.pct"),
        ("export-pmemcheck", "--log", tmp_path / "out.log"),
        ("faults", "--fault", "bitflip"),
    ):
        assert "many schedules" in refusal(words[0], "--trace", tree, *words[1:])["what"], words


def test_schedules_are_explored_as_they_were_searched(tree: Path) -> None:
    assert "for the model adr" in refusal("explore", "--trace", tree, "--model", "eadr")["what"]
    assert "atom policy any" in refusal("explore", "--trace", tree, "--atoms", "byte")["what"]


def test_audit_counts_the_crash_states_that_exploring_counts(tree: Path) -> None:
    (audited,) = [event for event in engine("audit", "--trace", tree, "--images", "50") if event["event"] == "audited"]
    assert audited["crash_states"] == explore(tree).result["crash_states"]
    assert audited["differences"] == 0


def test_one_schedule_is_a_run_that_shows_its_finding(tree: Path, tmp_path: Path) -> None:
    found = [event for event in explore(tree).events if event["event"] == "finding"]
    lost = next(event for event in found if event["invariant"] == "unpersisted-read")
    alone = tmp_path / "alone.pct"
    engine("schedule", "--trace", tree, "--crash-point", str(lost["crash_point"]["index"]), "--out", alone)
    assert "unpersisted-read" in explore(alone, "--atoms", "byte").invariants
    assert [turn["thread"] for turn in lost["turns"]] == [1, 2]


@pytest.mark.parametrize("bug", THREAD_BUGS, ids=lambda bug: bug.scenario.bug_id)
@pytest.mark.parametrize("planted", [True, False], ids=["bug", "twin"])
def test_savings_lose_nothing(real_engine: None, tmp_path: Path, bug: Subject, planted: bool) -> None:
    """The arguments of SCHEDULES.md, against every use of a shared place, and places told by all that was read."""
    subject = bug if planted else bug.without_toggle()
    slow, fast = (explore(record(subject, tmp_path, search={"slow": slowly})) for slowly in (True, False))
    counts, fewer = (found.result["coverage"]["schedules"] for found in (slow, fast))
    assert counts["complete"] and fewer["complete"]
    assert counts["frontiers"] == fewer["frontiers"]
    assert slow.result["crash_states"] == fast.result["crash_states"]
    assert slow.invariants == fast.invariants
    assert bool(fast.invariants) == planted
    assert fewer["states"] <= counts["states"]
