"""Time and memory against the length of the trace: YCSB load and A of 10^4, 10^5 and, if wanted, 10^6 operations.

One more row shows what the long scenarios leave out: the shortest load with dynamic search, whose recovery reads
the whole table, so that each insert makes another recovery.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from powercut.engine.options import ExploreOptions
from powercut.scenarios import catalog, plan, targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import ScenarioFile
from tools.bench import process as bench_process
from tools.bench.page import columns, table
from tools.bench.plot import Panel, svg

SIZES = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}
MIXES = ("load", "a")


def measure(*, full: bool, jobs: int) -> dict[str, Any]:
    """A row for each workload; `full` includes those of 10^6 operations."""
    rows = [
        _row(catalog.matching(f"ycsb-{mix}-{size}")[0], mix, operations, jobs)
        for size, operations in SIZES.items()
        if full or size != "1m"
        for mix in MIXES
    ]
    dynamic = _dynamic(catalog.matching("ycsb-load-10k")[0])
    rows.append({**_row(dynamic, "load", SIZES["10k"], jobs), "scenario": "ycsb-load-10k, dynamic search"})
    return {"jobs": jobs, "rows": rows}


def _dynamic(item: Scenario) -> Scenario:
    content = item.content.model_dump(by_alias=True)
    content["config"]["search"] = "dynamic"
    return Scenario(path=item.path, content=ScenarioFile.model_validate(content))


def _row(item: Scenario, mix: str, operations: int, jobs: int) -> dict[str, Any]:
    wanted = plan.build(targets.find("level"), variant="hardened", scenario=item, seed=1)
    took = bench_process.measure(wanted, options=ExploreOptions(nested=1, jobs=jobs))
    run = took.run
    return {
        "scenario": item.name,
        "mix": mix,
        "operations": operations,
        "events": run["events"],
        "crash_points": run["crash_points"],
        "crash_states": run["crash_states"],
        "executions": run["executions"],
        "query_runs": run["query_runs"],
        "record_seconds": round(took.record_seconds, 2),
        "seconds": round(took.seconds, 2),
        "cpu_seconds": round(took.cpu_seconds, 2),
        "record_peak_mib": took.record_peak >> 20,
        "peak_mib": took.peak >> 20,
        "verdict": run["verdict"],
        "coverage": run["coverage"]["kind"],
    }


def _ratios(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str, float, float, float]]:
    """(mix, which lengths, then long to short: time, processor time, memory) for each step of ten."""
    names = {operations: name for name, operations in SIZES.items()}
    for mix in MIXES:
        line = [
            row
            for row in rows
            if row["mix"] == mix and row["scenario"].startswith("ycsb-") and "," not in row["scenario"]
        ]
        for short, long in itertools.pairwise(line):
            lengths = f"{names[long['operations']]} / {names[short['operations']]}"
            fields = ("seconds", "cpu_seconds", "peak_mib")
            time, processor, memory = (long[field] / max(short[field], 0.01) for field in fields)
            yield mix, lengths, time, processor, memory


def markdown(values: dict[str, Any]) -> str:
    """The tables of the page."""
    rows = values["rows"]
    measured = columns(
        [{**row, "crash_states": int(row["crash_states"])} for row in rows],
        *("scenario", "crash_points", "crash_states", "executions", "query_runs", "record_seconds"),
        *("seconds", "cpu_seconds", "peak_mib", "verdict"),
        titles={"record_seconds": "record s", "cpu_seconds": "explore CPU s"},
    )
    ratios = table(["mix", "operations", "time", "CPU time", "memory"], list(_ratios(rows)))
    return f"{measured}\n\n{ratios}"


def chart(values: dict[str, Any]) -> str:
    """Seconds and MiB against operations."""
    rows = [row for row in values["rows"] if "," not in row["scenario"]]

    def lines(field: str) -> dict[str, list[tuple[float, float]]]:
        return {
            f"ycsb-{mix}": [(row["operations"], max(row[field], 0.01)) for row in rows if row["mix"] == mix]
            for mix in MIXES
        }

    return svg(
        [
            Panel(title="Exploring, processor seconds", x="operations", series=lines("cpu_seconds"), log_y=True),
            Panel(title="Peak memory of all processes, MiB", x="operations", series=lines("peak_mib"), log_y=True),
        ],
        description="Time and memory of an exploration against the length of the trace",
    )
