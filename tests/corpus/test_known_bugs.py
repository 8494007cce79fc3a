"""The bug corpus on the real engine, and every planted bug of level in every scenario that reaches it.

A bug *reaches* a scenario under one of three conditions on the toggled and the plain recording. Their explored phases
store, flush or fence differently (kinds, offsets, bytes, order; not call stacks). Or the visible or durable contents
differ when these phases begin. Or, for a bug of recovery (`RECOVERY`), the explored phases pass a mark that its
recovery acts on. A bug that reaches a scenario must be found there, unless `UNOBSERVABLE` says why no crash image can
show it. Then the eager reference has to confirm that the plain and the toggled run give the same results. The table
thus cannot hide a bug that is missed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from powercut.corpus.known_bugs import shows_site
from powercut.scenarios import catalog
from powercut.scenarios.scenario import Scenario
from powercut.symbols.symbolize import Symbolizer
from tests.real_engine import (
    Json,
    Subject,
    explore,
    known_good,
    level_scenarios,
    planted_bugs,
    record,
    recorded_once,
    trace_events,
)

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("real_engine")]

SAME_LINE = "the slot shares its line with the tokens, and a line's stores persist in order without any flush"
FRESH = "the new level's memory was never used, so that its tokens are zero on the medium before anything is stored"
ONE_ATOM = "a value of 8 bytes is one atom: until the operation returns old and new are both legal, and no third exists"

#: Bugs that act when the table is opened, by the marks of operations that leave something for open to do.
RECOVERY = {
    "log_not_replayed": {"update.logged"},
    "leak_new_level": {"expand.published", "shrink.published"},
}

#: toggle -> reason -> scenarios that it reaches without any crash image that shows it.
UNOBSERVABLE: dict[str, dict[str, frozenset[str]]] = {
    "expand_uninitialised": {
        FRESH: frozenset(
            [
                "always_logged",
                "duplicates_resized",
                "expand",
                "expand_on_failure",
                "layout_8x8",
                "resize_back_and_forth",
                "resize_cut",
                "slots_16",
                "slots_8",
                "traditional_expand",
                "ycsb_load",
            ]
        )
    },
    "insert_after_move_unordered": {
        SAME_LINE: frozenset(
            ["duplicates_moved_again", "erase", "insert_b2t", "insert_move_bottom", "shrink", "ycsb_load"]
        )
    },
    "insert_bottom_unordered": {SAME_LINE: frozenset({"duplicates_b2t", "erase", "insert_move_top", "layout_8x8"})},
    "insert_top_unordered": {
        SAME_LINE: frozenset(
            [
                "always_logged",
                "duplicates_left_by_crash_erase",
                "duplicates_resized",
                "expand",
                "expand_on_failure",
                "resize_cut",
            ]
        )
    },
    "log_cleared_early": {ONE_ATOM: frozenset({"layout_8x8"})},
    "move_unordered": {SAME_LINE: frozenset({"erase"})},
    "update_unordered": {SAME_LINE: frozenset({"duplicates_resized", "expand", "layout_8x8", "resize_cut"})},
}


@pytest.fixture(scope="module")
def symbolizer() -> Iterator[Symbolizer]:
    with Symbolizer() as running:
        yield running


#: Bugs whose wrong data were durable before the cut, so no store decides: the finding names the operation alone.
NO_LINE = {
    "dash_lh/split-not-finished",
    "level/erase-leaves-duplicate",
    "mb/negative_dropped",
    "mdb/last_page_missed",
    "mdb/merged_of_newest",
    "mdb/tombstone_dropped",
    "mdb_l/last_page_missed",
    "mdb_l/tombstone_dropped",
    "smartcuckoo/component-forgotten",
    "smartcuckoo/erase-first-copy",
    "ssd/collect_live",
}


def test_every_known_bug_names_its_line() -> None:
    # A fault of threads is a schedule, and often no store is lost.
    alone = [item for item in catalog.known_bugs() if item.content.race is None]
    without = {item.bug_id for item in alone if item.bug.site is None}
    assert without == NO_LINE, f"give [known_bug] a 'site' (scenarios/SCHEMA.md): {sorted(without ^ NO_LINE)}"


#: Bugs of threads with so many schedules that they take half a minute or more.
MANY_SCHEDULES = {"dash/threads_directory_unlocked", "dash/threads_directory_unlocked_early"}


def bugs() -> Iterator[pytest.param]:
    for subject in planted_bugs():
        name = subject.scenario.bug_id
        yield pytest.param(subject, id=name, marks=pytest.mark.long if name in MANY_SCHEDULES else ())


@pytest.mark.parametrize("subject", list(bugs()))
def test_bug_is_found_and_its_twin_is_clean(subject: Subject, session_folder: Path, symbolizer: Symbolizer) -> None:
    bug = subject.scenario.bug
    _, found = recorded_once(subject, session_folder)
    untidy = {event["kind"] for event in found.events if event["event"] == "performance_bug"}
    assert (found.invariants | untidy) & set(bug.expected), f"only {found.invariants | untidy}"
    assert shows_site(bug, found.located(symbolizer)), f"no finding shows {bug.site}"
    _, twin = recorded_once(subject.without_toggle(), session_folder)
    assert twin.result["verdict"] == "consistent", twin.invariants
    assert twin.result["coverage"]["kind"] == "complete"
    assert not {event["kind"] for event in twin.events if event["event"] == "performance_bug"} & set(bug.expected)


@pytest.mark.parametrize("subject", list(known_good()), ids=lambda s: s.id)
def test_known_good_is_clean(subject: Subject, tmp_path: Path) -> None:
    result = explore(record(subject, tmp_path)).result
    assert (result["verdict"], result["coverage"]["kind"]) == ("consistent", "complete")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One bug in one core scenario."""

    toggle: str
    scenario: Scenario

    @property
    def reason(self) -> str | None:
        """Why the bug cannot be seen here, or None where it can."""
        for reason, names in UNOBSERVABLE.get(self.toggle, {}).items():
            if self.scenario.name in names:
                return reason
        return None


