"""Time against the number of items that a resize moves, for a scheme whose recovery finishes a resize that was cut.

Each move of the resize is cut. Recovery makes the remaining moves and is cut at each of them, and the next recovery
makes the rest. By default a recovery is left where it comes to where another one has been; `--no-merge` follows all to
their ends.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from powercut.engine.options import ExploreOptions
from powercut.scenarios import targets
from tools.bench import process as bench_process
from tools.bench import schemes as bench_schemes
from tools.bench.page import columns
from tools.bench.plot import both_ways

INSERTS = (50, 100, 200, 400, 800)
#: Twice as many take eight times as long without merging.
_MOST_WITHOUT_MERGING = 200


def measure(*, inserts: Sequence[int] = INSERTS) -> dict[str, Any]:
    """A row for each number of inserts, one worker."""
    cases = {number: bench_schemes.case(number) for number in inserts}
    return {"rows": bench_process.rows_of(targets.find("bch"), cases, _row, variant="hardened")}


def _row(number: int, trace: Path) -> dict[str, Any]:
    options = ExploreOptions(nested=1, jobs=1)
    merged, seconds = bench_process.explored(trace, options)
    row = {
        "inserts": number,
        "crash_points": merged["crash_points"],
        "queries": merged["queries"],
        "seconds": round(seconds, 2),
        "coverage": merged["coverage"]["kind"],
    }
    if number <= _MOST_WITHOUT_MERGING:
        each, alone = bench_process.explored(trace, options, "--no-merge")
        row |= {"queries_of_each": each["queries"], "seconds_of_each": round(alone, 2)}
    return row


def markdown(values: dict[str, Any]) -> str:
    """The table of the page."""
    merged = ("inserts", "crash_points", "queries", "seconds", "coverage")
    unmerged = {"queries_of_each": "queries `--no-merge`", "seconds_of_each": "`--no-merge` s"}
    return columns(values["rows"], *merged, *unmerged, titles=unmerged)


def chart(values: dict[str, Any]) -> str:
    """Seconds against inserts, both ways."""
    return both_ways(
        values["rows"],
        ("left where they meet", "each to its end"),
        alone="seconds_of_each",
        x="inserts into a table that is rehashed",
        description="Time of an exploration against the number of items that a resize moves, both ways",
    )
