"""Costs of operations: the cost records (checker/RUN.md) as one table, and charts that set schemes side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from powercut_reports.charts import Chart, bars
from powercut_reports.raw import as_dicts, as_int, as_text

#: Field of an operation, and its column.
COLUMNS = (
    ("stores", "stores"),
    ("nt_stores", "nt stores"),
    ("store_bytes", "bytes"),
    ("lines", "lines"),
    ("blocks", "blocks"),
    ("flushes", "flushes"),
    ("fences", "fences"),
    ("lines_read", "lines read"),
    ("write_amplification", "write amplification"),
)
_MOST_CHARTS = 6  # kinds of operations


@dataclass(frozen=True)
class CostRow:
    name: str
    scenario: str
    kind: str
    count: int | None
    numbers: tuple[str, ...]  # as COLUMNS
    latencies: tuple[str, ...]  # as the view's models


@dataclass(frozen=True)
class Source:
    name: str
    paper: str
    command: str


@dataclass(frozen=True)
class CostsView:
    rows: tuple[CostRow, ...]
    columns: tuple[str, ...]
    models: tuple[str, ...]
    parameters: tuple[str, ...]  # of each model, in words
    charts: tuple[Chart, ...]
    sources: tuple[Source, ...]


def costs_view(records: Sequence[Mapping[str, Any]]) -> CostsView | None:
    if not records:
        return None
    parameters: dict[str, str] = {}
    for record in records:
        for model in as_dicts(record.get("latency")):
            read, write, fence = (as_text(model.get(name)) for name in ("read_ns", "write_ns", "fence_ns"))
            words = f"a line read {read} ns, a line written back {write} ns, a fence {fence} ns"
            parameters.setdefault(as_text(model.get("name")), words)
    models = tuple(parameters)
    pairs = [(record, raw) for record in records for raw in as_dicts(record.get("operations"))]
    return CostsView(
        rows=tuple(_row(record, raw, models) for record, raw in pairs),
        columns=tuple(title for _, title in COLUMNS),
        models=models,
        parameters=tuple(parameters.values()),
        charts=_charts(pairs, models),
        sources=tuple(
            Source(_name(record), as_text(record.get("paper")), as_text(record.get("command"))) for record in records
        ),
    )


def _name(record: Mapping[str, Any]) -> str:
    variant = as_text(record.get("variant"))
    return as_text(record.get("target")) + (f":{variant}" if variant else "")


def _row(record: Mapping[str, Any], raw: Mapping[str, Any], models: Sequence[str]) -> CostRow:
    latency = _latencies(record, raw)
    return CostRow(
        name=_name(record),
        scenario=as_text(record.get("scenario")),
        kind=as_text(raw.get("kind")),
        count=as_int(raw.get("count")),
        numbers=tuple(_number(raw.get(field)) for field, _ in COLUMNS),
        latencies=tuple(f"{latency[model]:,.0f}" if model in latency else "–" for model in models),
    )


def _latencies(record: Mapping[str, Any], raw: Mapping[str, Any]) -> dict[str, float]:
    names = [as_text(model.get("name")) for model in as_dicts(record.get("latency"))]
    values = raw.get("latency_ns")
    pairs = zip(names, values if isinstance(values, list) else [], strict=False)
    return {name: float(value) for name, value in pairs if isinstance(value, int | float)}


def _number(value: object) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".") if isinstance(value, int | float) else "–"


def _charts(pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], models: Sequence[str]) -> tuple[Chart, ...]:
    """For each operation of several schemes: its time by the middle model, and its flushes and fences."""
    charts: list[Chart] = []
    kinds = list(dict.fromkeys(as_text(raw.get("kind")) for _, raw in pairs))
    # The model that most operations have, so that most schemes can be set side by side.
    having = [sum(name in _latencies(record, raw) for record, raw in pairs) for name in models]
    best = [name for name, count in zip(models, having, strict=True) if count == max(having)]
    model = best[len(best) // 2] if best else ""
    for kind in kinds[:_MOST_CHARTS]:
        chosen: dict[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
        for record, raw in pairs:
            if as_text(raw.get("kind")) == kind:
                several = _name(record) in chosen
                chosen[f"{_name(record)} {as_text(record.get('scenario'))}" if several else _name(record)] = (
                    record,
                    raw,
                )
        if len(chosen) < 2:
            continue
        times: list[dict[str, Any]] = [
            {"label": label, "ns": _latencies(record, raw)[model]}
            for label, (record, raw) in chosen.items()
            if model in _latencies(record, raw)
        ]
        times.sort(key=lambda row: row["ns"])
        if times:
            title = f"{kind}: modelled time, {model}"
            charts.append(bars(times, value="ns", axis="ns", name=f"costs-time-{len(charts)}", title=title))
        orders = [
            {"label": label, "part": part, "times": float(number)}
            for label in dict.fromkeys([*(row["label"] for row in times), *chosen])
            for part in ("flushes", "fences")
            if isinstance(number := chosen[label][1].get(part), int | float)
        ]
        if any(row["times"] for row in orders):
            parts, title = ("flushes", "fences"), f"{kind}: flushes and fences"
            name = f"costs-orders-{len(charts)}"
            charts.append(bars(orders, value="times", axis="of each operation", parts=parts, name=name, title=title))
    return tuple(charts)