def toggles() -> list[str]:
    return sorted({item.bug.toggle for item in catalog.known_bugs() if item.scheme == "level"})


def matrix() -> Iterator[pytest.param]:
    names, scenarios = toggles(), list(level_scenarios())
    for row, toggle in enumerate(names):
        for column, scenario in enumerate(scenarios):
            diagonal = column % len(names) == row and scenario.name != "layout_8x8_slots_16"
            cell = Cell(toggle=toggle, scenario=scenario)
            yield pytest.param(cell, id=f"{toggle}-{scenario.name}", marks=() if diagonal else pytest.mark.long)


@pytest.mark.parametrize("cell", list(matrix()))
def test_bug_is_found_wherever_it_reaches(cell: Cell, tmp_path: Path) -> None:
    # A bug may keep the run from a mark that the scenario expects; this test ignores that.
    content = cell.scenario.content.model_copy(update={"expect_marks": []})
    plain = Subject(scenario=replace(cell.scenario, content=content), target="level", variant="hardened")
    traces = record(plain, tmp_path), record(replace(plain, toggle=cell.toggle), tmp_path)
    if not reaches(cell, *traces):
        assert cell.reason is None, "the table of exceptions names a scenario that the bug does not reach"
        return
    found = explore(traces[1])
    if cell.reason is None:
        assert found.result["verdict"] == "inconsistent", "reached, not found"
        return
    assert found.result["verdict"] == "consistent", f"found, so the table is wrong: {cell.reason}"
    results = [explore(trace, "--nested", "0", strategy="exhaustive", dump=True) for trace in traces]
    assert all(result.result["coverage"]["kind"] == "complete" for result in results)
    assert answers(results[0].dump) == answers(results[1].dump), f"not true: {cell.reason}"
    if cell.reason == SAME_LINE:
        # The stores that the plain run orders by a fence and the toggled one does not lie in one line each time.
        assert all(len(lines) <= 1 for lines in new_epochs(cell, *traces)), f"not true: {cell.reason}"


