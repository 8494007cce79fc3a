"""Cost of recording under the Valgrind tool, against the program by itself and against Valgrind's tool `none`.

Two workloads on one program (`tracer/valgrind/benchmarks/table.c`): inserts alone, where nearly everything is a store,
flush or fence of the pool, and inserts among lookups, where most of the work is none. Processor time of the whole
process is measured, Valgrind's own start included, and the fastest run counts: other work on the machine makes runs
slower, never faster.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError, UsageError
from powercut.engine import engine, events
from powercut.program import valgrind
from tools.bench import page as bench_page

#: Operations, and lookups for each.
WORKLOADS = {"inserts": (100_000, 0), "inserts and 20 lookups each": (50_000, 20)}
_WAYS = ("native", "none", "no pool", "recorded", "recorded with loads")


@dataclass(frozen=True, kw_only=True)
class _Way:
    command: Sequence[str]
    env: Mapping[str, str]


def measure(*, repeat: int) -> dict[str, Any]:
    """Seconds of processor time by workload and way, and what was recorded."""
    program = paths.engine().with_name("powercut-bench-table")
    if not program.is_file():
        raise UsageError("not built yet", where=str(program), next_step=paths.BUILD_STEP)
    rows = []
    for name, (operations, lookups) in WORKLOADS.items():
        with tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder:
            ways = _ways([str(program), "POOL", str(operations), str(lookups)], Path(folder))
            seconds = {way: min(_seconds(ways[way], Path(folder)) for _ in range(repeat)) for way in _WAYS}
            # The stream of the plain recording: the one with loads was measured last.
            _seconds(ways["recorded"], Path(folder))
            events_of = _events(Path(folder))
        rows.append({"workload": name, "seconds": seconds, "events": events_of})
    return {"rows": rows}


def _ways(argv: list[str], folder: Path) -> dict[str, _Way]:
    pool, stream = folder / "pool", folder / "stream"
    argv = [str(pool) if word == "POOL" else word for word in argv]
    none, environment = valgrind.command(argv, stream=stream, pools=[])
    tool = [word for word in none[: -len(argv)] if not word.startswith(("--tool=", "--stream="))]
    bare = [tool[0], "--tool=none", *tool[1:], *argv]
    ways = {"native": _Way(command=argv, env=os.environ), "none": _Way(command=bare, env=environment)}
    for name, pools, loads in (
        ("no pool", [folder / "another"], False),
        ("recorded", [pool], False),
        ("recorded with loads", [pool], True),
    ):
        command, env = valgrind.command(argv, stream=stream, pools=pools, loads=loads)
        ways[name] = _Way(command=command, env=env)
    return ways


def _seconds(way: _Way, folder: Path) -> float:
    """Processor time of one run, on a fresh pool."""
    (folder / "pool").unlink(missing_ok=True)
    process = subprocess.Popen(way.command, env=dict(way.env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise HarnessError(
            f"a benchmark ended with status {process.returncode}",
            where=" ".join(way.command),
            next_step="Run it by hand to see what it says.",
        )
    return usage.ru_utime + usage.ru_stime


def _events(folder: Path) -> int:
    convert = ["convert", "--stream", str(folder / "stream"), "--trace", str(folder / "trace.pct")]
    event, _ = engine.single(paths.engine(), convert, events.Converted)
    assert isinstance(event, events.Converted)
    return event.events


def markdown(values: dict[str, Any]) -> str:
    """Ratios to native and to `none`, and what one event costs."""
    rows = []
    for row in values["rows"]:
        seconds, base = row["seconds"], max(row["seconds"]["native"], 1e-9)
        for way in _WAYS[1:]:
            extra = seconds[way] - seconds["no pool"]
            cost = round(extra / max(row["events"], 1) * 1e6, 2) if way == "recorded" else ""
            rows.append(
                [
                    row["workload"],
                    {"none": "`--tool=none`", "no pool": "our tool, the pool not named"}.get(way, way),
                    round(seconds[way] / base, 1),
                    round(seconds[way] / seconds["none"], 2),
                    row["events"] if way == "recorded" else "",
                    cost,
                ]
            )
    return bench_page.table(["workload", "under", "× native", "× none", "events", "µs CPU an event"], rows)
