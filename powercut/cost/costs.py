"""Costs of operations on every scheme, for `powercut fidelity`: averages, and ratios to Level hashing.

Counted as `operation_costs` says, in the variant that stands the exploration. A scheme may have a scenario
`<scheme>_costs` of its own, with the conditions of its paper; else `map_costs` is run on its default options, and
inserts include the resizes that they cause. Latencies are those that the paper on Level hashing emulates (`latency`).

Schemes of that paper have a scenario `<scheme>_resize_costs` too: one resize at a load factor of 0.85 (section 4.2.6,
Fig. 15). It is counted per item in the table, since the compared tables hold different numbers of items. These schemes
are counted as `published` as well, and compared with the paper's figures. Their authors' code takes zeroed memory from
an allocator, so a resize is compared without the flushes of lines that hold zeroes alone.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from powercut.base.cores import joined
from powercut.cost import latency, operation_costs
from powercut.scenarios import catalog, plan, targets
from powercut.scenarios.config import configured
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.targets import Target

SCENARIO = "map_costs"
OPERATIONS = ("insert", "lookup", "update", "erase")
RESIZE = "resize"
RESIZE_ZEROED = "resize into zeroed memory"
_LATENCIES = {int(item.write_ns): item for item in latency.PRESETS["osdi18"]}
WRITE_NS = tuple(_LATENCIES)
COMPARED = ("bch", "pfht", "path")
BASE = "level"
PUBLISHED = "published"
#: Level hashing is compared in both orders of an insert. Its authors' code for persistent memory moves an item once all
#: four buckets are full; its text moves an item before going down a level. targets/level/README.md says why the first
#: order is what the paper has measured.
MOVEMENTS = ("late", "eager")
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
    options: Mapping[str, str] = field(default_factory=dict)  # of the target, besides those of the scenario

    @property
    def label(self) -> str:
        """Returns the key of a count: scheme, variant, options."""
        return " ".join((f"{self.scheme}:{self.variant}", *(f"{key}={value}" for key, value in self.options.items())))

    def latency(self, write_ns: int) -> float:
        """Nanoseconds on memory with this write latency, one of `WRITE_NS`."""
        return _LATENCIES[write_ns].of(self)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """How many times slower than Level hashing a scheme is, in section 4.2 of its paper."""

    operation: str
    scheme: str
    paper: str | None = None  # None: it does not say
    holds: Callable[[float], bool] | None = None
    note: str
    at: tuple[int, ...] = WRITE_NS  # the write latencies that it is said of; without a word, all


def _over(bound: float) -> Callable[[float], bool]:
    return lambda ratio: ratio > bound


def _claims() -> Iterator[Claim]:
    note = "4.2.2, from Fig. 10b, writes of 200 ns; the model takes every line that is read from memory, and no caches"
    for scheme, bound in zip(COMPARED, (3.0, 1.8, 1.4), strict=True):
        yield Claim(operation="insert", scheme=scheme, paper=f"> {bound}", holds=_over(bound), note=note, at=(200,))
    note = "4.2.3, Fig. 11, writes of 600 ns; Level looks for a second copy, and logs every third update"
    for scheme in COMPARED:
        yield Claim(
            operation="update",
            scheme=scheme,
            paper="1.2 to 2.1",
            holds=lambda ratio: 1.2 <= ratio <= 2.1,
            note=note,
            at=(600,),
        )
    yield Claim(
        operation="lookup",
        scheme="bch",
        paper="< 1, close to it",
        holds=lambda ratio: ratio < 1,
        note="4.2.4: BCH's is the lowest, and Level's very close to it; no number",
    )
    note = (
        "no caches in the model: Level's two levels are two places, a stash or a path at 80 to 90 % is a few lines more"
    )
    for scheme in ("pfht", "path"):
        yield Claim(operation="lookup", scheme=scheme, paper="> 1", holds=_over(1), note=f"4.2.4, Fig. 12; {note}")
    yield Claim(operation="erase", scheme="bch", note="4.2.5 says that both are better than the others")
    for scheme in ("pfht", "path"):
        yield Claim(operation="erase", scheme=scheme, paper="> 1", holds=_over(1), note=f"4.2.5, Fig. 14; {note}")
    note = "abstract; 4.2.6 measures it against a traditional resize and calls the others' similar; resize=rehash"
    for scheme in COMPARED:
        yield Claim(operation=RESIZE_ZEROED, scheme=scheme, paper="> 4.3", holds=_over(4.3), note=note)


CLAIMS = tuple(_claims())


def own_scenarios(target: Target, *, resize: bool = True) -> list[Scenario]:
    """The scenarios that a target's costs are counted in, unless others are named."""
    known = {item.name: item for item in catalog.matching("*_costs", measurements=True)}
    found = [known.get(f"{target.name}_costs") or known[SCENARIO]]
    resizing = known.get(f"{target.name}_resize_costs")
    return [*found, resizing] if resizing and resize else found


