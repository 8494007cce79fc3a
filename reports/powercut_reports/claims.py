"""Claims of the papers about their schemes, and whether every explored run agrees: one row a claim of a scheme's
variant.

A claim can hold in one run and fail in another; the row is as bad as its worst run and names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from powercut_records.run import Claim, RunRecord


@dataclass(frozen=True)
class ClaimRow:
    name: str  # target:variant
    claim: str
    cites: str
    place: str
    held: int
    failed: int
    silent: int  # runs that had nothing to measure
    measured: str  # the range over the runs
    worst: tuple[tuple[str, Claim], ...]  # (scenario, claim) of runs in which it fails

    @property
    def state(self) -> str:
        return "fails" if self.failed else "holds" if self.held else "not measured"


@dataclass(frozen=True)
class ClaimsView:
    rows: tuple[ClaimRow, ...]
    held: int
    failed: int
    silent: int


def claims_view(runs: Sequence[RunRecord]) -> ClaimsView | None:
    groups: dict[tuple[str, str, str], list[tuple[RunRecord, Claim]]] = {}
    for run in runs:
        for claim in run.claims:
            groups.setdefault((run.name, claim.claim, claim.cites), []).append((run, claim))
    if not groups:
        return None
    rows = tuple(sorted((_row(key[0], members) for key, members in groups.items()), key=lambda row: not row.failed))
    count = [sum(row.state == state for row in rows) for state in ("holds", "fails", "not measured")]
    return ClaimsView(rows, *count)


def _row(name: str, members: Sequence[tuple[RunRecord, Claim]]) -> ClaimRow:
    first = members[0][1]
    numbers = [claim.measured for _, claim in members if claim.measured is not None]
    low, high = (min(numbers), max(numbers)) if numbers else (None, None)
    return ClaimRow(
        name=name,
        claim=first.claim,
        cites=first.cites,
        place=first.place,
        held=sum(claim.holds is True for _, claim in members),
        failed=sum(claim.holds is False for _, claim in members),
        silent=sum(claim.holds is None for _, claim in members),
        measured="–" if low is None else f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}",
        worst=tuple((run.scenario, claim) for run, claim in members if claim.holds is False),
    )
