"""The sections for researchers, in the order of the page: each is there when the records have something for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from powercut_records.run import RunRecord
from powercut_reports.charts import Chart
from powercut_reports.claims import claims_view
from powercut_reports.costs import costs_view
from powercut_reports.fidelity import fidelity_view
from powercut_reports.necessity import necessity_view
from powercut_reports.states import states_view


@dataclass(frozen=True)
class Section:
    id: str  # also the name of its template and of its page
    title: str
    view: object

    @property
    def template(self) -> str:
        return f"{self.id}.html.j2"

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Claims have none."""
        return getattr(self.view, "charts", ())


def sections(
    runs: Sequence[RunRecord],
    *,
    fidelity: Mapping[str, Any] | None,
    necessity: Sequence[Mapping[str, Any]],
    costs: Sequence[Mapping[str, Any]],
) -> tuple[Section, ...]:
    found = (
        ("claims", "Claims", claims_view(runs)),
        ("necessity", "Necessity", necessity_view(necessity)),
        ("costs", "Cost", costs_view(costs)),
        ("fidelity", "Fidelity", fidelity_view(fidelity) if fidelity else None),
        ("states", "State space", states_view(runs)),
    )
    return tuple(Section(name, title, view) for name, title, view in found if view is not None)
