"""A search over what threads choose (`any`) judges what the runs of all clients judge, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from powercut.scenarios import clients, targets
from powercut.scenarios.clients import Operation, Program, Shape
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import SCHEMA_VERSION, ScenarioFile
from powercut.scenarios.targets import Selection
from tests.real_engine import Exploration, Subject, explore, record

Json = dict[str, Any]
#: Of each: a target, and one of its bugs that two threads with one operation each show.
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
    """What was asked after which cuts, and every answer: the dump without the numbers of crash points."""
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


def test_choices_keep_the_rule_of_inserts(real_engine: None, tmp_path: Path) -> None:
    """Of a target that does not check keys, no client is run in which an insert may meet its key."""
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
