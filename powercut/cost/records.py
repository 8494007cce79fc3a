"""Cost records (checker/RUN.md): what the operations of one scenario cost, averaged, with the least and the most.

One record a target and scenario, in `OUT/costs/`. Averages hide the one insert that moves an item. Every kind of
operation therefore also has the least and the most of each count. It also has its costliest operation, by the first of
the record's latencies.
"""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.base.output_files import write_json
from powercut.cost import costs, operation_costs
from powercut.cost.latency import Latency
from powercut.cost.operation_costs import Measured, Operation
from powercut.engine.engine import Interrupt
from powercut.runs.runner import slug
from powercut.scenarios import catalog, plan
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.targets import Selection

COST_VERSION = 1
FOLDER = "costs"
#: Not an operation on items, and not what a paper measures.
_LEFT_OUT = frozenset({"format", "open", "close"})


def scenarios_of(selection: Selection, patterns: Sequence[str]) -> list[Scenario]:
    """Runs that `powercut cost` records: the scenarios that the globs name, else those of the target's paper."""
    target = selection.target
    if not patterns:
        return costs.own_scenarios(target)
    beside = catalog.own(target.library) or []
    named = [item for pattern in patterns for item in catalog.matching(pattern, beside=beside, measurements=True)]
    fitting = list({(item.path, item.name): item for item in named if item.fits(target.name)}.values())
    if not fitting:
        raise UsageError(
            f"none of these scenarios fits '{target.name}'",
            where=" ".join(patterns),
            next_step="'powercut list scenarios' shows which scenario is for which target.",
        )
    return fitting


def measure(
    selection: Selection,
    scenario: Scenario,
    *,
    latencies: Sequence[Latency],
    seed: int,
    latency_words: Sequence[str] = (),
    interrupt: Interrupt | None = None,
) -> dict[str, Any]:
    """Records one scenario and returns its cost record."""
    target = selection.target
    bug = scenario.content.known_bug
    wanted = plan.build(
        target, variant=selection.variant, scenario=scenario, seed=seed, toggle=bug.toggle if bug else None
    )
    words = ["powercut", "cost", f"{target.spelling}:{selection.variant}", "--scenario", catalog.spelling(scenario)]
    words += [word for value in latency_words for word in ("--latency", value)]
    header = {
        "target": target.name,
        "variant": selection.variant,
        "scenario": scenario.name,
        "paper": target.description.paper,
        "summary": scenario.content.summary,
        "seed": seed,
        "command": shlex.join([*words, "--seed", str(seed)]),
    }
    return of_measured(operation_costs.measure(wanted, interrupt=interrupt), latencies, header=header)


def of_measured(measured: Measured, latencies: Sequence[Latency], *, header: dict[str, Any]) -> dict[str, Any]:
    """The record of what was counted. Latencies of operations are in the order of `latencies`."""
    return {
        "cost": COST_VERSION,
        **header,
        "item_bytes": measured.item_bytes,
        "latency": [item.record() for item in latencies],
        "operations": [_kind(measured, kind, latencies) for kind in measured.kinds() if kind not in _LEFT_OUT],
    }


def _kind(measured: Measured, kind: str, latencies: Sequence[Latency]) -> dict[str, Any]:
    found = measured.of(kind)
    mean = operation_costs.total(found).divided(len(found))
    least, most = operation_costs.bounds(found)
    each = [[latency.of(operation.counts) for operation in found] for latency in latencies]
    worst = found[each[0].index(max(each[0]))]
    return {
        "kind": kind,
        "count": len(found),
        "items": round(sum(operation.items for operation in found) / len(found), 1),
        **_rounded(asdict(mean)),
        "write_amplification": _optional(measured.amplification(kind, mean)),
        "latency_ns": [round(latency.of(mean), 1) for latency in latencies],
        "latency_parts_ns": [[round(part, 1) for part in latency.parts(mean)] for latency in latencies],
        "least": {**asdict(least), "latency_ns": [round(min(row), 1) for row in each]},
        "most": {**asdict(most), "latency_ns": [round(max(row), 1) for row in each]},
        "costliest": _one(worst, latencies),
    }


def _one(operation: Operation, latencies: Sequence[Latency]) -> dict[str, Any]:
    return {
        "index": operation.index,
        "kind": operation.kind,
        "key": operation.key,
        "items": operation.items,
        **asdict(operation.counts),
        "latency_ns": [round(latency.of(operation.counts), 1) for latency in latencies],
    }


def _rounded(numbers: dict[str, float]) -> dict[str, float]:
    return {name: round(number, 3) for name, number in numbers.items()}


def _optional(number: float | None) -> float | None:
    return None if number is None else round(number, 3)


def stem(record: dict[str, Any]) -> str:
    """Returns the names of a record's files."""
    return slug(record["target"], record["variant"], record["scenario"])


def write(record: dict[str, Any], out: Path) -> Path:
    """Writes the record into an output folder."""
    path = out / FOLDER / f"{stem(record)}.json"
    write_json(path, record)
    return path
