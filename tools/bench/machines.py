"""Gains of more machines: the cost of a range of chunks, measured here, and a model of 64 and 1,024 cores made of it.

A trace of N crash points on P cores takes, by the model,

    list N  +  max(start + walk N (P-1)/P + explore N/P,  (start P + walk N (P-1)/2 + explore N) / cores)  +  merge N

`list` says which chunks there are, `walk` is the way to a range's first chunk, `merge` the walk in which one engine
adds up: seconds a crash point, each of one core. The second part of the maximum is for more processes than cores: the
check against 1, 2 and 4 processes needs it on a small machine. A matrix is N crash points in traces of 10^6, each done
by one core as a whole. Only the merge is then left to one machine.

Left out of the model: results on the network (their bytes are measured), workers that wait for a file system, and
ranges that are dearer than others; `walk` may be dearer in longer traces, whose tables are larger.
"""

import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.engine import engine, events
from powercut.engine.options import ExploreOptions
from powercut.machines.ranges import Range, share
from powercut.runs import plan_recording, runner
from powercut.runs.machines import Exploring
from powercut.scenarios import catalog, plan, targets
from tools.bench.page import table
from tools.bench.plot import Panel, svg

SCENARIO = "ycsb-a-100k"
PROCESSES = (1, 2, 4)
CORES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
POINTS = (10**9, 10**11)
#: Crash points of one trace of a matrix.
_ONE_OF_MANY = 10**6
#: Chunks of the whole trace. The chunks of the explored part can be shared evenly by 2 and by 4; each begins with
#: nothing known of the table, so that more of them cost more.
_CHUNKS = 18


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Seconds of one core: `start` of a process, the others for each crash point."""

    start: float
    list: float
    walk: float
    explore: float
    merge: float

    def ranges(self, points: float, processes: int, cores: int) -> float:
        """Seconds for `processes` ranges of one trace, side by side on `cores`."""
        way = self.walk * points
        longest = self.start + way * (processes - 1) / processes + self.explore * points / processes
        work = self.start * processes + way * (processes - 1) / 2 + self.explore * points
        return max(longest, work / cores)

    def one_trace(self, points: float, cores: int) -> float:
        """From the trace to the report."""
        return self.list * points + self.ranges(points, cores, cores) + self.merge * points

    def matrix(self, points: float, cores: int, *, merging: int = 1) -> float:
        """Seconds for many traces, on shards; `merging` cores put them together."""
        traces = max(1.0, points / _ONE_OF_MANY)
        each = self.one_trace(_ONE_OF_MANY, 1) - self.merge * _ONE_OF_MANY
        return each * -(-traces // cores) + self.merge * points / merging


def measure(*, repeat: int) -> dict[str, Any]:
    """Costs, the check with a few processes, and what the model says of many."""
    with tempfile.TemporaryDirectory() as folder, runner.open_context(paths.engine(), Path(folder)) as context:
        (scenario,) = catalog.matching(SCENARIO, beside=[])
        trace = Path(folder) / "run.pct"
        wanted = plan.build(targets.find("level"), variant="hardened", scenario=scenario, seed=1)
        plan_recording.record(wanted, trace, context=context)
        return _measured(trace, Path(folder), repeat)


def _measured(trace: Path, folder: Path, repeat: int) -> dict[str, Any]:
    exploring = Exploring(name=SCENARIO, trace=trace, options=ExploreOptions(), engine_path=paths.engine())
    events_of = exploring.listed().events
    exploring = replace(exploring, options=ExploreOptions(chunk_events=-(-events_of // _CHUNKS)))
    took = min(_timed(exploring.listed) for _ in range(repeat))
    listed = exploring.listed()
    points, count = listed.crash_points, len(listed.firsts)
    ran = {
        many: min((_side_by_side(exploring, count, many, folder) for _ in range(repeat)), key=_wall)
        for many in PROCESSES
    }
    last = _range(exploring, Range(count - 1, count), folder / "last")
    alone = ran[1][1][0]
    files = [path for part in ran[1][1] for path in [part.file]]
    merged = min(_merge(exploring, files) for _ in range(repeat))
    start = alone.stats["run"].get("open", 0.0)
    cost = Cost(
        start=start,
        list=max(took - start, 0.0) / points,
        walk=last.stats["run"]["walk"] / listed.firsts[-1],
        explore=alone.stats["workers"]["exploring"] / points,
        merge=merged / points,
    )
    cores = len(os.sched_getaffinity(0))
    return {
        "crash_points": points,
        "events": events_of,
        "chunks": count,
        "cores": cores,
        "bytes_a_chunk": sum(path.stat().st_size for path in files) // count,
        "cost": vars(cost),
        "check": [
            {
                "processes": many,
                "seconds": round(ran[many][0], 2),
                "model": round(cost.ranges(points, many, cores), 2),
            }
            for many in PROCESSES
        ],
        "rows": [
            {"points": n, "cores": p, "one_trace": cost.one_trace(n, p), "matrix": cost.matrix(n, p)}
            for n in POINTS
            for p in CORES
        ],
    }


@dataclass(frozen=True, kw_only=True)
class _Part:
    file: Path
    stats: dict[str, dict[str, float]]


def _range(exploring: Exploring, chunks: Range, file: Path) -> _Part:
    words = [*exploring.words(), "--chunks", str(chunks), "--checkpoint", str(file)]
    event, _ = engine.single(exploring.engine_path, words, events.Explored)
    assert isinstance(event, events.Explored)
    return _Part(file=file, stats=event.stats)


def _side_by_side(exploring: Exploring, count: int, many: int, folder: Path) -> tuple[float, list[_Part]]:
    ranges = [share(count, index=index, of=many) for index in range(1, many + 1)]
    began = time.monotonic()
    with ThreadPoolExecutor(many) as pool:
        futures = [pool.submit(_range, exploring, each, folder / f"{many}-{each.first}") for each in ranges]
        parts = [future.result() for future in futures]
    return time.monotonic() - began, parts


def _wall(ran: tuple[float, list[_Part]]) -> float:
    return ran[0]


def _merge(exploring: Exploring, files: Sequence[Path]) -> float:
    words = [*exploring.words(), *(word for file in files for word in ("--take", str(file)))]
    event, _ = engine.single(exploring.engine_path, words, events.Result)
    assert isinstance(event, events.Result)
    return event.stats["run"]["walk"]


def _timed(act: Any) -> float:
    began = time.monotonic()
    act()
    return time.monotonic() - began


def _time(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.1f} s"


def half_at(rows: Sequence[dict[str, Any]], name: str) -> int:
    """The most cores of which each still does half as much as one alone; the model's cores are powers of two."""
    one = rows[0][name]
    return max(int(row["cores"]) for row in rows if one / row[name] >= row["cores"] / 2)


