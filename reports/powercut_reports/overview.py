"""The overview of a report: the matrix of all runs, what all verdicts have in common, and what can be filtered by.

Rows of the matrix are a target's variants and models. Scenarios that at least half of the rows have are columns, so
that schemes can be compared; a scheme's own scenarios stand as tiles at the end of its row. The prefix of a scenario
that names its target is left out (`level_insert` of `level` is `insert`), which is what lets columns meet.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from powercut_records.run import RunRecord
from powercut_reports import story
from powercut_reports.audit import Audit, Audits
from powercut_reports.bugs import bugs, counted
from powercut_reports.finding_view import FindingView

_MOST_COLUMNS, _MOST_LABELLED = 40, 40


@dataclass(frozen=True)
class RunView:
    id: str
    run: RunRecord
    scenario: str  # without the target's prefix
    findings: tuple[FindingView, ...]
    not_checked: tuple[str, ...]
    audit: Audit

    @property
    def bugs(self) -> tuple[tuple[FindingView, ...], ...]:
        """The findings by bug, with the finding to read first in front."""
        views = {id(item.finding): item for item in self.findings}
        return tuple(tuple(views[id(finding)] for finding in bug.findings) for bug in bugs(self.run.findings))

    @property
    def bug_words(self) -> str:
        return counted(bugs(self.run.findings))

    @property
    def new(self) -> int:
        return sum(item.finding.baseline == "new" for item in self.findings)

    @property
    def label(self) -> str:
        """The cell of the matrix in words."""
        run = self.run
        found = f", {len(self.findings)} finding{'s' * (len(self.findings) != 1)}" if self.findings else ""
        coverage = story.coverage_words(run.coverage)
        return f"{run.scenario}, {run.name}, {run.model}: {run.verdict}{found}, {coverage}"


@dataclass(frozen=True)
class Row:
    target: str
    variant: str
    model: str
    runs: int
    inconsistent: int
    partial: int  # neither complete nor inconsistent
    cells: tuple[tuple[RunView, ...], ...]  # one a column
    own: tuple[RunView, ...]


@dataclass(frozen=True)
class Group:
    target: str
    views: tuple[RunView, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Matrix:
    columns: tuple[str, ...]
    groups: tuple[Group, ...]
    labelled: bool  # few enough runs to write the scenario on every tile

    @property
    def any_own(self) -> bool:
        return any(row.own for group in self.groups for row in group.rows)


@dataclass(frozen=True)
class Common:
    """Facts that stand once for all runs; a run's own line then names only its additions."""

    assumptions: tuple[str, ...]
    not_checked: tuple[str, ...]
    audit: str


@dataclass(frozen=True)
class Filter:
    """One select: its field in the address, its name, its values."""

    name: str
    title: str
    values: tuple[str, ...]


def short_scenario(run: RunRecord) -> str:
    prefix = f"{run.target}_"
    rest = run.scenario.removeprefix(prefix)
    return rest or run.scenario


def matrix(views: Sequence[RunView]) -> Matrix:
    by_row: dict[tuple[str, str, str], list[RunView]] = {}
    for view in views:
        by_row.setdefault((view.run.target, view.run.variant, view.run.model), []).append(view)
    rows_with: dict[str, int] = {}
    for members in by_row.values():
        for name in dict.fromkeys(view.scenario for view in members):
            rows_with[name] = rows_with.get(name, 0) + 1
    shared = [name for name, rows in rows_with.items() if rows >= 2 and 2 * rows >= len(by_row)]
    columns = tuple(sorted(shared, key=lambda name: (-rows_with[name], name))[:_MOST_COLUMNS])
    groups = []
    for target in dict.fromkeys(view.run.target for view in views):
        rows = tuple(_row(key, members, columns) for key, members in by_row.items() if key[0] == target)
        groups.append(Group(target, tuple(view for view in views if view.run.target == target), rows))
    return Matrix(columns, tuple(groups), len(views) <= _MOST_LABELLED)


def _row(key: tuple[str, str, str], members: Sequence[RunView], columns: Sequence[str]) -> Row:
    target, variant, model = key
    return Row(
        target=target,
        variant=variant,
        model=model,
        runs=len(members),
        inconsistent=sum(view.run.verdict == "inconsistent" for view in members),
        partial=sum(view.run.verdict != "inconsistent" and view.run.coverage.kind != "complete" for view in members),
        cells=tuple(tuple(view for view in members if view.scenario == name) for name in columns),
        own=tuple(view for view in members if view.scenario not in columns),
    )


def common(views: Sequence[RunView], audits: Audits) -> Common:
    """Returns the assumptions and omissions of every run of several. A single run shares nothing: its own place says
    it."""
    if len(views) < 2:
        return Common((), (), audits.summary())
    return Common(
        assumptions=_shared([view.run.assumptions for view in views]),
        not_checked=_shared([view.not_checked for view in views]),
        audit=audits.summary(),
    )


def _shared(lists: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(text for text in lists[0] if all(text in others for others in lists))


def filters(views: Sequence[RunView]) -> tuple[Filter, ...]:
    """The selects that have something to choose."""
    found = (
        Filter("scheme", "Scheme", _values(view.run.target for view in views)),
        Filter("variant", "Variant", _values(view.run.variant for view in views)),
        Filter("model", "Model", _values(view.run.model for view in views)),
        Filter("coverage", "Coverage", _values(view.run.coverage.kind for view in views)),
        Filter("invariant", "Invariant", _values(item.finding.invariant for view in views for item in view.findings)),
    )
    return tuple(choice for choice in found if len(choice.values) > 1)


def _values(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({text for text in texts if text}))
