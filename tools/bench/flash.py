"""Every cut of an SSD's page programs: MDB-L on a page-mapped layer, counts of a few keys, a `sync` now and then.

A program costs two recoveries of a medium that nobody has seen (the page cannot be read; it is there), which scan the
device, and the queries that read it. The device is therefore small, and the run is long. Processor time is the measure,
of all processes: the machine may have other work. Wanted: flat.
"""

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.engine.options import ExploreOptions
from powercut.scenarios import plan, targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import ScenarioFile
from tools.bench import process as bench_process
from tools.bench.page import columns

INCREMENTS = (400, 4_000)
#: Some 10^5 programs.
FULL = 32_000
KEYS = 8


def case(*, increments: int, sync_every: int = 50) -> Scenario:
    """A run of so many increments, on the device of the scenario `counts_ssd`."""
    step = {"op": "mix", "operations": sync_every, "increment": 0.9, "read": 0.1, "distribution": "uniform"}
    sync = {"op": "maintain", "command": "sync"}
    steps = [part for _ in range(increments // sync_every) for part in (step, sync)]
    content = {
        "schema": 4,
        "name": "bench_flash",
        "summary": f"{increments} increments of {KEYS} counts on an SSD.",
        "targets": ["mdb_l"],
        "config": {"ftl": "page", "blocks": 2, "pages": 2, "entries": 2, "buffer": 2, "overflow": 2},
        "pool": {"size": "16KiB"},
        "data": {"key_size": 8, "value_size": 8},
        "phase": [
            {"name": "load", "explore": False, "steps": [{"op": "increment", "from": 1, "to": KEYS}]},
            {"name": "run", "steps": steps},
        ],
    }
    return Scenario(path=paths.scenario_dir() / "bench_flash.toml", content=ScenarioFile.model_validate(content))


def measure(*, full: bool, jobs: int) -> dict[str, Any]:
    """A row for each number of increments; `full` includes the longest."""
    return {"jobs": jobs, "rows": [_row(number, jobs) for number in (*INCREMENTS, *((FULL,) if full else ()))]}


def _row(increments: int, jobs: int) -> dict[str, Any]:
    wanted = plan.build(targets.find("mdb_l"), variant="hardened", scenario=case(increments=increments), seed=1)
    programs = _programs(wanted)
    took = bench_process.measure(wanted, options=ExploreOptions(nested=1, jobs=jobs, model="flash"))
    run = took.run
    return {
        "increments": increments,
        "programs": programs,
        "crash_points": run["crash_points"],
        "executions": run["executions"],
        "query_runs": run["query_runs"],
        "cpu_seconds": round(took.cpu_seconds, 2),
        "programs_per_cpu_second": round(programs / max(took.cpu_seconds, 0.01)),
        "peak_mib": took.peak >> 20,
        "verdict": run["verdict"],
        "coverage": run["coverage"]["kind"],
    }


def _programs(wanted: dict[str, Any]) -> int:
    """Page programs and erases of the run: each is forced, and nothing else is."""
    with tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder:
        trace = Path(folder) / "run.pct"
        bench_process.record(wanted, trace)
        done = subprocess.run(
            [paths.engine(), "stats", "--trace", str(trace)], capture_output=True, text=True, check=True
        )
    (stats,) = (event for event in map(json.loads, done.stdout.splitlines()) if event["event"] == "stats")
    return int(stats["kinds"]["flush"])


def markdown(values: dict[str, Any]) -> str:
    """The table of the page."""
    return columns(
        values["rows"],
        *("increments", "programs", "crash_points", "executions", "query_runs"),
        *("cpu_seconds", "programs_per_cpu_second", "peak_mib", "verdict"),
        titles={"programs": "programs and erases", "programs_per_cpu_second": "programs / CPU s"},
    )
