"""Recovery runs a second of program mode on one core (`powercut-bench-program`)."""

import json
from typing import Any

from powercut.base import paths
from tools.bench import program as bench_program
from tools.bench.page import table

PROGRAM = "powercut-bench-program"
CASES = {
    "forked_1_mib_dense": "fork server, 1 MiB pool, all pages with data",
    "forked_8_mib_sparse": "fork server, 8 MiB pool, one page in 16 with data",
    "forked_8_mib_dense": "fork server, 8 MiB pool, all pages with data",
    "started_1_mib_dense": "started anew for each image, 1 MiB pool",
    "followed_1_mib_dense": "with a report of what it reads, 1 MiB pool",
    "reported_1_mib_dense": "the same, built with `powercut cc`",
    "traced_1_mib_dense": "under the Valgrind tool with loads, 1 MiB pool",
}


def measure(*, repeat: int) -> dict[str, Any]:
    """Runs a second, by case. The one under the tool only where the Valgrind tool was built."""
    arguments = ["--repeat", str(repeat)]
    tools = paths.library_dir() / "valgrind"
    if (tools / "powercut-amd64-linux").is_file():
        command = ["valgrind", "--tool=powercut", "-q", "--stream={stream}", "--pool={image}", "--loads=yes"]
        prefix = {"command": command, "environment": {"VALGRIND_LIB": str(tools)}}
        arguments += ["--trace-prefix", json.dumps(prefix)]
    measured = bench_program.run(PROGRAM, arguments)
    return {name: round(float(measured[name]), 1) for name in CASES if name in measured}


def markdown(values: dict[str, Any]) -> str:
    """The table of the page."""
    forked = values["forked_1_mib_dense"]
    rows = [[CASES[name], value, f"{value / forked:.3g}"] for name, value in values.items()]
    return table(["recovery runs on one core", "a second", "to the first"], rows)
