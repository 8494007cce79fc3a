"""Executions against legal crash states, against exploring each crash point by itself, and against behaviours.

A behaviour is a distinct sequence of values that recovery reads of the medium. It is counted by the exploration
that remembers nothing (`explore --no-remember`), so that the memory is not measured by itself.
"""

import tempfile
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.engine.options import ExploreOptions, parse_budget
from powercut.runs import plan_recording, runner
from powercut.scenarios import catalog, plan, targets
from tools.bench import process as bench_process
from tools.bench.page import table

_BUDGET = "120s"


def measure(*, jobs: int) -> dict[str, Any]:
    """A row for each core scenario of Level hashing with one thread, `hardened`."""
    target = targets.find("level")
    chosen = ExploreOptions(nested=1, jobs=jobs, budget=parse_budget(_BUDGET))
    rows = []
    with (
        tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder,
        runner.open_context(paths.engine(), Path(folder)) as context,
    ):
        trace = Path(folder) / "run.pct"
        for item in catalog.core("level"):
            if item.content.race is not None:
                continue
            wanted = plan.build(target, variant="hardened", scenario=item, seed=1)
            plan_recording.record(wanted, trace, context=context)
            ours, _ = bench_process.explored(trace, chosen)
            alone, _ = bench_process.explored(trace, chosen, "--no-remember")
            rows.append(
                {
                    "scenario": item.name,
                    "crash_points": ours["crash_points"],
                    "crash_states": ours["crash_states"],
                    "each_crash_point": alone["executions"],
                    "executions": ours["executions"],
                    "behaviours": alone["leaves"],
                    "per_behaviour": round(ours["executions"] / max(alone["leaves"], 1), 3),
                    "complete": ours["coverage"]["kind"] == alone["coverage"]["kind"] == "complete",
                }
            )
    return {"rows": rows}


def markdown(values: dict[str, Any]) -> str:
    """The table of the page."""
    rows = values["rows"]
    titles = ["scenario", "crash points", "crash states", "executions, each crash point by itself"]
    titles += ["executions", "behaviours", "executions / behaviour", "complete"]
    worst = max(row["per_behaviour"] for row in rows)
    shown = table(titles, [[{**row, "crash_states": int(row["crash_states"])}[name] for name in row] for row in rows])
    return f"{shown}\n\nThe most executions for a behaviour: {worst:g}."
