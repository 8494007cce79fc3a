"""Without a terminal: a line every ten seconds, and findings that wait for the report of their run."""

from typing import Any

from powercut.cli.progress import EVERY, PATIENCE, Lines
from powercut.engine import events
from reports.tests.typed import finding_of, run_of


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def reached(points: int) -> events.Progress:
    return events.Progress(event="progress", crash_points=points, of=340, crash_states="12300")


def finding(name: str, scenario: str = "insert") -> dict[str, Any]:
    return {
        "fingerprint": name,
        "invariant": "lost-item",
        "store_site": "level/update.cc:88",
        "target": "level",
        "variant": "published",
        "scenario": scenario,
        "file": f".powercut/findings/{name}.json",
    }


def lines_of(clock: Clock) -> tuple[Lines, list[str]]:
    said: list[str] = []
    return Lines(of=3, say=said.append, clock=clock), said


def test_a_line_every_ten_seconds() -> None:
    clock = Clock()
    lines, said = lines_of(clock)
    lines.started(0, "level:published insert")
    lines.started(1, "level:published erase")
    lines.tick()
    assert not said
    lines.progressed(1, reached(120), 2)
    for order, name in ((0, "7f3a"), (1, "7f3a"), (1, "11aa")):  # two runs show the first
        lines.found(order, finding_of(finding(name, "insert" if order == 0 else "erase")))
    lines.ended(0)
    lines.reported(run_of({"target": "level", "variant": "published", "scenario": "insert"}))
    cached = {"target": "level", "variant": "published", "scenario": "erase"}
    lines.reported(run_of({**cached, "findings": [finding("11aa", "erase"), finding("22bb", "erase")]}))
    clock.now += EVERY
    lines.tick()
    lines.tick()
    assert said == [
        "powercut: 10 s, 1 of 3 runs explored; under way: level:published erase (120 of 340 crash points, "
        "12.3k states), 3 findings so far"
    ]
    lines.ended(1)
    clock.now += EVERY
    lines.tick()
    assert len(said) == 1  # nothing is under way


def test_a_program_is_in_a_phase_and_its_runs_are_counted() -> None:
    clock = Clock()
    lines, said = lines_of(clock)
    lines.started(0, "kv ./kv run pool")
    told = []

    def tick() -> None:
        clock.now += EVERY
        lines.tick()
        told.append(said[-1].partition("under way: kv ./kv run pool")[2])

    lines.phase(0, "recording")
    tick()
    lines.phase(0, "trying recovery")
    tick()
    at = {"of": 340, "crash_states": "12300", "executions": 200, "repeats": 300, "seconds": 2.0}
    lines.progressed(0, events.Progress(event="progress", phase="observing", crash_points=0, **at), 0)
    tick()
    lines.progressed(0, events.Progress(event="progress", phase="exploring", crash_points=12, **at), 0)
    tick()
    assert told == [
        " (recording)",
        " (trying recovery)",
        " (observing: 500 runs, 250 runs/s)",
        " (exploring: 12 of 340 crash points, 12.3k states, 500 runs, 250 runs/s)",
    ]
    # A target is recorded, too, and then says what it always said.
    lines.started(1, "level:published erase")
    lines.phase(1, "recording")
    lines.phase(1, "")
    lines.progressed(1, reached(120), 0)
    lines.ended(0)
    clock.now += EVERY
    lines.tick()
    assert said[-1].endswith("under way: level:published erase (120 of 340 crash points, 12.3k states)")


def test_what_comes_after_the_runs_is_none_of_them() -> None:
    """860 of 858 runs were done."""
    clock = Clock()
    lines, said = lines_of(clock)
    for order in (0, 1, 2, 1_000_000):
        lines.started(order, "level:published insert")
        lines.ended(order)
    lines.started(1_000_001, "explaining 7f3a")
    clock.now += EVERY
    lines.tick()
    assert said == ["powercut: 10 s, 3 of 3 runs explored, 1 cause looked for; under way: explaining 7f3a"]


def test_a_finding_that_waits_is_told_once() -> None:
    clock = Clock()
    lines, said = lines_of(clock)
    lines.started(0, "level:published insert")
    lines.found(0, finding_of(finding("7f3a")))
    lines.found(0, finding_of(finding("7f3a")))
    lines.tick()
    assert not said
    clock.now += PATIENCE
    lines.tick()
    lines.tick()
    assert said == [
        "FOUND: powercut: lost-item level/update.cc:88  (level:published insert)  .powercut/findings/7f3a.json"
    ]


def test_a_finding_whose_run_was_reported_is_not_told_again() -> None:
    clock = Clock()
    lines, said = lines_of(clock)
    lines.found(0, finding_of(finding("7f3a")))
    lines.found(1, finding_of(finding("11aa", scenario="erase")))
    lines.reported(run_of({"target": "level", "variant": "published", "scenario": "insert"}))
    clock.now += PATIENCE
    lines.tick()
    assert [line.split("  ")[1] for line in said] == ["(level:published erase)"]
