"""Altair charts as SVG within the page: drawn when the report is made, by vl-convert, which needs no browser.

Colours are the page's own custom properties, so that a chart follows its theme. Vega's texts for assistive technology
go to the hover titles of the marks. The chart as a whole is one image with a title and a description, and each stands
beside a table of the same numbers. Same data, same bytes.

Altair and vl-convert are imported when there is something to draw: together they take half a second.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from markupsafe import Markup

#: Colours that differ in lightness too, in this order; the page gives them a value for each theme.
SERIES = ("var(--s1)", "var(--s2)", "var(--s3)", "var(--s4)")
VERDICT_COLORS = {"consistent": "var(--good)", "inconsistent": "var(--bad)", "unknown": "var(--warn)"}
#: Breaks a label where `wrapped` did.
LINES = "split(datum.label, '\\n')"
_LABEL = 56  # characters of a line
_WIDER = 1.3  # pixels a character that the widest of common fonts takes on top
_CONFIG: dict[str, Any] = {
    "background": None,
    # Widths are measured with a font that vl-convert brings; these have its metrics, and `draw` leaves room for others.
    "font": "Arial, Liberation Sans, Helvetica, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--soft)",
        "titleColor": "var(--ink)",
        "titleFontWeight": "normal",
        "domainColor": "var(--rule-strong)",
        "tickColor": "var(--rule-strong)",
        "gridColor": "var(--rule)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 0,
    },
    "legend": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--soft)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 300,
    },
    "title": {"color": "var(--ink)", "fontSize": 13, "anchor": "start"},
    "header": {"labelColor": "var(--ink)", "titleColor": "var(--soft)"},
}


#: Values of the page's custom properties in a file of its own: on light ground, and on dark.
_THEME = {
    "ink": ("#1d1f23", "#e6e5e1"),
    "soft": ("#5c6068", "#a3a7af"),
    "rule": ("#e3e0da", "#2d3138"),
    "rule-strong": ("#c9c5bc", "#434851"),
    "good": ("#1b6e48", "#74c69d"),
    "bad": ("#b3261e", "#ff8f85"),
    "warn": ("#875a00", "#e5b659"),
    "s1": ("#2f55a4", "#7aa2f0"),
    "s2": ("#c9781f", "#e09a48"),
    "s3": ("#8a8f98", "#767c86"),
    "s4": ("#1b6e48", "#74c69d"),
}


@dataclass(frozen=True)
class Chart:
    name: str  # unique in the report; of its file as well
    title: str
    svg: Markup  # within a page, with the page's colours

    @property
    def file(self) -> str:
        """The SVG as a file: in the colours of light ground, and of dark ground where a browser asks for them."""
        head, body = str(self.svg).split(">", 1)
        head = head.replace('<svg class="plot"', '<svg xmlns="http://www.w3.org/2000/svg"', 1)
        dark = []
        for name, (light, on_dark) in _THEME.items():
            body = body.replace(f"var(--{name})", light)
            dark += [f'[{side}="{light}"]{{{side}:{on_dark}}}' for side in ("fill", "stroke")]
        return f"{head}><style>@media (prefers-color-scheme: dark) {{ {' '.join(dark)} }}</style>{body}\n"


def wrapped(label: str) -> str:
    """A label of an axis, in lines that all fit beside a chart."""
    return "\n".join(textwrap.wrap(label, _LABEL))


def draw(chart: Any, *, name: str, title: str, description: str, labels: Iterable[str] = ()) -> Chart:
    """An Altair chart as a figure's SVG; `name` is unique in the report and keeps ids of several charts apart.

    `labels` are those of its vertical axis: a reader whose fonts are wider sees all of them.
    """
    import vl_convert

    longest = max((len(line) for label in labels for line in label.split("\n")), default=0)
    padding = {"left": 12 + round(longest * _WIDER), "top": 5, "right": 24, "bottom": 5}
    text = vl_convert.vegalite_to_svg({**chart.to_dict(), "config": {**_CONFIG, "padding": padding}})
    return Chart(name, title, Markup(_inline(text, name=name, title=title, description=description)))


def _inline(text: str, *, name: str, title: str, description: str) -> str:
    head, body = text.split(">", 1)
    size = re.search(r'viewBox="[^"]*"', head)
    width = re.search(r'width="([\d.]+)"', head)
    ids: dict[str, str] = {}

    def renamed(found: re.Match[str]) -> str:
        return ids.setdefault(found[0], f"{name}-part{len(ids)}")

    body = re.sub(r"(?<=[\"(#])(?:clip|gradient_)\d+", renamed, body)
    body = re.sub(r' (?:role|aria-roledescription|aria-hidden|style|pointer-events|class)="[^"]*"', "", body)
    # A mark's words become its hover title.
    body = re.sub(r'<path((?:[^>"]|"[^"]*")*?) aria-label="([^"]*)"((?:[^>"]|"[^"]*")*?)/>', _titled, body)
    body = re.sub(r"<path((?:[^>\"]|\"[^\"]*\")*?) aria-label=\"[^\"]*\"", r"<path\1", body)
    body = re.sub(r' aria-label="[^"]*"', "", body)
    body = re.sub(r'<path(?: transform="[^"]*")? d="(?:M0,0h0v0h0Z)?"(?: display="none")?/>', "", body)
    return (
        f'<svg class="plot" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'{size[0] if size else ""} width="{width[1] if width else 600}">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-desc">{escape(description)}</desc>{body}'
    )


def _titled(found: re.Match[str]) -> str:
    return f"<path{found[1]}{found[3]}><title>{found[2]}</title></path>"


def bars(
    rows: Sequence[dict[str, Any]], *, value: str, axis: str, parts: Sequence[str] = (), name: str, title: str
) -> Chart:
    """Horizontal bars, a row each: `label`, `value` and, for stacked ones, `part`, one of `parts`."""
    import altair as alt

    rows = [{**row, "label": wrapped(row["label"])} for row in rows]
    order = list(dict.fromkeys(row["label"] for row in rows))
    encoding: dict[str, Any] = {
        "x": alt.X(f"{value}:Q", title=axis, stack="zero", axis=alt.Axis(format=",~f", tickCount=6)),
        "y": alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelExpr=LINES)),
        "description": alt.Description("words:N"),
    }
    if parts:
        encoding["color"] = alt.Color(
            "part:N",
            title=None,
            sort=list(parts),
            scale=alt.Scale(domain=list(parts), range=list(SERIES[: len(parts)])),
        )
        encoding["order"] = alt.Order("place:Q")
    data = [
        {
            **row,
            "place": parts.index(row["part"]) if parts else 0,
            "words": f"{' '.join(row['label'].split())}{', ' + row['part'] if parts else ''}: {row[value]:,.4g}",
        }
        for row in rows
    ]
    mark = alt.Chart(alt.InlineData(values=data)).mark_bar(color=SERIES[0], height=13)
    chart = mark.encode(**encoding).properties(width=520, height=alt.Step(step(order, 20)))
    words = "; ".join(row["words"] for row in data[:40]) + "."
    return draw(chart, name=name, title=title, description=words, labels=order)


def step(labels: Iterable[str], least: int) -> int:
    """The height of a row in pixels, which the labels of all rows fit into."""
    return max(least, 4 + 14 * max((label.count("\n") + 1 for label in labels), default=1))
