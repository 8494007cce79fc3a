"""What operations cost on every scheme, for `powercut fidelity`: averages, and ratios to Level hashing.

Counted as `operation_costs` says, in the variant that stands the exploration. A scheme may have a scenario
`<scheme>_costs` of its own, with the conditions of its paper; else `map_costs` is run on its default options, and
inserts include the resizes that they cause. Latencies are those that the paper on Level hashing emulates (`latency`).

Schemes of that paper have a scenario `<scheme>_resize_costs` too: one resize at a load factor of 0.85 (section 4.2.5,
Fig. 15), counted per item in the table, since the tables that are compared hold different numbers of items.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from powercut.base.cores import joined
from powercut.cost import latency, operation_costs
from powercut.scenarios import catalog, plan, targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.targets import Target

SCENARIO = "map_costs"
OPERATIONS = ("insert", "lookup", "update", "erase")
RESIZE = "resize"
_LATENCIES = {int(item.write_ns): item for item in latency.PRESETS["osdi18"]}
WRITE_NS = tuple(_LATENCIES)
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
_COUNTS = ("stores", "nt_stores", "lines", "blocks", "flushes", "fences", "lines_read")


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
        """Nanoseconds on memory with this write latency, one of `WRITE_NS`."""
        return _LATENCIES[write_ns].of(self)


def own_scenarios(target: Target, *, resize: bool = True) -> list[Scenario]:
    """The scenarios that a target's costs are counted in, unless others are named."""
    known = {item.name: item for item in catalog.matching("*_costs", measurements=True)}
    found = [known.get(f"{target.name}_costs") or known[SCENARIO]]
    resizing = known.get(f"{target.name}_resize_costs")
    return [*found, resizing] if resizing and resize else found


def measure(scheme: str | None) -> list[Cost]:
    """The costs of one scheme, or of all, in the variant that stands the exploration."""
    names = [scheme] if scheme else [name for name in targets.libraries() if name not in targets.SELF_TEST_TARGETS]
    return joined(lambda name: _of(targets.find(name)), names)


def _of(target: Target) -> Iterator[Cost]:
    variant = target.default_variants[0]
    usual, *resizing = own_scenarios(target)
    measured = operation_costs.measure(plan.build(target, variant=variant, scenario=usual, seed=1))
    for operation in OPERATIONS:
        if found := measured.of(operation):
            yield _cost(target, variant, usual, found, operation=operation, count=len(found))
    for scenario in resizing:
        measured = operation_costs.measure(plan.build(target, variant=variant, scenario=scenario, seed=1))
        resizes = [item for item in measured.operations if item.kind not in OPERATIONS and item.counts.stores]
        items = max((item.items for item in resizes), default=0)
        if items:
            yield _cost(target, variant, scenario, resizes, operation=RESIZE, count=items)


def _cost(
    target: Target,
    variant: str,
    scenario: Scenario,
    found: list[operation_costs.Operation],
    *,
    operation: str,
    count: int,
) -> Cost:
    """The sums over `found`, divided by `count`."""
    each = operation_costs.total(found).divided(count)
    return Cost(
        scheme=target.name,
        variant=variant,
        scenario=scenario.name,
        operation=operation,
        count=count,
        **{name: getattr(each, name) for name in _COUNTS},
    )


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
