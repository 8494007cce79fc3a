"""Helpers of the minimiser's tests: cases from words, an engine that is a function, and findings of known bugs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.corpus import known_bugs
from powercut.engine.options import ExploreOptions
from powercut.minimise.case import Case, Operation, Phase
from powercut.minimise.examine import Seen
from powercut.minimise.ledger import Ledger, Limits, Progress
from powercut.minimise.search import Search
from powercut.runs import runner
from powercut_records.finding import FindingRecord
from reports.tests.typed import finding_of


def operation(word: str) -> Operation:
    """`insert 3`, `update zeros`, `maintain expand`."""
    kind, argument = word.split()
    if kind == "maintain":
        return Operation(kind=kind, text=argument)
    return Operation(kind=kind, key=int(argument) if argument.isdigit() else argument)


def phase(*words: str, name: str = "work", explore: bool = True, cut_at: str | None = None) -> Phase:
    return Phase(name=name, explore=explore, cut_at=cut_at, operations=tuple(operation(word) for word in words))


def case(*phases: Phase, options: dict[str, str] | None = None) -> Case:
    return Case(
        phases=phases,
        options=tuple(sorted((options or {}).items())),
        pool_size=64 * 1024,
        key_size=16,
        value_size=15,
    )


def words(candidate: Case) -> list[str]:
    """The operations of a case, as `operation` reads them."""
    return [f"{item.kind} {item.text or item.key}" for item in candidate.operations]


def finding(*, index: int = 10_000, **fields: Any) -> FindingRecord:
    """As much of a finding record as the search looks at."""
    given = {
        "invariant": "lost-item",
        "underlying": None,
        "operation": {"index": index, "kind": "insert"},
        "query": {"kind": "lookup", "text": "lookup(1)"},
        "crash_point": {"index": 1, "event": 2, "when": "before sfence", "depth": 0, "nested_event": None},
        "fault": None,
        "stores": [],
    }
    return finding_of({**given, **fields})


class FakeEngine:
    """Shows the bug where `bug` says so, refuses the operation that `refuses` names, and counts what it was asked."""

    def __init__(
        self,
        bug: Callable[[Case], bool],
        *,
        refuses: Callable[[Case], int | None] = lambda candidate: None,
        index: Callable[[Case], int] = lambda candidate: 10_000,
        length: Callable[[Case], int] = lambda candidate: 10 * len(candidate.operations),
    ) -> None:
        self._bug, self._refuses, self._index, self._length = bug, refuses, index, length
        self.asked: list[Case] = []

    def __call__(self, candidate: Case) -> Seen:
        self.asked.append(candidate)
        refused = self._refuses(candidate)
        if refused is not None:
            return Seen(refused=refused)
        shown = finding(index=self._index(candidate)) if self._bug(candidate) else None
        return Seen(events=self._length(candidate), finding=shown)


def search(
    start: Case,
    bug: Callable[[Case], bool] | FakeEngine,
    *,
    limits: Limits | None = None,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> Search:
    """A search from `start`, which must show the bug."""
    examine = bug if isinstance(bug, FakeEngine) else FakeEngine(bug)
    seen = examine(start)
    assert seen.finding is not None, "the start must show the bug"
    return Search(start, seen, ledger=Ledger(examine, limits=limits, on_progress=on_progress))


def holds(candidate: Case, needed: Iterable[str]) -> bool:
    """Whether the operations `needed` are in a case, in this order."""
    left = iter(words(candidate))
    return all(word in left for word in needed)


def corpus_case(bug: str) -> known_bugs.Case:
    """The run of a known bug, such as `level/leaked-level`."""
    chosen = known_bugs.cases(bug.partition("/")[0], options=ExploreOptions())
    return next(item for item in chosen if item.role == "bug" and item.scenario.bug_id == bug)


def findings_of(bug: str, out: Path) -> list[FindingRecord]:
    """The findings of a known bug's run, complete, the earliest first."""
    with runner.open_context(paths.engine(), out) as context:
        runner.run_one(corpus_case(bug).request, context)
    records = [finding_of(json.loads(path.read_text())) for path in sorted((out / "findings").glob("*.json"))]
    return sorted(records, key=lambda record: (record.crash_point.depth, record.crash_point.index))
