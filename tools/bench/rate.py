"""Executions per second on one fixed case.

The case: level:hardened, 100 inserts into 64 + 32 buckets of 4 slots, one cut inside recovery, every query, one
worker. An execution is one recovery with the queries that it affects; its time is the one inside crash points
(recovery, queries, undo, judging), without starting processes and reading the trace. The fastest of the
repetitions counts, since noise only ever slows a run down.
"""

import tempfile
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError
from powercut.engine import options
from powercut.runs import plan_recording, runner
from powercut.runs.run_request import Request
from powercut.scenarios import plan, targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import ScenarioFile
from tools.bench.page import table

NAME = "bench_insert"
CASE: dict[str, Any] = {
    "schema": 1,
    "name": NAME,
    "summary": "100 inserts into 64 + 32 buckets of 4 slots.",
    "targets": ["level"],
    "config": {"top": 64, "slots": 4},
    "pool": {"size": "256KiB"},
    "phase": [{"name": "insert", "steps": [{"op": "insert", "from": 1, "to": 100}]}],
}


def measure(*, repeat: int, budget: str | None = "60s") -> dict[str, Any]:
    """Records the case once, explores it `repeat` times, and returns the figures of the fastest."""
    target = targets.find("level")
    scenario = Scenario(path=paths.scenario_dir() / f"{NAME}.toml", content=ScenarioFile.model_validate(CASE))
    chosen = options.ExploreOptions(nested=1, jobs=1, budget=options.parse_budget(budget))
    wanted = plan.build(target, variant="hardened", scenario=scenario, seed=chosen.seed)
    runs = []
    with tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder:
        out = Path(folder)
        with runner.open_context(paths.engine(), out) as context:
            trace = out / "bench.pct"
            plan_recording.record(wanted, trace, context=context)
            for _ in range(repeat):
                request = Request(name=NAME, slug=NAME, options=chosen, trace=trace)
                run = runner.run_one(request, context)
                if run.error:
                    raise HarnessError(run.error.what, where=run.error.where, next_step=run.error.next)
                runs.append(run.as_json())
    return figures(max(runs, key=lambda run: run["executions"] / max(run["exploring_seconds"], 1e-9)))


def figures(run: dict[str, Any]) -> dict[str, Any]:
    """Returns the line that is printed for a run."""
    executions, seconds = run["executions"], max(run["exploring_seconds"], 1e-9)
    each = max(executions, 1)
    return {
        "executions_per_second": round(executions / seconds),
        "queries_per_execution": round(run["queries"] / each, 2),
        "query_runs_per_execution": round(run["query_runs"] / each, 2),
        "loads_per_execution": round(run["loads"] / each, 2),
        "query_runs_per_second": round(run["query_runs"] / seconds),
        "queries_per_second": round(run["queries"] / seconds),
        "loads_per_second": round(run["loads"] / seconds),
        "executions": executions,
        "queries": run["queries"],
        "loads": run["loads"],
        "leaves": run["leaves"],
        "crash_points": run["crash_points"],
        "crash_states": run["crash_states"],
        "verdict": run["verdict"],
        "coverage": run["coverage"]["kind"],
        "exploring_seconds": round(seconds, 4),
        "seconds": round(run["seconds"], 3),
    }


def markdown(values: dict[str, Any]) -> str:
    """The table of the page."""
    return table(["figure", "measured"], [[name.replace("_", " "), value] for name, value in values.items()])
