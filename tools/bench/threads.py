"""The most general client of each scheme that threads may use: time, states and frontiers of all schedules.

Two threads with two operations each without a bound, and three with two under two preemptions, on one key; and
scenarios in which an operation resizes the table beside others, without a bound. Wall clock with two workers,
everything counted: recording, which is the search, exploration, and what the command itself does.
"""

import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.engine.options import ExploreOptions, Schedules
from powercut.runs import batch, requests, runner
from powercut.runs.run_request import Request
from powercut.scenarios import catalog, targets
from powercut.scenarios.clients import Shape
from powercut.scenarios.targets import Selection
from powercut_records.run import RunRecord
from tools.bench.page import columns

TARGETS = ("level", "turbohash", "clevel", "pclht", "cceh", "dash", "dash_lh", "cmap", "libcuckoo", "montage")
#: A client, and the most preemptions in a schedule.
SHAPES: tuple[tuple[Shape, int | None], ...] = (
    (Shape(threads=2, operations=2), None),
    (Shape(threads=3, operations=2, keys=(1,)), 2),
)
#: Scenarios by their folders, which are the targets.
RESIZES = (
    "cceh/cceh_threads_split",
    "cceh/cceh_threads_split_insert",
    "dash/dash_threads_split",
    "dash/dash_threads_split_insert",
    "dash_lh/dash_lh_threads_split",
    "dash_lh/dash_lh_threads_split_chain",
    "dash_lh/dash_lh_threads_expand",
)


def measure(*, jobs: int, names: Sequence[str] = TARGETS) -> dict[str, Any]:
    """A row for each target and client, and for each resize."""
    clients = [_of_clients(name, shape, bound, jobs=jobs) for shape, bound in SHAPES for name in names]
    return {"rows": clients + [_of_scenario(name, jobs=jobs) for name in RESIZES if name.split("/")[0] in names]}


def _of_clients(name: str, shape: Shape, bound: int | None, *, jobs: int) -> dict[str, Any]:
    selection = Selection(target=targets.find(name), variant="hardened")
    options = replace(ExploreOptions(nested=1), schedules=Schedules(preemptions=bound))
    wanted = requests.for_clients([selection], [], shape=shape, options=options, explicit=True)
    return _row(name, f"{shape}, {'no bound' if bound is None else f'{bound} preemptions'}", wanted, jobs=jobs)


def _of_scenario(name: str, *, jobs: int) -> dict[str, Any]:
    target, scenario = name.split("/")
    selection = Selection(target=targets.find(target), variant="hardened")
    (found,) = catalog.matching(name)
    wanted = requests.one(selection, found, options=ExploreOptions(nested=1))
    return _row(target, f"{scenario}, no bound", [wanted], jobs=jobs)


def _row(name: str, what: str, wanted: Sequence[Request], *, jobs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="powercut-bench-") as folder:
        begun, used = time.monotonic(), os.times()
        with runner.open_context(paths.engine(), Path(folder)) as context:
            outcome = batch.run_all(wanted, context, jobs=jobs)
        seconds, now = time.monotonic() - begun, os.times()
    runs = outcome.runs
    own = now.user + now.system - used.user - used.system
    children = now.children_user + now.children_system - used.children_user - used.children_system
    return {
        "target": name,
        "client": what,
        **{field: _sum(runs, field) for field in ("clients", "states", "steps", "frontiers", "judged")},
        "seconds": round(seconds, 1),
        "cpu_seconds": round(own + children, 1),
        "verdicts": ", ".join(sorted({f"{run.verdict}, {run.coverage.kind}" for run in runs})),
    }


def _sum(runs: Sequence[RunRecord], field: str) -> int:
    return sum(getattr(run.coverage.schedules, field) for run in runs if run.coverage.schedules is not None)


def markdown(values: dict[str, Any]) -> str:
    """The table of the page."""
    return columns(
        values["rows"],
        *("target", "client", "clients", "states", "steps", "frontiers", "judged"),
        *("seconds", "cpu_seconds", "verdicts"),
        titles={"seconds": "s", "verdicts": "verdict"},
    )
