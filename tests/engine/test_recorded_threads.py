"""Threads of the system, recorded once: what they show, all schedules show, and what is sound stays clean."""

from __future__ import annotations

from pathlib import Path

import pytest

import powercut
from powercut.base import paths
from powercut.testing.api import Result
from tests.real_engine import Subject, explore, planted_bugs, record

#: Locks that spin, locks that are tried, readers without locks, threads of the table's own.
BUGS = [
    "level/threads_insert_check_apart",
    "level/threads_move_locks_full",
    "turbohash/threads_dirty_hit",
    "cmap/threads_lock_by_store",
    "cceh/threads_lock_load_then_store",
]
RECORDINGS = 4


@pytest.mark.parametrize("bug", [bug for bug in planted_bugs() if bug.scenario.bug_id in BUGS], ids=lambda bug: bug.id)
def test_a_recorded_schedule_is_one_of_all(real_engine: None, tmp_path: Path, bug: Subject) -> None:
    for subject in (bug, bug.without_toggle()):
        everything = explore(record(subject, tmp_path))
        for _ in range(RECORDINGS):
            recorded = explore(record(subject, tmp_path, search={"kind": "recorded", "schedules": 1}))
            counts = recorded.result["coverage"]["schedules"]
            assert (counts["schedules"], counts["complete"], counts["reason"]) == (1, False, "one was recorded")
            assert recorded.result["coverage"]["kind"] == "sampled"
            assert set(recorded.invariants) <= set(everything.invariants)
            assert int(recorded.result["crash_states"]) > 0


def judged(name: str, folder: Path, threads: list[list[tuple[str, int]]]) -> Result:
    """A recorded schedule of one half of a pair of targets/regression."""
    session = powercut.Session(out=folder)
    return session.check(str(paths.library_dir() / "regression" / f"{name}.so"), threads=threads, search="recorded")


def test_threads_that_an_operation_starts_are_followed(real_engine: None, tmp_path: Path) -> None:
    """A search gives them up (targets/regression/threads/operation_starts_thread.cc)."""
    result = judged("operation_starts_thread-twin", tmp_path, [[("insert", 1)], [("lookup", 1)]])
    assert result.consistent
    assert "the recorded schedule of 2 threads × 1 operation" in result.report()


def test_a_block_may_be_freed_by_another_thread(real_engine: None, tmp_path: Path) -> None:
    assert judged("freed_by_another_thread-twin", tmp_path, [[("erase", 1)], [("insert", 2)]]).consistent
