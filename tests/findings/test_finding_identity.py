"""A finding has one name, whichever way an exploration met it: strategy and --jobs change neither name nor story."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from powercut.scenarios import catalog
from tests.real_engine import Subject, explore, planted_bugs, record

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("real_engine")]

#: Bugs of level: a resize, an undo log, a movement, an update in place, a leak.
LEVEL = ("expand_uninitialised", "log_unordered", "move_unordered", "update_unordered", "leak_new_level")
WAYS = (("--jobs", "4"), ("--no-remember",), ("exhaustive",))


def subjects() -> list[Subject]:
    made = [
        Subject(scenario=item, target="patterns", variant=item.bug.variant, toggle=item.bug.toggle)
        for item in catalog.self_tests()
    ]
    return made + [subject for subject in planted_bugs() if subject.target == "level" and subject.toggle in LEVEL]


def stories(trace: Path, *way: str) -> list[str]:
    """Every finding of an exploration without the counts that depend on the way, sorted."""
    strategy = "exhaustive" if way == ("exhaustive",) else "read-driven"
    arguments = () if strategy == "exhaustive" else way
    last: dict[str, dict[str, Any]] = {}
    for event in explore(trace, *arguments, strategy=strategy).events:
        if event["event"] == "finding":
            last[event["key"]] = event
    return sorted(json.dumps(finding, sort_keys=True) for finding in last.values())


@pytest.mark.parametrize("subject", [pytest.param(subject, id=subject.id) for subject in subjects()])
def test_a_finding_is_the_same_whatever_the_strategy_and_the_jobs(subject: Subject, tmp_path: Path) -> None:
    """`exhaustive` and `read-driven` named other stores, and other operations for the same wrong answer."""
    trace = record(subject, tmp_path)
    found = stories(trace)
    for way in WAYS:
        assert stories(trace, *way) == found, way


def test_the_least_image_has_lost_what_it_needs_and_no_more(tmp_path: Path) -> None:
    for subject in subjects():
        if subject.toggle not in ("lost", "torn", "update_unordered"):
            continue
        for story in stories(record(subject, tmp_path)):
            finding = json.loads(story)
            lost = [line for line in finding["image"] if line["bytes"] != line["visible"]]
            assert all(line["decided"] for line in lost)
            assert len(lost) <= 1, subject.id
            fates = {store["fate"] for store in finding["stores"] if store["decisive"]}
            assert not lost or fates & {"lost", "torn"}
