"""Reads of the medium behind a cache, and phases of threads, as `powercut cost` counts them."""

from typing import Any

import pytest

from powercut.base.errors import UsageError
from powercut.cost import operation_costs
from powercut.scenarios import catalog, plan, targets


def test_a_cache_takes_reads_from_the_medium(real_engine: None) -> None:
    (scenario,) = catalog.matching("path_insert")
    wanted = plan.build(targets.find("path"), variant="hardened", scenario=scenario, seed=1)
    cold, warm = (
        operation_costs.total(operation_costs.measure(wanted, cached_lines=lines).of("insert")) for lines in (0, 10_000)
    )
    assert cold.lines_read == warm.lines_read
    assert 0 < warm.blocks_read < cold.blocks_read <= cold.lines_read


def test_threads_are_counted_in_turn(real_engine: None) -> None:
    (scenario,) = catalog.matching("threads-ycsb-3-a")
    wanted = plan.build(targets.find("cceh"), variant="hardened", scenario=scenario, seed=1)
    measured = operation_costs.measure(wanted)
    assert [item.kind for item in measured.operations if item.kind in ("update", "lookup")] == [
        "update", "update", "lookup",
    ]  # fmt: skip
    assert operation_costs.total(measured.operations).lines_read > 0
    assert wanted["target"]["options"] == {"concurrency": "concurrent"}, "with its locks"


def test_threads_that_choose_have_no_cost() -> None:
    phase: dict[str, Any] = {"name": "race", "threads": [[{"any": [{"op": "insert"}]}], [{"op": "lookup"}]]}
    with pytest.raises(UsageError, match="a cost is that of one choice"):
        operation_costs.in_turn({"scenario": {"name": "x", "phases": [phase]}})
