"""Cost of an execution beside the same recovery and queries without instrumentation (`powercut-bench-execution`)."""

import json
import tempfile
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.scenarios import catalog, plan, targets
from tools.bench import program as bench_program
from tools.bench.page import table

PROGRAM = "powercut-bench-execution"
SCENARIOS = ("ycsb-load-10k", "ycsb-a-10k")
PARTS = ("recovery", "key", "region", "execution")


def measure(*, repeat: int) -> dict[str, Any]:
    """A row for each scenario and part, in nanoseconds and as ratios."""
    rows = []
    for name in SCENARIOS:
        costs = _run(name, repeat)
        for part in PARTS:
            engine, plain, flushing = (float(costs[side][part]) for side in ("engine", "plain", "plain_flushing"))
            rows.append(
                {
                    "scenario": name,
                    "part": part,
                    "engine_ns": round(engine),
                    "plain_ns": round(plain),
                    "plain_flushing_ns": round(flushing),
                    "ratio": round(engine / plain, 2),
                    "ratio_flushing": round(engine / flushing, 2),
                }
            )
    return {"rows": rows}


def _run(name: str, repeat: int) -> dict[str, Any]:
    wanted = plan.build(targets.find("level"), variant="hardened", scenario=catalog.matching(name)[0], seed=1)
    with tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder:
        plan_file = Path(folder) / "plan.json"
        plan_file.write_text(json.dumps(wanted), encoding="utf-8")
        plain = paths.library_dir() / "plain" / "libpowercut-level.so"
        arguments = ["--plan", str(plan_file), "--plain", str(plain), "--folder", folder, "--repeat", str(repeat)]
        return bench_program.run(PROGRAM, arguments)


def markdown(values: dict[str, Any]) -> str:
    """The table of the page."""
    titles = ["scenario", "part", "engine ns", "plain ns", "plain, flushing ns", "ratio", "ratio, flushing"]
    return table(titles, [list(row.values()) for row in values["rows"]])
