"""The cost of recording: `python -m tools.bench.capture [--operations N] [--stores N] [--repeat N] [--json]`.

The case: N inserts (YCSB load) into `level:hardened` with as many slots as take them at a load of about two thirds.
`powercut-bench-capture` runs it on two libraries in turns, each run in a process of its own: without instrumentation,
and as the engine loads and records it. Then it runs a loop of 8-byte stores, for the price of one event; then it reads
the traces back. The fastest run of each kind counts, since noise only slows runs down. Times are wall clock, so a
machine with other work on its cores shows worse figures than the code deserves: the `…_cpu` figures, in processor time
of all threads, are steadier.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import PowercutError
from powercut.cli import output, talk
from powercut.scenarios import plan, targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import ScenarioFile
from tools.bench import program as bench_program
from tools.bench.machine import cpu_model

PROGRAM = "powercut-bench-capture"
NAME = "bench_capture"
OPERATIONS = 1_000_000
STORES = 20_000_000
REPEAT = 3
#: The project's goal.
MOST_RATIO = 3.0
LEAST_STORES_PER_SECOND = 20_000_000
_SEED = 1


def case(operations: int) -> dict[str, Any]:
    """The scenario: a table of 6 slots for each top bucket, two levels of it, that needs no expansion."""
    top = 64
    while 4 * top < operations:
        top *= 2
    return {
        "schema": 1,
        "name": NAME,
        "summary": f"YCSB load of {operations:,} inserts.",
        "targets": ["level"],
        "config": {"top": top, "slots": 4, "search": "static"},
        "pool": {"size": max(1 << 20, 512 * top)},
        "phase": [{"name": "load", "steps": [{"op": "mix", "operations": operations, "insert": 1.0}]}],
    }


def measure(*, operations: int, stores: int = STORES, repeat: int = REPEAT) -> dict[str, Any]:
    """Runs the benchmark and returns its figures, flat: rates per second, times in seconds, memory in KiB."""
    content = ScenarioFile.model_validate(case(operations))
    scenario = Scenario(path=paths.scenario_dir() / f"{NAME}.toml", content=content)
    wanted = plan.build(targets.find("level"), variant="hardened", scenario=scenario, seed=_SEED)
    with tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder:
        plan_file = Path(folder) / "plan.json"
        plan_file.write_text(json.dumps(wanted), encoding="utf-8")
        arguments = ["--plan", str(plan_file), "--folder", folder, "--stores", str(stores), "--repeat", str(repeat)]
        arguments += ["--plain", str(paths.library_dir() / "plain" / "libpowercut-level.so")]
        arguments += ["--store-loop", str(paths.library_dir() / "bench" / "libpowercut-store-loop.so")]
        costs = bench_program.run(PROGRAM, arguments)
    return {"operations": operations, "stores": stores, "repeat": repeat, **figures(costs), "cpu": cpu_model()}


def figures(costs: dict[str, Any]) -> dict[str, Any]:
    """The figures that are worth showing of what the program measured."""
    recorded, loop, read = costs["recorded"], costs["stores"], costs["read"]
    return {
        "native_seconds": round(costs["native"]["seconds"], 3),
        "native_no_flush_seconds": round(costs["native_no_flush"]["seconds"], 3),
        "recorded_seconds": round(recorded["seconds"], 3),
        "recorded_to_native": _ratio(recorded, costs["native"], "seconds"),
        "recorded_to_native_cpu": _ratio(recorded, costs["native"], "cpu_seconds"),
        "recorded_to_native_no_flush": _ratio(recorded, costs["native_no_flush"], "seconds"),
        "recorded_to_native_no_flush_cpu": _ratio(recorded, costs["native_no_flush"], "cpu_seconds"),
        "events": recorded["events"],
        "events_per_second": _rate(recorded),
        "file_bytes_per_event": round(recorded["file_bytes"] / max(recorded["events"], 1), 2),
        "raw_bytes_per_event": round(read["raw_bytes"] / max(recorded["events"], 1), 2),
        "stores_per_second": _rate(loop),
        "stores_per_second_cpu": _rate(loop, "cpu_seconds"),
        "stores_peak_kib": loop["peak_kib"],
        "stores_tenth_peak_kib": costs["stores_tenth"]["peak_kib"],
        "read_events_per_second": _rate(read),
        "read_stores_per_second": _rate(costs["stores_read"]),
        "read_stores_peak_kib": costs["stores_read"]["peak_kib"],
    }


def _rate(cost: dict[str, Any], clock: str = "seconds") -> int:
    return round(int(cost["events"]) / max(float(cost[clock]), 1e-9))


def _ratio(cost: dict[str, Any], base: dict[str, Any], clock: str) -> float:
    return round(float(cost[clock]) / max(float(base[clock]), 1e-9), 2)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.capture", description="What recording costs.")
    parser.add_argument("--operations", type=int, default=OPERATIONS, help=f"inserts (default {OPERATIONS})")
    parser.add_argument("--stores", type=int, default=STORES, help=f"stores of the loop (default {STORES})")
    parser.add_argument("--repeat", type=int, default=REPEAT, help=f"runs; the fastest counts (default {REPEAT})")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(argv)
    try:
        values = measure(operations=max(given.operations, 1), stores=max(given.stores, 10), repeat=max(given.repeat, 1))
    except PowercutError as error:
        talk.say_error(error)
        return error.exit_code
    if given.json:
        output.print_json(values)
    else:
        for name, value in values.items():
            shown = f"{value:,}" if isinstance(value, int | float) else value
            print(f"{name.replace('_', ' '):<34} {shown}")
        print(
            f"wanted: recorded to native at most {MOST_RATIO}, stores per second at least {LEAST_STORES_PER_SECOND:,}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
