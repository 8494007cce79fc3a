"""What operations cost on every scheme, counted in a recorded run, and what that means on slow memory.

Counted per operation, on average: stores, distinct 64-byte lines and 256-byte blocks written, flushes, fences, and
distinct lines of the pool that were read. A scheme may have a scenario `<scheme>_costs` of its own, with the
conditions of its paper; else `map_costs` is run on its default options, and inserts include the resizes that they
cause. The counts depend on no machine; what becomes of them on persistent memory is a model, with the latencies
that the paper on Level hashing emulates (OSDI 2018, section 4.1: reads 200 ns, writes 200, 600 or 1,000 ns):

    latency = lines read * read latency + (flushes + non-temporal stores) * write latency

So it knows nothing of caches (a line that two operations read counts twice), of bandwidth, or of processors.

Schemes of that paper have a scenario `<scheme>_resize_costs` too: one resize at a load factor of 0.85 (section 4.2.5,
Fig. 15), counted per item in the table, since the tables that are compared hold different numbers of items.
"""

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from powercut import catalog, engine, events, paths, plan, targets
from powercut.errors import HarnessError
from powercut.scenario import Scenario
from powercut.targets import Target

SCENARIO = "map_costs"
OPERATIONS = ("insert", "lookup", "update", "erase")
RESIZE = "resize"
READ_NS = 200
WRITE_NS = (200, 600, 1000)
#: Operations, and the speed-up that section 4.2 of its paper gives Level hashing over `COMPARED`. That of a resize is
#: over Level hashing with a traditional resize, which it calls similar to the others'.
CLAIMS = (
    ("insert", "1.4 to 3.0"),
    ("update", "1.2 to 2.1"),
    ("lookup", "about 1 or more"),
    ("erase", "about 1 or more"),
    (RESIZE, "4.3"),
)
COMPARED = ("bch", "pfht", "path")
BASE = "level"


@dataclass(frozen=True, kw_only=True)
class Cost:
    """One operation of one scheme, averaged."""

    scheme: str
    variant: str
    scenario: str
    operation: str
    count: int
    stores: float
    nt_stores: float
    lines: float
    blocks: float
    flushes: float
    fences: float
    lines_read: float

    def latency(self, write_ns: int) -> float:
        """Nanoseconds on memory with this write latency."""
        return self.lines_read * READ_NS + (self.flushes + self.nt_stores) * write_ns


def measure(scheme: str | None) -> list[Cost]:
    """The costs of one scheme, or of all, in the variant that stands the exploration."""
    names = [scheme] if scheme else [name for name in targets.libraries() if name not in targets.SELF_TEST_TARGETS]
    scenarios = {item.name: item for item in catalog.matching("*_costs")}
    return [cost for name in names for cost in _of(targets.find(name), scenarios)]


def _of(target: Target, scenarios: dict[str, Scenario]) -> Iterator[Cost]:
    variant = target.default_variants[0]
    scenario = scenarios.get(f"{target.name}_costs") or scenarios[SCENARIO]
    wanted = plan.build(target, variant=variant, scenario=scenario, seed=1)
    answer = _record(wanted)
    for operation in OPERATIONS:
        sums = answer["counters_explored"].get(operation)
        if sums is not None:
            yield _cost(
                target, variant, scenario, answer, recorded=operation, operation=operation, count=sums["operations"]
            )
    resize = scenarios.get(f"{target.name}_resize_costs")
    if resize is not None:
        answer = _record(plan.build(target, variant=variant, scenario=resize, seed=1))
        items = answer["counters"]["insert"]["operations"]
        yield _cost(target, variant, resize, answer, recorded="maintain", operation=RESIZE, count=items)


def _cost(
    target: Target,
    variant: str,
    scenario: Scenario,
    answer: dict[str, Any],
    *,
    recorded: str,
    operation: str,
    count: int,
) -> Cost:
    """The sums over `recorded` operations of explored phases, divided by `count`."""
    sums = answer["counters_explored"][recorded]
    each = {name: sums[name] / count for name in ("stores", "nt_stores", "lines", "blocks", "flushes", "fences")}
    return Cost(
        scheme=target.name,
        variant=variant,
        scenario=scenario.name,
        operation=operation,
        count=count,
        lines_read=answer["lines_read"].get(recorded, 0) / count,
        **each,
    )


def _record(wanted: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="powercut-costs-") as folder:
        plan_file = Path(folder) / "plan.json"
        plan_file.write_text(json.dumps(wanted), encoding="utf-8")
        given = ["record", "--plan", str(plan_file), "--trace", str(Path(folder) / "run.pct"), "--count-loads"]
        _, answer = engine.single(paths.engine(), given, events.Recorded)
    if "lines_read" not in answer:
        raise HarnessError(
            "the engine counted no loads",
            where="powercut-engine",
            next_step="Run 'make build': it is of another build.",
        )
    return answer


def as_json(costs: list[Cost]) -> dict[str, Any]:
    """The tables of `powercut fidelity --json`: counts, latencies and ratios."""
    return {
        "costs": [
            {**asdict(cost), "latency_ns": {str(ns): round(cost.latency(ns)) for ns in WRITE_NS}} for cost in costs
        ],
        "ratios": ratios(costs),
    }


def ratios(costs: list[Cost]) -> list[dict[str, Any]]:
    """How much slower others are than Level hashing in the model, beside what its paper measured."""
    known = {(cost.scheme, cost.operation): cost for cost in costs}
    rows = []
    for operation, claim in CLAIMS:
        base = known.get((BASE, operation))
        for other in COMPARED:
            cost = known.get((other, operation))
            if base is None or cost is None:
                continue
            measured = [round(cost.latency(ns) / base.latency(ns), 2) for ns in WRITE_NS]
            rows.append({"operation": operation, "scheme": other, "paper": claim, "ratios": measured})
    return rows
