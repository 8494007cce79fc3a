"""The sections for researchers, in the order of the page: each is there when the output folder has something for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from powercut_reports.fidelity import fidelity_view
from powercut_reports.model import Run


@dataclass(frozen=True)
class Section:
    id: str  # also its page's name
    title: str
    template: str
    view: object


def sections(
    runs: Sequence[Run],
    *,
    fidelity: Mapping[str, Any] | None,
    necessity: Sequence[Mapping[str, Any]],
    costs: Sequence[Mapping[str, Any]],
) -> tuple[Section, ...]:
    found = (("fidelity", "Fidelity", fidelity_view(fidelity) if fidelity else None),)
    return tuple(Section(name, title, f"{name}.html.j2", view) for name, title, view in found if view is not None)
