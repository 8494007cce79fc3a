"""How large the state space of each run was, and how little of it had to be executed.

Crash states outgrow floats, so their number is plotted as its logarithm, from the digits. Known limit: run records hold
totals; how states and pending lines grow along one run is not in them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from powercut_records.run import RunRecord
from powercut_reports import format as fmt
from powercut_reports.charts import VERDICT_COLORS, Chart, draw

#: Fewer runs than this are better read as they stand.
_FEWEST = 4
_POWERS = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]


@dataclass(frozen=True)
class StatesRow:
    name: str
    model: str
    runs: int
    crash_points: int
    largest: str  # crash states of the largest run
    executions: int
    saved: str  # states for each execution, over all runs: the power of ten


@dataclass(frozen=True)
class StatesView:
    rows: tuple[StatesRow, ...]
    charts: tuple[Chart, ...]
    runs: int


def log10(digits: str | None) -> float | None:
    """The logarithm of a natural number of any length; None for 0 and for what is no number."""
    text = fmt.digits(digits)
    if text is None or text == "0":
        return None
    return math.log10(int(text[:15])) + max(0, len(text) - 15)


def states_view(runs: Sequence[RunRecord]) -> StatesView | None:
    counted = [run for run in runs if log10(run.crash_states) is not None and run.executions and run.crash_points]
    if len(counted) < _FEWEST:
        return None
    groups: dict[tuple[str, str], list[RunRecord]] = {}
    for run in counted:
        groups.setdefault((run.name, run.model), []).append(run)
    return StatesView(tuple(_row(*key, group) for key, group in groups.items()), _charts(counted), len(counted))


def _row(name: str, model: str, runs: list[RunRecord]) -> StatesRow:
    largest = max(runs, key=lambda run: log10(run.crash_states) or 0)
    executions = sum(run.executions or 0 for run in runs)
    # The largest run alone decides the power of the sum.
    top = log10(largest.crash_states) or 0
    total = top + math.log10(sum(10 ** ((log10(run.crash_states) or 0) - top) for run in runs))
    return StatesRow(
        name=name,
        model=model,
        runs=len(runs),
        crash_points=sum(run.crash_points or 0 for run in runs),
        largest=largest.crash_states,
        executions=executions,
        saved=f"{total - math.log10(executions):.1f}",
    )


def _charts(runs: Sequence[RunRecord]) -> tuple[Chart, ...]:
    import altair as alt

    # Most runs have thousands of states, some have 10^100: the root of the power shows both.
    root = alt.Scale(type="sqrt")
    rows = [
        {
            "states": round(log10(run.crash_states) or 0, 3),
            "executions": run.executions,
            "points": run.crash_points,
            "verdict": run.verdict,
            "words": f"{run.name} {run.scenario}, {run.model}: {fmt.count_in_a_sentence(run.crash_states)} states, "
            f"{fmt.plural(run.crash_points, 'crash point')}, {fmt.plural(run.executions, 'execution')}",
        }
        for run in runs
    ]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("states:Q", title="crash states, as a power of ten", scale=root, axis=alt.Axis(values=_POWERS)),
        color=alt.Color(
            "verdict:N",
            title=None,
            scale=alt.Scale(domain=list(VERDICT_COLORS), range=list(VERDICT_COLORS.values())),
        ),
        shape=alt.Shape(
            "verdict:N", title=None, scale=alt.Scale(domain=list(VERDICT_COLORS), range=["circle", "square", "diamond"])
        ),
        description=alt.Description("words:N"),
    )
    points = base.mark_point(filled=True, size=34, opacity=0.65)
    most = max(math.log10(run.executions or 1) for run in runs)
    ends: list[dict[str, float]] = [{"x": most * i / 32, "y": 10 ** (most * i / 32)} for i in range(33)]
    each = alt.Chart(alt.InlineData(values=ends)).mark_line(strokeDash=[5, 4], color="var(--soft)", strokeWidth=1.2)
    line = each.encode(x="x:Q", y=alt.Y("y:Q", scale=alt.Scale(type="log")))
    executions = points.encode(y=alt.Y("executions:Q", title="executions of recovery", scale=alt.Scale(type="log")))
    places = points.encode(y=alt.Y("points:Q", title="crash points", scale=alt.Scale(type="log")))
    words = f"A mark for each of {fmt.plural(len(runs), 'run')}; the table below has the numbers."
    return (
        draw(
            (line + executions).properties(width=460, height=280),
            name="states-executions",
            title="Crash states covered, and executions that it took",
            description=f"{words} On the dashed line every state would be executed; marks lie to its right.",
        ),
        draw(
            places.properties(width=460, height=280),
            name="states-points",
            title="Crash states against crash points",
            description=words,
        ),
    )
