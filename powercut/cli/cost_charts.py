"""Cost records as SVG charts (Altair, drawn by vl-convert without a browser): modelled time, stacked by what takes it.

`<record>.svg` has a group of bars for each operation, one a latency model; `compared-<operation>.svg` has a bar for
each scheme. Equal records make equal bytes. The charts are readable on light and dark ground: text follows the reader's
colour scheme.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from powercut.base.output_files import write_text
from powercut.cost import records as cost_records
from powercut.runs.runner import slug

_PARTS = ("reads", "write-backs", "fences")
_COLORS = ("#54a3ff", "#e8833a", "#8a8f98")
_DARK = (
    "<style>@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .mark-rule line { stroke: #4a515a } }</style>"
)
_WIDTH, _STEP = 420, 18


def write(records: Sequence[dict[str, Any]], out: Path) -> list[Path]:
    """Draws the charts of all records into the folder of the records, and returns the files."""
    folder = out / cost_records.FOLDER
    charts = {cost_records.stem(record): _of_record(record) for record in records if record["operations"]}
    for kind in dict.fromkeys(row["kind"] for record in records for row in record["operations"]):
        having = [record for record in records if any(row["kind"] == kind for row in record["operations"])]
        if len({(record["target"], record["variant"]) for record in having}) > 1:
            charts[f"compared-{slug(kind)}"] = _of_kind(having, kind)
    written = []
    for name, chart in charts.items():
        path = folder / f"{name}.svg"
        write_text(path, svg(chart))
        written.append(path)
    return written


def svg(chart: alt.Chart) -> str:
    """A chart as the text of an SVG file."""
    import vl_convert  # loads a JavaScript engine

    text: str = vl_convert.vegalite_to_svg(chart.to_dict())
    # Names of clip paths and the like count on through a process: the same chart has the same names here.
    names: dict[str, str] = {}
    text = re.sub(r"(?<=[\"(#])(clip|gradient_)\d+", lambda found: _renamed(found[0], names), text)
    head, separator, rest = text.partition(">")
    return head + separator + _DARK + rest + "\n"


def _renamed(name: str, names: dict[str, str]) -> str:
    return names.setdefault(name, f"part{len(names)}")


def _of_record(record: dict[str, Any]) -> alt.Chart:
    rows = [
        {"operation": row["kind"], "model": latency["name"], "part": part, "at": at, "ns": value}
        for row in record["operations"]
        for latency, parts in zip(record["latency"], row["latency_parts_ns"], strict=True)
        for at, (part, value) in enumerate(zip(_PARTS, parts, strict=True))
    ]
    title = f"{record['target']}:{record['variant']}, {record['scenario']}: time of one operation, modelled"
    return _stacked(
        rows, across="model", title=title, row="operation", order=[item["kind"] for item in record["operations"]]
    )


def _of_kind(records: Sequence[dict[str, Any]], kind: str) -> alt.Chart:
    rows = []
    for record in records:
        operation = next(row for row in record["operations"] if row["kind"] == kind)
        name = f"{record['target']}:{record['variant']}"
        for latency, parts in zip(record["latency"], operation["latency_parts_ns"], strict=True):
            for at, (part, value) in enumerate(zip(_PARTS, parts, strict=True)):
                rows.append({"scheme": name, "model": latency["name"], "part": part, "at": at, "ns": value})
    order = [item["name"] for item in records[0]["latency"]]
    return _stacked(rows, across="scheme", title=f"{kind}: time of one operation, modelled", row="model", order=order)


def _stacked(rows: list[dict[str, Any]], *, across: str, title: str, row: str, order: list[str]) -> alt.Chart:
    names = list(dict.fromkeys(item[across] for item in rows))
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(rows), title=alt.TitleParams(title, anchor="start"))
        .mark_bar()
        .encode(
            x=alt.X("ns:Q", stack="zero", title="nanoseconds"),
            y=alt.Y(f"{across}:N", sort=names, title=None, axis=alt.Axis(labelLimit=260)),
            color=alt.Color(
                "part:N",
                title=None,
                scale=alt.Scale(domain=list(_PARTS), range=list(_COLORS)),
                legend=alt.Legend(orient="bottom"),
            ),
            order=alt.Order("at:Q"),
            row=alt.Row(f"{row}:N", sort=order, title=None, header=alt.Header(labelAngle=0, labelAlign="left")),
        )
        .properties(width=_WIDTH, height=alt.Step(_STEP))
        .configure(background="transparent", font="system-ui, sans-serif")
        .configure_view(stroke=None)
    )
    return chart
