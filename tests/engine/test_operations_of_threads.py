"""The operations that a phase asks of its threads happen: else the run is unknown, or refused, and never clean."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

import powercut
from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.scenarios import clients, targets
from powercut.scenarios.clients import Shape
from powercut.scenarios.scenario import SCHEMA_VERSION, Scenario
from powercut.scenarios.schema import ScenarioFile
from powercut.scenarios.targets import Selection
from powercut.testing.api import InconsistentError, Result, UnknownError
from tests.real_engine import Subject, explore, record

#: One of them first, which is not explored.
COUNTER = [("increment", 1, {"by": 4})]


def library(pair: str) -> str:
    return str(paths.library_dir() / "regression" / f"{pair}.so")


def judged(pair: str, folder: Path, threads: list[Any], operations: list[Any] | None = None, **more: Any) -> Result:
    """One half of a pair of targets/regression."""
    heard: list[Result] = []
    session = powercut.Session(out=folder, heard=heard.append)
    with contextlib.suppress(InconsistentError, UnknownError):
        session.check(library(pair), operations or [], threads=threads, **more)
    (result,) = heard
    return result


def test_increments_of_threads_run(real_engine: None, tmp_path: Path) -> None:
    """Two threads that load, add and store lose one of their increments, whether a search or a recording shows it."""
    threads = [[("increment", 1)], [("increment", 1, {"by": 2})]]
    wrong = judged("increments_of_threads-bug", tmp_path, threads, warmup=COUNTER)
    assert "lost-increment" in {found["invariant"] for found in wrong.findings}
    right = judged("increments_of_threads-twin", tmp_path, threads, [("lookup", 1)], warmup=COUNTER)
    assert right.consistent
    assert right.complete
    recorded = judged("increments_of_threads-twin", tmp_path, threads, warmup=COUNTER, search="recorded")
    assert recorded.consistent


def test_increments_behind_threads_run(real_engine: None, tmp_path: Path) -> None:
    """A lookup behind the threads finds the sum that the increments before it have left."""
    threads = [[("increment", 1)], [("lookup", 2)]]
    behind = [("increment", 1, {"by": 2}), ("lookup", 1)]
    right = judged("increments_of_threads-twin", tmp_path, threads, behind, warmup=COUNTER)
    assert right.consistent
    assert right.complete


def test_threads_choose_among_increments(real_engine: None, tmp_path: Path) -> None:
    """By 1 and by 2 are two operations: threads that are alike take either, and each client leaves its own sum."""
    either = {"any": [{"op": "increment", "keys": [1]}, {"op": "increment", "keys": [1], "by": 2}]}
    content = {
        "schema": SCHEMA_VERSION,
        "name": "either",
        "summary": "Either of two increments.",
        "targets": ["pair"],
        "data": {"key_size": 8, "value_size": 8},
        "phase": [{"name": "clients", "threads": [[either], [either]], "alike": True}],
    }
    made = Scenario(path=Path("either.toml"), content=ScenarioFile.model_validate(content))
    for kind, invariants in (("twin", set()), ("bug", {"lost-increment"})):
        target = library(f"increments_of_threads-{kind}")
        found = explore(record(Subject(scenario=made, target=target, variant="published", toggle=None), tmp_path))
        assert found.result["coverage"]["schedules"]["clients"] == 3
        assert invariants <= set(found.invariants)
        assert bool(found.invariants) == bool(invariants)


@pytest.mark.parametrize("search", [None, "recorded"])
def test_an_operation_that_is_not_supported_makes_the_run_unknown(
    real_engine: None, tmp_path: Path, search: str | None
) -> None:
    """Its update answers UNSUPPORTED, so what the scenario asks for did not happen (targets/regression/pair.h)."""
    result = judged("mutex_of_threads-twin", tmp_path, [[("insert", 1)], [("update", 1)]], search=search)
    assert result.verdict == "unknown"
    assert not result.findings
    assert "thread 2 in update(1) answered UNSUPPORTED" in result.report()


def test_what_is_not_supported_behind_threads_makes_the_run_unknown(real_engine: None, tmp_path: Path) -> None:
    result = judged("mutex_of_threads-twin", tmp_path, [[("insert", 1)], [("insert", 2)]], [("update", 1)])
    assert result.verdict == "unknown"
    assert "update(1) answered UNSUPPORTED" in result.report()


@pytest.mark.parametrize("where", ["threads", "behind"])
def test_threads_without_the_operation_are_refused(real_engine: None, tmp_path: Path, where: str) -> None:
    """A null pointer says before anything runs that there is no such operation."""
    threads, behind = (
        ([[("insert", 1)], [("erase", 1)]], [])
        if where == "threads"
        else (
            [[("insert", 1)], [("lookup", 1)]],
            [("erase", 1)],
        )
    )
    with pytest.raises(UsageError, match="does not support erase"):
        judged("no_erase_of_threads-twin", tmp_path, threads, behind)


def test_clients_leave_out_what_the_target_lacks(real_engine: None, tmp_path: Path) -> None:
    """A correct map without erase and update: no client erases, so no insert meets a key that should be gone."""
    selection = Selection(target=targets.find(library("no_erase_of_threads-twin")), variant="published")
    made = clients.groups(selection, Shape(threads=2, operations=2))
    operations = {
        step.op
        for scenario in made.scenarios
        for phase in scenario.content.phases
        for thread in phase.threads
        for given in thread
        for step in getattr(given, "any", [given])
    }
    assert operations == {"insert", "lookup"}
    assert "have no update and no erase" in made.sentence("pair:published")
    for scenario in made.scenarios:
        subject = Subject(
            scenario=scenario, target=library("no_erase_of_threads-twin"), variant="published", toggle=None
        )
        found = explore(record(subject, tmp_path))
        assert not found.invariants, scenario.name
        assert found.result["coverage"]["schedules"]["complete"]


def test_clients_need_an_insert(real_engine: None) -> None:
    selection = Selection(target=targets.find(library("increments_of_threads-twin")), variant="published")
    with pytest.raises(UsageError, match="a table of counters does not have"):
        clients.groups(selection, Shape(threads=2, operations=1))


def test_clients_say_that_sizes_are_refused(real_engine: None) -> None:
    """The trait is set: what the target refuses are the sizes, and no option changes that."""
    selection = Selection(target=targets.find(library("odd_sizes_of_threads-twin")), variant="published")
    with pytest.raises(UsageError, match="takes none of the sizes") as refused:
        clients.groups(selection, Shape(threads=2, operations=1))
    assert "concurrency" not in str(refused.value)
    assert "these sizes do not fit" in str(refused.value)
    assert "powercut_target_sizes" in str(refused.value)


def test_a_query_waits_for_the_tables_own_thread(real_engine: None, tmp_path: Path) -> None:
    """The update of a probe, and that of a client, are made by that thread."""
    threads = [[("insert", 2)], [("update", 1)]]
    right = judged("update_waits_for_background-twin", tmp_path, threads, warmup=[("insert", 1)], value_size=8)
    assert right.consistent
    assert right.complete
