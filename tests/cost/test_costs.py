"""What operations cost, counted on the real engine."""

import pytest

from powercut.cost import costs
from tests.real_engine import require_engine

pytestmark = pytest.mark.slow


def test_costs_of_level_are_those_of_its_protocol() -> None:
    require_engine()
    measured = {cost.operation: cost for cost in costs.measure("level")}
    assert set(measured) == {*costs.OPERATIONS, costs.RESIZE}
    lookup, erase = measured["lookup"], measured["erase"]
    assert (lookup.stores, lookup.flushes, lookup.fences) == (0, 0, 0)
    assert 1 < lookup.lines_read < 9, "four buckets of two lines and a header each, and the root"
    # One token, written back once (OSDI 2018, section 3.3(1)).
    assert (erase.stores, erase.lines, erase.blocks, erase.flushes, erase.fences) == (1, 1, 1, 1, 1)
    assert measured["insert"].flushes > 2, "the item, its token, and a share of the resizes"
    assert erase.latency(600) == erase.lines_read * 200 + 600
    resize = measured["resize"]
    assert resize.count == 5222, "per item: 0.85 of 6,144 places"
    assert 0 < resize.flushes < 2, "a third of the items move, with a flush of the item and two of tokens"
