"""Time against the number of lines that are read and undecided: the example of the target ABI without its second flush.

An insert stores the word that makes a slot count, and nobody flushes it. After n inserts n slots may be there or not,
in any combination, and each lookup scans them all. `--no-merge` executes a query once for each combination that it can
tell apart; by default the ways of a query that come back to the same state are one.
"""

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError
from powercut.cli.main import main as powercut
from powercut.engine.options import ExploreOptions
from powercut.scenarios import targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import ScenarioFile
from tools.bench import process as bench_process
from tools.bench.page import columns
from tools.bench.plot import both_ways

INSERTS = (8, 12, 14, 16, 24, 32, 48)
#: Each further insert doubles the executions without merging.
_MOST_WITHOUT_MERGING = 14
_SLOT = 128
_LEFT_OUT = "without this line: lost-item"


def library(folder: Path) -> Path:
    """The example of targets/ABI.md without the line that it says is needed, compiled."""
    page = (paths.home() / "targets" / "ABI.md").read_text(encoding="utf-8")
    example = re.search(r"^## A small target\n.*?^```c\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    if example is None or _LEFT_OUT not in example[1]:
        raise HarnessError(
            "The page of the target ABI has no example.", where="targets/ABI.md", next_step="Look there."
        )
    source, out = folder / "slots.c", folder / "libslots.so"
    lines = [line for line in example[1].splitlines() if _LEFT_OUT not in line]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    code = powercut(["cc", "-O2", "-g", "-shared", "-fPIC", str(source), "-o", str(out)])
    if code != 0:
        raise HarnessError("The example does not compile.", where=str(source), next_step="Run powercut doctor.")
    return out


def case(inserts: int) -> Scenario:
    """Inserts so many items into a table that has a few slots more."""
    content = {
        "schema": 1,
        "name": "bench_undecided",
        "summary": "Inserts that nobody flushes.",
        "targets": ["slots"],
        "pool": {"size": -(-(inserts + 2) * _SLOT // 4096) * 4096},
        "phase": [{"name": "run", "steps": [{"op": "insert", "from": 1, "to": inserts}]}],
    }
    return Scenario(path=paths.scenario_dir() / "bench_undecided.toml", content=ScenarioFile.model_validate(content))


def measure(*, inserts: Sequence[int] = INSERTS) -> dict[str, Any]:
    """A row for each number of inserts, one worker."""
    with tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder:
        target = targets.find(str(library(Path(folder))))
        cases = {number: case(number) for number in inserts}
        return {"rows": bench_process.rows_of(target, cases, _row, variant=target.default_variants[0])}


def _row(number: int, trace: Path) -> dict[str, Any]:
    options = ExploreOptions(nested=1, jobs=1)
    merged, seconds = bench_process.explored(trace, options)
    alone, runs = None, None
    if number <= _MOST_WITHOUT_MERGING:
        each, alone = bench_process.explored(trace, options, "--no-merge")
        runs, alone = each["query_runs"], round(alone, 2)
    return {
        "inserts": number,
        "crash_points": merged["crash_points"],
        "crash_states": merged["crash_states"],
        "executions": merged["executions"],
        "query_runs": merged["query_runs"],
        "seconds": round(seconds, 2),
        "query_runs_without_merging": runs,
        "seconds_without_merging": alone,
        "coverage": merged["coverage"]["kind"],
    }


def markdown(values: dict[str, Any]) -> str:
    """The table of the page."""
    unmerged = {
        "query_runs_without_merging": "executions of queries without merging",
        "seconds_without_merging": "without merging s",
    }
    return columns(
        [{**row, "crash_states": int(row["crash_states"])} for row in values["rows"]],
        *("inserts", "crash_points", "crash_states", "executions", "query_runs", "seconds", *unmerged, "coverage"),
        titles={"query_runs": "stretches of queries", **unmerged},
    )


def chart(values: dict[str, Any]) -> str:
    """Seconds against inserts, both ways."""
    return both_ways(
        values["rows"],
        ("merged", "each way"),
        alone="seconds_without_merging",
        x="inserts whose slot is never flushed",
        description="Time of an exploration against the number of undecided lines that every query reads",
    )
