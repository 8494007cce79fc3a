"""The papers' figures beside ours, and what operations cost: the object of `powercut fidelity --json` as tables.

Unknown fields are ignored and missing ones shown as a dash: the object may come from another version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_COUNTS = ("stores", "nt_stores", "lines", "blocks", "flushes", "fences", "lines_read")


@dataclass(frozen=True)
class FigureRow:
    figure: str
    paper: str
    measured: str
    unit: str
    reproduced: bool
    note: str


@dataclass(frozen=True)
class FidelityView:
    schemes: tuple[tuple[str, tuple[FigureRow, ...]], ...]
    reproduced: int
    figures: int
    costs: tuple[tuple[str, ...], ...]  # scheme, operation, then a number for each of `columns`
    columns: tuple[str, ...]
    ratios: tuple[tuple[str, ...], ...]


def fidelity_view(raw: Mapping[str, Any]) -> FidelityView:
    """The tables of the page."""
    by_scheme: dict[str, list[FigureRow]] = {}
    for item in _rows(raw, "figures"):
        row = FigureRow(
            figure=_text(item.get("figure")),
            paper=_text(item.get("paper")),
            measured=_text(item.get("measured")),
            unit=_text(item.get("unit")),
            reproduced=item.get("reproduced") is True,
            note=str(item.get("note") or ""),
        )
        by_scheme.setdefault(_text(item.get("scheme")), []).append(row)
    rows = [row for group in by_scheme.values() for row in group]
    latencies = list(dict.fromkeys(ns for item in _rows(raw, "costs") for ns in item.get("latency_ns", {})))
    return FidelityView(
        schemes=tuple((scheme, tuple(group)) for scheme, group in by_scheme.items()),
        reproduced=sum(row.reproduced for row in rows),
        figures=len(rows),
        costs=tuple(_cost(item, latencies) for item in _rows(raw, "costs")),
        columns=(*(name.replace("_", " ") for name in _COUNTS), *(f"ns, writes {ns} ns" for ns in latencies)),
        ratios=tuple(
            (
                _text(item.get("scheme")),
                _text(item.get("operation")),
                _text(item.get("paper")),
                ", ".join(_text(ratio) for ratio in item.get("ratios", [])),
            )
            for item in _rows(raw, "ratios")
        ),
    )


def _rows(raw: Mapping[str, Any], name: str) -> Iterable[dict[str, Any]]:
    return [item for item in raw.get(name) or [] if isinstance(item, dict)]


def _cost(item: dict[str, Any], latencies: list[str]) -> tuple[str, ...]:
    counts = (f"{item[name]:.2f}" if isinstance(item.get(name), int | float) else "–" for name in _COUNTS)
    times = (_text(item.get("latency_ns", {}).get(ns)) for ns in latencies)
    return (_text(item.get("scheme")), _text(item.get("operation")), *counts, *times)


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
