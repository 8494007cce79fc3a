"""Time against the number of operations, for every scheme: inserts into an empty table that grows as it fills.

The hardened variants have their default options, which begin small. Resizes and splits are thus part of the run and are
cut like everything else. Some recoveries read the items (to rebuild something volatile, or to finish a resize). They
pay for the size of the table at every crash point that changes what is read. A recovery that reads metadata pays for
the changes.
"""

from collections.abc import Sequence
from typing import Any

from powercut.base import paths
from powercut.engine import options
from powercut.engine.options import ExploreOptions
from powercut.scenarios import plan, targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import ScenarioFile
from powercut.scenarios.targets import Target
from tools.bench import process as bench_process
from tools.bench.page import columns
from tools.bench.plot import Panel, svg

OPERATIONS = (100, 300, 1_000, 3_000)
#: Longer runs of a scheme are left out after one that took so long.
_ENOUGH_SECONDS = 8.0
_BUDGET = "20s"
_LINES_OF_A_PANEL = 3


def case(operations: int) -> Scenario:
    """Inserts so many items, with every crash point explored."""
    content = {
        "schema": 1,
        "name": "bench_schemes",
        "summary": "Inserts into an empty table.",
        "targets": ["*"],
        "pool": {"size": "8MiB"},
        "data": {"key_size": 8, "value_size": 8},
        "phase": [{"name": "load", "steps": [{"op": "insert", "from": 1, "to": operations}]}],
    }
    return Scenario(path=paths.scenario_dir() / "bench_schemes.toml", content=ScenarioFile.model_validate(content))


def measure(*, jobs: int, operations: Sequence[int] = OPERATIONS) -> dict[str, Any]:
    """A row for each scheme and length."""
    names = [name for name in targets.libraries() if name not in targets.SELF_TEST_TARGETS]
    return {"jobs": jobs, "rows": [row for name in names for row in _rows(targets.find(name), jobs, operations)]}


def _rows(target: Target, jobs: int, operations: Sequence[int]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for length in operations:
        wanted = plan.build(target, variant=target.default_variants[0], scenario=case(length), seed=1)
        chosen = ExploreOptions(nested=1, jobs=jobs, budget=options.parse_budget(_BUDGET))
        took = bench_process.measure(wanted, options=chosen)
        rows.append(
            {
                "scheme": target.name,
                "inserts": length,
                "crash_points": took.run["crash_points"],
                "crash_states": took.run["crash_states"],
                "executions": took.run["executions"],
                "seconds": round(took.seconds, 2),
                "verdict": took.run["verdict"],
                "coverage": took.run["coverage"]["kind"],
            }
        )
        if took.seconds > _ENOUGH_SECONDS:
            break
    return rows


def markdown(values: dict[str, Any]) -> str:
    """The table of the page."""
    return columns(
        [{**row, "crash_states": _short(row["crash_states"])} for row in values["rows"]],
        *("scheme", "inserts", "crash_points", "crash_states", "executions", "seconds", "verdict"),
    )


def _short(digits: str) -> int | str:
    """A natural number as a table shows it; a long one by its magnitude."""
    return int(digits) if len(digits) <= 9 else f"{digits[0]}.{digits[1]}e{len(digits) - 1}"


def chart(values: dict[str, Any]) -> str:
    """Seconds against inserts: a line for each scheme, a few schemes to a panel."""
    series: dict[str, list[tuple[float, float]]] = {}
    for row in values["rows"]:
        series.setdefault(row["scheme"], []).append((row["inserts"], max(row["seconds"], 0.001)))
    names = list(series)
    groups = [names[first : first + _LINES_OF_A_PANEL] for first in range(0, len(names), _LINES_OF_A_PANEL)]
    return svg(
        [
            Panel(
                title="Seconds to explore",
                x="inserts into an empty table that grows",
                series={name: series[name] for name in group},
                log_y=True,
            )
            for group in groups
        ],
        description="Time of an exploration against the number of inserts, for every scheme",
    )