def measure(scheme: str | None) -> list[Cost]:
    """The costs of one scheme, or of all: in the variant that stands the exploration, and what `ratios` compares."""
    names = [scheme] if scheme else [name for name in targets.libraries() if name not in targets.SELF_TEST_TARGETS]
    return joined(lambda name: _of(targets.find(name)), names)


def _of(target: Target) -> Iterator[Cost]:
    if target.description.device is not None:
        return  # no lines of memory, no flushes of them
    yield from _in(target, target.default_variants[0])
    if target.name == BASE:
        for movement in MOVEMENTS:
            yield from _in(target, PUBLISHED, movement=movement)
    elif target.name in COMPARED:
        yield from _in(target, PUBLISHED)


def _in(target: Target, variant: str, **options: str) -> Iterator[Cost]:
    usual, *resizing = (configured(scenario, options) for scenario in own_scenarios(target))
    measured = operation_costs.measure(plan.build(target, variant=variant, scenario=usual, seed=1))
    for operation in OPERATIONS:
        # A filling ends with an insert that finds no place; its cost is none of an insertion's.
        if found := [item for item in measured.of(operation) if item.code == "OK"]:
            yield _cost(target, variant, options, usual, found, operation=operation, count=len(found))
    for scenario in resizing:
        wanted = plan.build(target, variant=variant, scenario=scenario, seed=1)
        zeroing = {RESIZE: True, RESIZE_ZEROED: False} if variant == PUBLISHED else {RESIZE: True}
        resized = operation_costs.measure_each(wanted, zeroing=list(zeroing.values()))
        for name, measured in zip(zeroing, resized, strict=True):
            resizes = [item for item in measured.operations if item.kind not in OPERATIONS and item.counts.stores]
            items = max((item.items for item in resizes), default=0)
            if items:
                yield _cost(target, variant, options, scenario, resizes, operation=name, count=items)


def _cost(
    target: Target,
    variant: str,
    options: Mapping[str, str],
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
        options=options,
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
    """How much slower others are than Level hashing in the model, beside what its paper says; both as `published`."""
    known = {
        (cost.scheme, cost.operation, cost.options.get("movement")): cost for cost in costs if cost.variant == PUBLISHED
    }
    return [
        {
            "operation": claim.operation,
            "scheme": claim.scheme,
            "paper": claim.paper,
            "ratios": [round(cost.latency(ns) / base.latency(ns), 2) for ns in WRITE_NS],
            "level": f"movement={movement}",
            "reproduced": claim.holds and all(claim.holds(cost.latency(ns) / base.latency(ns)) for ns in claim.at),
            "note": claim.note,
        }
        for movement in MOVEMENTS
        for claim in CLAIMS
        if (base := known.get((BASE, claim.operation, movement)))
        and (cost := known.get((claim.scheme, claim.operation, None)))
    ]
