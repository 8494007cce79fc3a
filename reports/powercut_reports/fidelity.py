"""The papers' figures beside ours, and what operations cost: the object of `powercut fidelity --json` as tables.

Unknown fields are ignored and missing ones shown as a dash: the object may come from another version.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from powercut_reports import format as fmt
from powercut_reports.charts import LINES, Chart, draw, step, wrapped
from powercut_reports.raw import as_dict

VERDICTS = ("yes", "no", "ours")
_FEWEST = 3  # figures with numbers, for a chart
_RATIOS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
_COUNTS = ("stores", "nt_stores", "lines", "blocks", "flushes", "fences", "lines_read")


@dataclass(frozen=True)
class FigureRow:
    figure: str
    paper: str
    measured: str
    unit: str
    verdict: str  # of `verdict`
    note: str


@dataclass(frozen=True)
class FidelityView:
    schemes: tuple[tuple[str, tuple[FigureRow, ...]], ...]
    counts: dict[str, int]  # how many rows have each of `VERDICTS`
    at_paper_size: tuple[tuple[str, ...], ...]  # scheme, figure, paper, ours, unit, then `last_run`
    costs: tuple[tuple[str, ...], ...]  # scheme, operation, then a number for each of `columns`
    columns: tuple[str, ...]
    ratios: tuple[tuple[str, ...], ...]
    charts: tuple[Chart, ...]


def verdict(row: Mapping[str, Any]) -> str:
    """One of `VERDICTS`: is the paper's figure reproduced? A row that is ours has no verdict."""
    reproduced = row.get("reproduced", False)
    return "ours" if reproduced is None else "yes" if reproduced is True else "no"


def last_run(row: Mapping[str, Any]) -> tuple[str, str]:
    """Returns verdict and run of a figure at its paper's size: the day of the last run, and its version of powercut."""
    if not row.get("date"):
        return ("–", "not run")
    return (verdict(row), f"{row['date']}, powercut {row.get('powercut') or '–'}")


def counted(verdicts: Iterable[str]) -> dict[str, int]:
    """How often each of `VERDICTS` is there."""
    found = Counter(verdicts)
    return {name: found[name] for name in VERDICTS}


def fidelity_view(raw: Mapping[str, Any]) -> FidelityView:
    """The tables of the page."""
    by_scheme: dict[str, list[FigureRow]] = {}
    for item in _rows(raw, "figures"):
        row = FigureRow(
            figure=_text(item.get("figure")),
            paper=_text(item.get("paper")),
            measured=_text(item.get("measured")),
            unit=_text(item.get("unit")),
            verdict=verdict(item),
            note=str(item.get("note") or ""),
        )
        by_scheme.setdefault(_text(item.get("scheme")), []).append(row)
    rows = [row for group in by_scheme.values() for row in group]
    latencies = list(dict.fromkeys(ns for item in _rows(raw, "costs") for ns in item.get("latency_ns", {})))
    return FidelityView(
        schemes=tuple((scheme, tuple(group)) for scheme, group in by_scheme.items()),
        counts=counted([*(row.verdict for row in rows), *map(verdict, _rows(raw, "ratios"))]),
        at_paper_size=tuple(
            (*(_text(item.get(name)) for name in ("scheme", "figure", "paper", "measured", "unit")), *last_run(item))
            for item in _rows(raw, "paper_size")
        ),
        costs=tuple(_cost(item, latencies) for item in _rows(raw, "costs")),
        columns=(*(name.replace("_", " ") for name in _COUNTS), *(f"ns, writes {ns} ns" for ns in latencies)),
        ratios=tuple(
            (
                _text(item.get("scheme")),
                _text(item.get("operation")),
                _text(item.get("level")),
                _text(item.get("paper")),
                ", ".join(_text(ratio) for ratio in item.get("ratios", [])),
                verdict(item),
                str(item.get("note") or ""),
            )
            for item in _rows(raw, "ratios")
        ),
        charts=_charts(by_scheme),
    )


def _charts(by_scheme: Mapping[str, Sequence[FigureRow]]) -> tuple[Chart, ...]:
    """Ours divided by the paper's, where both begin with a number; bounds such as "> 0.90" count as their number."""
    rows = [
        {"label": wrapped(f"{scheme}: {row.figure}"), "ratio": round(ours / paper, 4), "place": place, "words": words}
        for scheme, group in by_scheme.items()
        for row in group
        if row.verdict != "ours" and (paper := _leading(row.paper)) and (ours := _leading(row.measured))
        for place in ("reproduced" if row.verdict == "yes" else "not reproduced",)
        for words in (f"{scheme}, {row.figure}: paper {row.paper}, ours {row.measured} {row.unit}, {place}",)
    ]
    if len(rows) < _FEWEST:
        return ()
    import altair as alt

    labels = [str(row["label"]) for row in rows]
    states = {"reproduced": "var(--good)", "not reproduced": "var(--bad)"}
    points = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=44, opacity=0.8)
        .encode(
            x=alt.X("ratio:Q", title="ours / paper", scale=alt.Scale(type="log"), axis=alt.Axis(values=_RATIOS)),
            y=alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelExpr=LINES)),
            color=alt.Color("place:N", title=None, scale=alt.Scale(domain=list(states), range=list(states.values()))),
            shape=alt.Shape("place:N", title=None, scale=alt.Scale(domain=list(states), range=["circle", "square"])),
            description=alt.Description("words:N"),
        )
    )
    one = alt.Chart(alt.InlineData(values=[{"x": 1}])).mark_rule(color="var(--soft)", strokeDash=[5, 4]).encode(x="x:Q")
    return (
        draw(
            (one + points).properties(width=420, height=alt.Step(step(labels, 16))),
            name="fidelity-ratios",
            title="Our figures against the papers'",
            description=f"{fmt.plural(len(rows), 'figure')} as a ratio of ours to the paper's; 1 is the same. "
            "Bounds count as their number. The tables below have all of them.",
            labels=labels,
        ),
    )


def _leading(text: str) -> float | None:
    """The first number of a cell; None without one, and for 0, which has no ratio."""
    found = re.search(r"\d[\d,]*(?:\.\d+)?", text)
    number = float(found[0].replace(",", "")) if found else 0.0
    return number or None


def _rows(raw: Mapping[str, Any], name: str) -> Iterable[dict[str, Any]]:
    return [item for item in raw.get(name) or [] if isinstance(item, dict)]


def _cost(item: dict[str, Any], latencies: list[str]) -> tuple[str, ...]:
    counts = (f"{item[name]:.2f}" if isinstance(item.get(name), int | float) else "–" for name in _COUNTS)
    times = (_text(item.get("latency_ns", {}).get(ns)) for ns in latencies)
    options = (f"{key}={value}" for key, value in as_dict(item.get("options")).items())
    what = " ".join((f"{_text(item.get('scheme'))}:{_text(item.get('variant'))}", *options))
    return (what, _text(item.get("operation")), *counts, *times)


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
