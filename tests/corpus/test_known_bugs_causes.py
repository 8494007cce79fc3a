"""The root cause of every known bug is the one that its scenario says: kind, and both lines of source.

The expectation (`cause` in scenarios/known_bugs/*/*.toml) was written from the sources of the schemes. Where the tool
gives another answer and the expectation is the right one, `KNOWN_WRONG` says so, and why.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.cause import find_cause
from powercut.corpus import known_bugs
from powercut.engine.options import ExploreOptions
from powercut.runs import runner
from tests.real_engine import require_engine

#: Bugs whose expected cause the tool does not give, each with the reason.
KNOWN_WRONG: dict[str, str] = {}

#: Bugs of order whose fix does not hold, each with the reason.
NOT_HELD: dict[str, str] = {}

#: One of each way in which the answer is found.
FEW = [
    "level/wrong-token-flushed",  # a flush is missing
    "level/undo-log-cleared-early",  # a flush comes late
    "turbohash/tag-after-meta",  # two stores are in the wrong order
    "path/update-two-writes",  # two stores should be one
    "turbohash/item-not-logged",  # two steps that recovery has to join
    "turbohash/empty-buckets-skipped",  # wrong with everything persisted
    "cceh/lock-not-reset",  # wrong with everything persisted, until a later store
]


def cases(ids: list[str] | None = None) -> list[known_bugs.Case]:
    """The bugs, or these, whose scenario says what their cause is."""
    return [
        case
        for case in known_bugs.cases(None, options=ExploreOptions())
        if case.role == "bug" and case.scenario.bug.cause and (ids is None or case.scenario.bug_id in ids)
    ]


def explained(chosen: list[known_bugs.Case], out: Path) -> dict[str, list[dict[str, Any]]]:
    """The answer of `powercut known-bugs --explain` for each of these bugs."""
    require_engine()
    with runner.open_context(paths.engine(), out) as context:
        verdict = known_bugs.run(chosen, context, jobs=len(os.sched_getaffinity(0)), explain=True)
    assert verdict.outcome.errors == []
    return {bug["id"]: bug.get("explained", []) for bug in verdict.bugs}


def differing(rows: dict[str, list[dict[str, Any]]]) -> set[str]:
    return {bug for bug, answers in rows.items() if not answers or not all(row["cause_shown"] for row in answers)}


def not_held(rows: dict[str, list[dict[str, Any]]]) -> set[str]:
    """Bugs of order without a fix under which the whole trace is clean."""
    return {
        bug for bug, answers in rows.items() if any(row["cause"] == "order" and not row["fix_held"] for row in answers)
    }


@pytest.mark.slow
@pytest.mark.parametrize("bug", FEW)
def test_the_cause_of_a_bug_is_the_expected_one(bug: str, tmp_path: Path) -> None:
    """On the trace of the scenario itself: to minimise it takes longer."""
    require_engine()
    (case,) = cases([bug])
    known = case.scenario.bug
    with runner.open_context(paths.engine(), tmp_path) as context:
        record = known_bugs.telling(known, runner.run_one(case.request, context).findings)
        assert record is not None
        cause = find_cause(record, Path(record.trace), context=context, folder=tmp_path / "fixed")
    assert known_bugs.shows_cause(known, cause), (cause["kind"], cause["first"], cause["second"])
    assert cause["kind"] != "order" or cause["recheck"]["held"]


@pytest.mark.slow
def test_a_fix_is_judged_beside_what_was_wrong_without_it(tmp_path: Path) -> None:
    """In the first run a table is freed twice, with the fix and without it: another bug, and no more of it. In the
    second the lock that stays held is met by other queries: the same bug, which moved."""
    rows = explained(cases(["pclht/oldest-table-freed-twice", "cceh/lock-not-reset"]), tmp_path)
    assert differing(rows) == set()
    assert {bug: row["cause"] for bug, (row,) in rows.items()} == {
        "cceh/lock-not-reset": "atomicity",
        "pclht/oldest-table-freed-twice": "order",
    }


@pytest.mark.long
def test_causes_of_all_bugs_are_the_expected_ones(tmp_path: Path) -> None:
    rows = explained(cases(), tmp_path)
    unexpected = (differing(rows) ^ set(KNOWN_WRONG)) | (not_held(rows) ^ set(NOT_HELD))
    assert not unexpected, {bug: rows[bug] for bug in sorted(unexpected)}