def test_exceptions_name_bugs_and_scenarios_that_exist() -> None:
    names = {item.name for item in level_scenarios()}
    for toggle, reasons in UNOBSERVABLE.items():
        assert toggle in toggles()
        for scenarios in reasons.values():
            assert scenarios <= names


def answers(dump: str | None) -> set[str]:
    """Results without the number of their crash point: a bug changes how many fences there are."""
    assert dump is not None
    return {line.partition(" ")[2] for line in dump.splitlines()}


def new_epochs(cell: Cell, plain: Path, toggled: Path) -> list[frozenset[int]]:
    """The lines stored to between two fences, where the plain run has no two fences around these stores."""
    known = [stores for stores, _ in epochs(cell, plain)]
    return [lines for stores, lines in epochs(cell, toggled) if stores not in known]


def epochs(cell: Cell, trace: Path) -> Iterator[tuple[list[str], frozenset[int]]]:
    stores: list[str] = []
    lines: set[int] = set()
    for event in explored_events(cell, trace):
        if event["kind"] == "fence":
            yield stores, frozenset(lines)
            stores, lines = [], set()
        elif event["kind"] in ("store", "nt-store"):
            first, size = int(event["offset"]), len(event["bytes"]) // 2
            stores.append(f"{first}:{event['bytes']}")
            lines |= set(range(first // 64, (first + size - 1) // 64 + 1))


def reaches(cell: Cell, plain: Path, toggled: Path) -> bool:
    if cell.toggle in RECOVERY:
        return bool(marks(cell, plain) & RECOVERY[cell.toggle])
    return explored(cell, plain) != explored(cell, toggled)


def marks(cell: Cell, trace: Path) -> set[str]:
    return {event["text"] for event in explored_events(cell, trace) if event["kind"] == "marker"}


def explored(cell: Cell, trace: Path) -> list[str]:
    """Effects of the explored phases on the pool, after the state that they find there (lines that hold unflushed
    stores)."""
    out = sorted(pending_at_start(cell, trace))
    for event in explored_events(cell, trace):
        if event["kind"] in ("store", "nt-store", "flush", "fence", "op-begin", "op-end", "cut"):
            event = {key: value for key, value in event.items() if key not in ("index", "stack")}
            out.append(json.dumps(event, sort_keys=True))
    return out


def explored_events(cell: Cell, trace: Path) -> Iterator[Json]:
    phases = cell.scenario.content.phases
    exploring = bool(phases) and phases[0].explore
    for event in trace_events(trace):
        if event["kind"] == "phase":
            exploring = bool(event["explore"])
        if exploring:
            yield event


def pending_at_start(cell: Cell, trace: Path) -> set[str]:
    """Lines whose last store of the warm-up was not written back, one thread at work; with what was stored."""
    phases = cell.scenario.content.phases
    if not phases or phases[0].explore:
        return set()
    dirty: dict[int, list[str]] = {}
    flushed: set[int] = set()
    for event in trace_events(trace):
        if event["kind"] == "phase" and event["explore"]:
            break
        if event["kind"] in ("store", "nt-store"):
            first, size = int(event["offset"]), len(event["bytes"]) // 2
            for line in range(first // 64, (first + size - 1) // 64 + 1):
                dirty.setdefault(line, []).append(f"{first}:{event['bytes']}")
                flushed.discard(line)
        elif event["kind"] == "flush":
            flushed.add(int(event["offset"]) // 64)
        elif event["kind"] in ("fence", "cut"):
            for line in list(dirty) if event["kind"] == "cut" else flushed:
                dirty.pop(line, None)
            flushed.clear()
    return {f"{line} {stores}" for line, stores in dirty.items()}
