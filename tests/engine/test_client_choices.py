"""A search over what threads choose (`any`) judges what the runs of all clients judge, one after another."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from powercut.base.errors import UsageError
from powercut.scenarios import clients, targets
from powercut.scenarios.clients import Operation, Program, Shape
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import SCHEMA_VERSION, ScenarioFile
from powercut.scenarios.targets import Selection
from tests.real_engine import Exploration, Subject, explore, record, trace_events

Json = dict[str, Any]
#: Targets, each with one of its bugs that two threads with one operation each show.
BUGS = [("turbohash", "dirty_hit"), ("pclht", "get_unpersisted"), ("clevel", "hit_not_persisted"), ("level", None)]


def scenario(
    target: str, name: str, threads: Sequence[Sequence[Json]], *, variant: str = "hardened", **more: Any
) -> Scenario:
    texts, known = clients.for_threads(Selection(target=targets.find(target), variant=variant), {})
    content = {
        "schema": SCHEMA_VERSION,
        "name": name,
        "summary": name,
        "targets": [target],
        "config": texts,
        "data": {"key_size": known.sizes[0], "value_size": known.sizes[1]},
        "phase": [
            {"name": "set-up", "explore": False, "steps": [{"op": "insert", "keys": [1]}]},
            {"name": "clients", "threads": threads, **more},
        ],
    }
    return Scenario(path=Path(f"{name}.toml"), content=ScenarioFile.model_validate(content))


def any_of(operations: Sequence[Operation]) -> Json:
    return {"any": [{"op": kind, "keys": [key]} for kind, key in operations]}


def judged(made: Scenario, target: str, bug: str | None, folder: Path) -> Exploration:
    subject = Subject(scenario=made, target=target, variant="hardened", toggle=bug)
    found = explore(record(subject, folder), dump=True)
    assert found.result["coverage"]["schedules"]["complete"]
    return found


def answers(found: Exploration) -> set[str]:
    """The queries after their cuts, and every answer: the dump without the numbers of crash points."""
    assert found.dump is not None
    return {line.split(" ", 1)[1] for line in found.dump.splitlines()}


def agree(target: str, bug: str | None, shape: Shape, folder: Path) -> Exploration:
    operations = [(kind, key) for kind in clients.KINDS for key in shape.keys]
    threads = [[any_of(operations)] * shape.operations] * shape.threads
    at_once = judged(scenario(target, "at_once", threads, alike=True), target, bug, folder)

    def alone(number: int, programs: Sequence[Program]) -> Exploration:
        # Choices of one alternative: values have the numbers that they have above.
        fixed = [[any_of([operation]) for operation in program] for program in programs]
        return judged(scenario(target, f"client_{number}", fixed), target, bug, folder)

    single = [alone(number, client) for number, client in enumerate(clients.clients(shape))]
    assert at_once.result["coverage"]["schedules"]["clients"] == len(single)
    assert answers(at_once) == set().union(*map(answers, single))
    assert at_once.invariants == set().union(*(found.invariants for found in single))
    frontiers = [found.result["coverage"]["schedules"]["frontiers"] for found in [at_once, *single]]
    assert max(frontiers[1:]) <= frontiers[0] <= sum(frontiers[1:])
    return at_once


@pytest.mark.parametrize(("target", "bug"), BUGS)
def test_choices_are_judged_as_clients_are(real_engine: None, target: str, bug: str | None, tmp_path: Path) -> None:
    found = agree(target, bug, Shape(threads=2, operations=1, keys=(1,)), tmp_path)
    assert bool(found.invariants) == (bug is not None)


@pytest.mark.long
@pytest.mark.parametrize("bug", ["dirty_hit", None])
def test_two_choices_a_thread_are_judged_as_clients_are(real_engine: None, bug: str | None, tmp_path: Path) -> None:
    agree("turbohash", bug, Shape(threads=2, operations=2, keys=(1,)), tmp_path)


def count(made: Scenario, target: str, variant: str, folder: Path) -> int:
    """How many clients a search follows, in schedules without preemptions; none of them ends before its time."""
    trace = record(Subject(scenario=made, target=target, variant=variant), folder, search={"preemptions": 0})
    events = trace_events(trace)
    (searched,) = [json.loads(event["text"]) for event in events if event["kind"] == "searched"]
    assert [event for event in events if event["kind"] == "trouble" and "nobody is left" in event["text"]] == []
    assert searched["complete"]
    return int(searched["clients"])


@pytest.mark.parametrize(
    "kinds", [("insert", "erase"), pytest.param(clients.KINDS, marks=pytest.mark.long)], ids=["two kinds", "all kinds"]
)
def test_a_choice_that_no_client_has_is_not_offered(
    real_engine: None, kinds: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of three equal threads may take up an operation that leaves another thread nothing: not in its place in the
    order, nor against the rule of inserts. Such a state is no deadlock."""
    selection, shape = Selection(target=targets.find("cceh"), variant="published"), Shape(threads=3, operations=2)
    monkeypatch.setattr(clients, "kinds_of", lambda target: kinds)
    (made,) = [item for item in clients.groups(selection, shape).scenarios if item.name == "clients_3x2_i2"]
    firsts = [("insert", 2), *((kind, key) for kind in kinds[1:] for key in shape.keys)]
    legal = [
        client
        for client in clients.clients(shape, kinds)
        if min((program[0] for program in client), key=[("insert", 1), *firsts].index) == ("insert", 2)
        and not clients.may_meet_present(client, frozenset({1}))
    ]
    assert count(made, "cceh", "published", tmp_path) == len(legal)


def test_threads_that_differ_are_not_exchanged(real_engine: None, tmp_path: Path) -> None:
    """An operation that only one of two threads may take up is open to it, whatever its number and the other's
    choice."""
    update, erase = ("update", 1), ("erase", 1)
    for threads, clients_of_it in (([[update, erase], [update]], 2), ([[update], [erase, update]], 2)):
        made = scenario("turbohash", "at_once", [[any_of(operations)] for operations in threads], alike=True)
        assert count(made, "turbohash", "hardened", tmp_path) == clients_of_it


def test_more_operations_than_can_be_told_are_refused(real_engine: None, tmp_path: Path) -> None:
    threads = [[any_of([("lookup", 64 * slot + key) for key in range(1, 65)]) for slot in range(5)]] * 2
    made = scenario("turbohash", "at_once", threads, alike=True)
    with pytest.raises(UsageError, match="threads choose among more than 254 operations"):
        record(Subject(scenario=made, target="turbohash", variant="hardened"), tmp_path)


def test_choices_keep_the_rule_of_inserts(real_engine: None, tmp_path: Path) -> None:
    """For a target that does not check keys, no client is run in which an insert may meet its key."""
    selection, shape = Selection(target=targets.find("cceh"), variant="published"), Shape(threads=2, operations=1)
    _, known = clients.for_threads(selection, {})
    assert not known.traits["checks_exists"]
    legal = [item for item in clients.clients(shape) if not clients.may_meet_present(item, frozenset({1}))]
    made = clients.groups(selection, shape)
    assert made.left_out == made.of - len(legal) > 0
    count = 0
    for item in made.scenarios:
        found = explore(record(Subject(scenario=item, target="cceh", variant="published"), tmp_path))
        count += found.result["coverage"]["schedules"]["clients"]
    assert count == len(legal)
