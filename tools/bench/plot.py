"""Line charts as SVG files: panels side by side, readable in light and dark mode, the same bytes for the same data."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

Points = Sequence[tuple[float, float]]

_WIDTH, _HEIGHT = 400, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 18, 40, 52
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 13px }
.axis { stroke: #57606a; stroke-width: 1 }
.grid { stroke: #d0d7de; stroke-width: 1 }
.line { fill: none; stroke-width: 2 }
.s0 { stroke: #0969da } .d0, .t0 { fill: #0969da }
.s1 { stroke: #bc4c00 } .d1, .t1 { fill: #bc4c00 }
.s2 { stroke: #1a7f37 } .d2, .t2 { fill: #1a7f37 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .axis { stroke: #8b949e } .grid { stroke: #30363d }
  .s0 { stroke: #58a6ff } .d0, .t0 { fill: #58a6ff }
  .s1 { stroke: #f0883e } .d1, .t1 { fill: #f0883e }
  .s2 { stroke: #3fb950 } .d2, .t2 { fill: #3fb950 }
}
"""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One chart. The x axis is logarithmic; the y axis is too, or begins at 0. Values are positive."""

    title: str
    x: str
    series: Mapping[str, Points]  # by name, at most three
    log_y: bool


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    ticks: list[float]
    log: bool

    def at(self, value: float) -> float:
        """Where the value lies between the ends, from 0 to 1."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def _log_axis(values: Sequence[float]) -> _Axis:
    low = math.floor(math.log10(min(values)) + 1e-9)
    high = max(math.ceil(math.log10(max(values)) - 1e-9), low + 1)
    return _Axis(10.0**low, 10.0**high, [10.0**power for power in range(low, high + 1)], True)


def _linear_axis(values: Sequence[float]) -> _Axis:
    largest = max(values)
    unit = 10.0 ** math.floor(math.log10(largest))
    step = next(unit * part for part in (0.2, 0.5, 1, 2, 5) if unit * part * 6 >= largest)
    count = math.ceil(largest / step - 1e-9)
    return _Axis(0.0, step * count, [step * i for i in range(count + 1)], False)


def number(value: float) -> str:
    """A tick's label: 0.1, 50, 10k, 1M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"


def svg(panels: Sequence[Panel], *, description: str) -> str:
    """The chart as the text of an SVG file."""
    width = _WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {_HEIGHT}" width="{width}" role="img">',
        f"<title>{escape(description)}</title>",
        f"<style>{_STYLE}</style>",
    ]
    for index, panel in enumerate(panels):
        parts += [f'<g transform="translate({index * _WIDTH} 0)">', *_panel(panel), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def both_ways(
    rows: Sequence[Mapping[str, Any]], names: tuple[str, str], *, alone: str, x: str, description: str
) -> str:
    """Seconds to explore against inserts: `names` of the usual way, and of the slow one, whose seconds are `alone`."""
    usual = [(row["inserts"], max(row["seconds"], 0.01)) for row in rows]
    slow = [(row["inserts"], max(row[alone], 0.01)) for row in rows if row.get(alone) is not None]
    series = dict(zip(names, (usual, slow), strict=True))
    return svg([Panel(title="Seconds to explore", x=x, series=series, log_y=True)], description=description)


def _panel(panel: Panel) -> list[str]:
    points = [point for line in panel.series.values() for point in line]
    across = _log_axis([x for x, _ in points])
    up = (_log_axis if panel.log_y else _linear_axis)([y for _, y in points])
    right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM

    def place(x: float, y: float) -> tuple[float, float]:
        return round(_LEFT + across.at(x) * (right - _LEFT), 1), round(bottom - up.at(y) * (bottom - _TOP), 1)

    parts = [f'<text class="title" x="{_LEFT}" y="18">{escape(panel.title)}</text>']
    for tick in up.ticks:
        y = place(across.low, tick)[1]
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y}" x2="{right}" y2="{y}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{number(tick)}</text>')
    for tick in across.ticks:
        x = place(tick, up.high)[0]
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{number(tick)}</text>')
    parts.append(f'<line class="axis" x1="{_LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}"/>')
    parts.append(f'<text x="{(_LEFT + right) / 2}" y="{bottom + 38}" text-anchor="middle">{escape(panel.x)}</text>')
    for index, (name, line) in enumerate(panel.series.items()):
        placed = [place(x, y) for x, y in line]
        path = " ".join(f"{x},{y}" for x, y in placed)
        parts.append(f'<polyline class="line s{index}" points="{path}"/>')
        parts += [f'<circle class="d{index}" cx="{x}" cy="{y}" r="3"/>' for x, y in placed]
        parts.append(f'<text class="t{index}" x="{_LEFT + 8 + 110 * index}" y="34">{escape(name)}</text>')
    return parts
