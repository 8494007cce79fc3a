"""Time and memory against the number of pending lines: lines that were written once and never flushed.

The pattern `plain` with the option `unflushed`: after as many updates as there may be lines, so that the traces are
equally long, 5,000 updates are explored. At each of their crash points all these lines are pending, and nobody
reads them. One more row is a lock: a line that every operation stores to twice and nobody flushes.

Known limit: a counter that is never flushed and that operations read back has as many values as stores. Each probe that
reads it branches over all of them.
"""

from typing import Any

from powercut.base import paths
from powercut.engine.options import ExploreOptions
from powercut.scenarios import plan, targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import ScenarioFile
from tools.bench import process as bench_process
from tools.bench.page import columns
from tools.bench.plot import Panel, svg

LINES = (0, 10, 100, 1_000, 10_000)
OPERATIONS = 5_000
_KEYS = 16


def case(config: dict[str, Any], *, before: int) -> Scenario:
    """`before` updates that are not explored, then those that are."""
    content = {
        "schema": 1,
        "name": "bench_pending",
        "summary": "Updates beside lines that nobody flushes.",
        "targets": ["patterns"],
        "config": {"pattern": "plain", "capacity": _KEYS, **config},
        "pool": {"size": "1MiB"},
        "phase": [
            {"name": "load", "explore": False, "steps": [{"op": "insert", "from": 1, "to": _KEYS}, _updates(before)]},
            {"name": "run", "steps": [_updates(OPERATIONS)]},
        ],
    }
    return Scenario(path=paths.scenario_dir() / "bench_pending.toml", content=ScenarioFile.model_validate(content))


def _updates(operations: int) -> dict[str, Any]:
    return {"op": "mix", "operations": operations, "update": 1.0, "distribution": "uniform"}


def measure(*, jobs: int) -> dict[str, Any]:
    """A row for each number of lines, then the lock."""
    cases: list[tuple[str, int, dict[str, Any]]] = [
        (f"{lines:,} lines", lines, {"unflushed": lines}) for lines in LINES
    ]
    cases.append(("a lock", 1, {"pattern": "volatile_lock"}))
    return {"jobs": jobs, "rows": [_row(name, lines, config, jobs) for name, lines, config in cases]}


def _row(name: str, lines: int, config: dict[str, Any], jobs: int) -> dict[str, Any]:
    wanted = plan.build(targets.find("patterns"), variant="hardened", scenario=case(config, before=max(LINES)), seed=1)
    took = bench_process.measure(wanted, options=ExploreOptions(nested=1, jobs=jobs))
    run = took.run
    return {
        "never_flushed": name,
        "lines": lines,
        "crash_points": run["crash_points"],
        "digits_of_states": len(run["crash_states"]),
        "executions": run["executions"],
        "query_runs": run["query_runs"],
        "seconds": round(took.seconds, 3),
        "cpu_seconds": round(took.cpu_seconds, 3),
        "microseconds_per_crash_point": round(took.cpu_seconds / max(run["crash_points"], 1) * 1e6, 1),
        "peak_mib": took.peak >> 20,
        "verdict": run["verdict"],
        "coverage": run["coverage"]["kind"],
    }


def markdown(values: dict[str, Any]) -> str:
    """The table of the page."""
    return columns(
        values["rows"],
        *("never_flushed", "crash_points", "digits_of_states", "executions"),
        *("seconds", "cpu_seconds", "microseconds_per_crash_point", "peak_mib", "verdict"),
        titles={
            "digits_of_states": "digits of crash states",
            "microseconds_per_crash_point": "CPU µs / crash point",
        },
    )


def chart(values: dict[str, Any]) -> str:
    """Microseconds a crash point and MiB against the number of lines."""
    rows = [row for row in values["rows"] if row["never_flushed"].endswith("lines") and row["lines"] > 0]
    times = [(row["lines"], row["microseconds_per_crash_point"]) for row in rows]
    memory = [(row["lines"], max(row["peak_mib"], 1)) for row in rows]
    across = "lines written and never flushed"
    return svg(
        [
            Panel(title="Processor microseconds a crash point", x=across, series={"exploring": times}, log_y=False),
            Panel(title="Peak memory of all processes, MiB", x=across, series={"exploring": memory}, log_y=False),
        ],
        description="Time and memory of an exploration against the number of pending lines",
    )
