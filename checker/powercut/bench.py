"""Executions per second on one fixed case: `python -m powercut.bench [--repeat N] [--budget LIMIT] [--json]`.

The case: level:hardened, 100 inserts into 64 + 32 buckets of 4 slots, one cut inside recovery, every
query, one worker. An execution is one recovery with the queries that it affects; its time is the one
inside crash points (recovery, queries, undo, judging), without starting processes and reading the trace.
Prints the figures and writes them into the table of docs/performance.md. The fastest of the repetitions
counts, since noise only ever slows a run down.
"""

import argparse
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from powercut import options, output, paths, plan, runner, targets
from powercut.errors import HarnessError, PowercutError
from powercut.findings import unwritable
from powercut.runner import Request
from powercut.scenario import Scenario
from powercut.scenario_schema import ScenarioFile

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
#: What the project asks of one core.
WANTED_PER_SECOND = 50_000
_BEGIN, _END = "<!-- bench: begin -->", "<!-- bench: end -->"
_PAGE = f"""# Performance

The table is written by `make bench`. The case: `level:hardened`, 100 inserts into 64 + 32 buckets of 4
slots, one cut inside recovery (`--nested 1`), every query, one worker (`--jobs 1`). An *execution* is one
recovery with the queries that it affects. Wanted: at least {WANTED_PER_SECOND:,} executions a second on one
core. For orientation, pmreorder checks some 200 to 300 states a second on such a machine.

{_BEGIN}
{_END}
"""


def measure(*, repeat: int, budget: str | None) -> dict[str, Any]:
    """Records the case once, explores it `repeat` times, and returns the fastest run record."""
    target = targets.find("level")
    scenario = Scenario(path=paths.scenario_dir() / f"{NAME}.toml", content=ScenarioFile.model_validate(CASE))
    chosen = options.ExploreOptions(nested=1, jobs=1, budget=options.parse_budget(budget))
    wanted = plan.build(target, variant="hardened", scenario=scenario, seed=chosen.seed)
    runs = []
    with tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder:
        out = Path(folder)
        with runner.open_context(paths.engine(), out) as context:
            trace = out / "bench.pct"
            runner.record(wanted, trace, context=context)
            for _ in range(repeat):
                request = Request(name=NAME, slug=NAME, options=chosen, trace=trace)
                run = runner.run_one(request, context)
                if run["error"]:
                    error = run["error"]
                    raise HarnessError(error["what"], where=error["where"], next_step=error["next"])
                runs.append(run)
    return max(runs, key=lambda run: run["executions"] / max(run["exploring_seconds"], 1e-9))


def figures(run: dict[str, Any]) -> dict[str, Any]:
    """What is printed of a run."""
    executions, seconds = run["executions"], max(run["exploring_seconds"], 1e-9)
    each = max(executions, 1)
    return {
        "executions_per_second": round(executions / seconds),
        "queries_per_execution": round(run["queries"] / each, 2),
        "query_runs_per_execution": round(run["query_runs"] / each, 2),
        "loads_per_execution": round(run["loads"] / each, 2),
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
        "cpu": cpu_model(),
    }


def cpu_model() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    found = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return found[0] if found else platform.machine()


def table(values: dict[str, Any]) -> str:
    """The figures as a Markdown table."""
    rows = ["| figure | measured |", "|---|---|"]
    for name, value in values.items():
        shown = f"{value:,}" if isinstance(value, int | float) else str(value).replace("|", "\\|")
        rows.append(f"| {name.replace('_', ' ')} | {shown} |")
    return "\n".join(rows)


def write_page(path: Path, values: dict[str, Any]) -> None:
    """Puts the table between its markers; what else the page says stays."""
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else _PAGE
        if _BEGIN not in text or _END not in text:
            text = text.rstrip() + f"\n\n{_BEGIN}\n{_END}\n"
        before, _, rest = text.partition(_BEGIN)
        after = rest.partition(_END)[2]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{before}{_BEGIN}\n{table(values)}\n{_END}{after}", encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from error


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m powercut.bench", description="Executions per second, fixed case.")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions; the fastest counts (default 3)")
    parser.add_argument("--budget", default="60s", help="limit of each repetition (default 60s)")
    parser.add_argument("--page", type=Path, default=None, help="page to write (default docs/performance.md)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(argv)
    try:
        values = figures(measure(repeat=max(given.repeat, 1), budget=given.budget))
        write_page(given.page or paths.home() / "docs" / "performance.md", values)
    except PowercutError as error:
        output.say_error(error)
        return error.exit_code
    if given.json:
        output.print_json(values)
    else:
        for name, value in values.items():
            print(f"{name.replace('_', ' '):<24} {value}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
