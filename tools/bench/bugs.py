"""Is a single planted bug found in a long run? `python -m tools.bench.bugs [--operations N] [TOGGLE]…`.

Each toggle of Level hashing is switched on in one run of N operations, explored completely. Where ordinary operations
meet the bug, the run is a churn of inserts, updates, erases and reads. The table stays nearly full, so that movements,
logged updates and the bottom level all take part. A bug of resizing, of opening, or after an earlier cut needs a state
that such a run never comes to. There the phases of the bug's scenario in the bug corpus come first. The rest of the run
is updates and reads of their items. A bug counts as found when the run reports an invariant that the bug corpus
expects, and the run without the bug is clean.
"""

import argparse
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import PowercutError, unknown_name
from powercut.base.exit_codes import ExitCode
from powercut.cli import output, talk
from powercut.corpus import known_bugs
from powercut.engine import options
from powercut.runs import runner
from powercut.runs.run_request import Request
from powercut.scenarios import catalog, plan, targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import KnownBug, ScenarioFile
from powercut_records.run import RunRecord
from tools.bench.page import table

OPERATIONS = 100_000
SCHEME = "level"
_SEED = 1
#: Toggles that a churn of ordinary operations meets.
CHURN = frozenset(
    {
        "insert_top_unordered",
        "insert_bottom_unordered",
        "insert_after_move_unordered",
        "move_unordered",
        "move_clear_first",
        "update_unordered",
        "update_two_writes",
        "log_unordered",
        "log_cleared_early",
        "log_not_replayed",
        "flush_first_line",
        "header_not_flushed",
    }
)
#: The table of a churn: 1,024 + 512 buckets of 4 slots, seven eighths of them in use at first.
_TOP, _SLOTS = 1024, 4
_RECORDS = (_TOP + _TOP // 2) * _SLOTS * 7 // 8


@dataclass(frozen=True, kw_only=True)
class LongBug:
    """A planted bug and the long run that it is put into."""

    bug: KnownBug
    scenario: Scenario

    @property
    def place(self) -> str:
        """Where in the run the bug is met."""
        return "throughout" if self.bug.toggle in CHURN else "in the phases before"


def long_bugs(operations: int, *, only: Sequence[str] = ()) -> list[LongBug]:
    """One long run for each toggle, or for those named. Bugs of threads have none: a mix does not follow threads."""
    alone = [item for item in catalog.known_bugs() if item.scheme == SCHEME and item.content.race is None]
    bugs = {item.bug.toggle: item for item in alone}
    for toggle in only:
        if toggle not in bugs:
            raise unknown_name("toggle", toggle, sorted(bugs), list_command="powercut list known-bugs")
    return [
        LongBug(bug=item.bug, scenario=_long(item, item.bug, operations))
        for toggle, item in sorted(bugs.items())
        if not only or toggle in only
    ]


def _long(item: Scenario, bug: KnownBug, operations: int) -> Scenario:
    content = item.content.model_dump(by_alias=True)
    content |= {"name": f"long_{bug.toggle}", "expect_marks": [], "known_bug": None}
    if bug.toggle in CHURN:
        content["config"] |= {"top": _TOP, "slots": _SLOTS, "search": "static", "auto_expand": "off"}
        content["pool"] = {"size": 512 * _TOP}
        content["phase"] = [
            {"name": "load", "explore": False, "steps": [{"op": "mix", "operations": _RECORDS, "insert": 1.0}]},
            {"name": "churn", "steps": [_churn(operations)]},
        ]
    else:
        mix = {"op": "mix", "operations": operations, "read": 0.5, "update": 0.5}
        content["phase"] = [*content["phase"], {"name": "long run", "steps": [mix]}]
    return Scenario(path=item.path, content=ScenarioFile.model_validate(content))


def _churn(operations: int) -> dict[str, Any]:
    shares = {"insert": 0.25, "erase": 0.25, "update": 0.25, "read": 0.25}
    return {"op": "mix", "operations": operations, "distribution": "uniform", **shares}


def explore(item: LongBug, *, with_bug: bool, jobs: int, budget: str | None) -> tuple[RunRecord, float]:
    """Records and explores one run; returns its record, and the seconds of both."""
    target = targets.find(SCHEME)
    toggle = item.bug.toggle if with_bug else None
    wanted = plan.build(target, variant=item.bug.variant, scenario=item.scenario, seed=_SEED, toggle=toggle)
    chosen = options.ExploreOptions(nested=1, jobs=jobs, seed=_SEED, budget=options.parse_budget(budget))
    with (
        tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder,
        runner.open_context(paths.engine(), Path(folder)) as context,
    ):
        began = time.monotonic()
        run = runner.run_one(Request(name=item.bug.toggle, slug="bug", options=chosen, plan=wanted), context)
        return run, time.monotonic() - began


def row(item: LongBug, *, jobs: int, budget: str | None, twins: dict[str, bool]) -> dict[str, Any]:
    """Yields the row of a toggle. `twins` remembers which runs without a bug were clean: many toggles share one."""
    found, took = explore(item, with_bug=True, jobs=jobs, budget=budget)
    key = item.scenario.content.model_dump_json(exclude={"name", "summary"})
    if key not in twins:
        twins[key] = known_bugs.clean(explore(item, with_bug=False, jobs=jobs, budget=budget)[0])
    seen = known_bugs.invariants(found)
    return {
        "toggle": item.bug.toggle,
        "met": item.place,
        "found": any(name in item.bug.expected for name in seen) and twins[key],
        "invariants": seen,
        "twin_clean": twins[key],
        "findings": len(found.findings),
        "crash_points": found.crash_points,
        "executions": found.executions,
        "coverage": found.coverage.kind,
        "error": found.error.what if found.error else None,
        "seconds": round(took, 1),
    }


def rows(
    operations: int, *, jobs: int, only: Sequence[str] = (), budget: str | None = None
) -> Iterable[dict[str, Any]]:
    """A row for each toggle, as they come."""
    twins: dict[str, bool] = {}
    for item in long_bugs(operations, only=only):
        yield row(item, jobs=jobs, budget=budget, twins=twins)


def measure(operations: int, *, jobs: int) -> dict[str, Any]:
    """The rows of all toggles."""
    return {"operations": operations, "jobs": jobs, "rows": list(rows(operations, jobs=jobs))}


def markdown(values: dict[str, Any]) -> str:
    """The table of the page."""
    titles = ["toggle", "met", "found", "violated", "crash points", "findings", "seconds"]
    names = ("toggle", "met", "found", "invariants", "crash_points", "findings", "seconds")
    shown = [[", ".join(row[name]) if name == "invariants" else row[name] for name in names] for row in values["rows"]]
    return f"Runs of {values['operations']:,} operations.\n\n{table(titles, shown)}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.bugs", description="Planted bugs in long runs.")
    parser.add_argument("toggles", nargs="*", help="which (default all)")
    parser.add_argument("--operations", type=int, default=OPERATIONS, help=f"of each run (default {OPERATIONS})")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (default 2)")
    parser.add_argument("--budget", default=None, help="limit of each exploration")
    parser.add_argument("--json", action="store_true", help="print one JSON object a toggle")
    given = parser.parse_args(argv)
    missed = False
    try:
        for values in rows(max(given.operations, 1), jobs=given.jobs, only=given.toggles, budget=given.budget):
            missed = missed or not values["found"]
            if given.json:
                output.print_json(values)
            else:
                mark = "found " if values["found"] else "MISSED"
                shown = ", ".join(values["invariants"]) or values["error"] or "-"
                print(f"{mark} {values['toggle']:<28} {values['seconds']:>7.1f} s  {shown}", flush=True)
    except PowercutError as error:
        talk.say_error(error)
        return error.exit_code
    return ExitCode.FINDINGS if missed else ExitCode.CLEAN


if __name__ == "__main__":
    raise SystemExit(main())