def markdown(values: dict[str, Any]) -> str:
    """Costs, the check, and the model."""
    cost = values["cost"]
    micro = {name: round(cost[name] * 1e6, 2) for name in ("list", "walk", "explore", "merge")}
    parts = [
        f"`{SCENARIO}`: {values['crash_points']:,} crash points, {values['events']:,} events, in {values['chunks']} "
        f"chunks of {values['bytes_a_chunk']:,} bytes each as a result. Start of a process {cost['start']:.2f} s.",
        table(["microseconds of one core a crash point", ""], [[name, value] for name, value in micro.items()]),
        f"The model against processes on this machine, which has {values['cores']} cores:",
        table(
            ["processes", "measured s", "model s", "measured / model"],
            [
                [row["processes"], row["seconds"], row["model"], round(row["seconds"] / row["model"], 2)]
                for row in values["check"]
            ],
        ),
        "By the model, from the trace to the report:",
        table(
            ["crash points", "cores", "one trace", "traces of 10^6, in shards"],
            [
                [f"{row['points']:.0e}", row["cores"], _time(row["one_trace"]), _time(row["matrix"])]
                for row in values["rows"]
                if row["cores"] in (1, 8, 64, 1024)
            ],
        ),
        _end_of_scaling(values),
    ]
    return "\n\n".join(parts)


def _end_of_scaling(values: dict[str, Any]) -> str:
    rows = [row for row in values["rows"] if row["points"] == POINTS[0]]
    cost = values["cost"]
    whole = cost["list"] + cost["explore"] + cost["merge"]
    bound = whole / (cost["list"] + cost["walk"] + cost["merge"])
    return (
        "One trace stops scaling early, since its walks are not shared out. "
        f"At {half_at(rows, 'one_trace')} cores a core does half as much as one alone. "
        f"Any number of cores is at most {bound:.1f} times as fast as one. "
        f"In a matrix, a core does half as much at {half_at(rows, 'matrix')} cores. "
        f"If one core merges alone, any number of cores is at most {whole / cost['merge']:.0f} times as fast."
    )


def chart(values: dict[str, Any]) -> str:
    """Hours against cores."""
    panels = []
    for points in POINTS:
        rows = [row for row in values["rows"] if row["points"] == points]
        series = {
            name: [(row["cores"], row[key] / 3600) for row in rows]
            for name, key in (("one trace", "one_trace"), ("traces of 10^6", "matrix"))
        }
        panels.append(Panel(title=f"Hours for {points:.0e} crash points", x="cores", series=series, log_y=True))
    return svg(panels, description="Time by the model against the number of cores")
