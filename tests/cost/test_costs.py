"""Costs of operations, counted on the real engine."""

import pytest

from powercut.cost import costs
from tests.real_engine import require_engine


@pytest.mark.slow
def test_costs_of_level_are_those_of_its_protocol() -> None:
    require_engine()
    every = costs.measure("level")
    measured = {cost.operation: cost for cost in every if cost.variant == "hardened"}
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
    late = {cost.operation: cost for cost in every if cost.options.get("movement") == "late"}
    assert set(late) == {*costs.OPERATIONS, costs.RESIZE, costs.RESIZE_ZEROED}
    # An expansion of 1,024 buckets allocates 2,048, and nothing else of it holds zeroes alone.
    flushes = (late["resize"].flushes - late[costs.RESIZE_ZEROED].flushes) * resize.count
    assert round(flushes) == 2048 and late["resize"].fences == late[costs.RESIZE_ZEROED].fences
    # The order of an insert decides what it reads: `eager` looks for an item to move in every full bucket.
    insert = {cost.options.get("movement"): cost.lines_read for cost in every if cost.operation == "insert"}
    assert set(insert) == {None, *costs.MOVEMENTS}
    assert insert["late"] < 5 < 10 < insert["eager"] and insert[None] > 10, "the default is the text's order"


def cost(scheme: str, operation: str, flushes: float, **options: str) -> costs.Cost:
    counts = dict.fromkeys(("stores", "nt_stores", "lines", "blocks", "fences"), 0.0)
    return costs.Cost(
        scheme=scheme, variant="published", scenario="x", operation=operation, count=1, options=options,
        flushes=flushes, lines_read=0.0, **counts,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "scheme", "times", "reproduced"),
    [
        ("insert", "bch", 3.0, False),
        ("insert", "bch", 3.01, True),
        ("insert", "path", 1.41, True),
        ("update", "pfht", 1.19, False),
        ("update", "pfht", 1.2, True),
        ("update", "pfht", 2.11, False),
        ("lookup", "bch", 1.0, False),
        ("lookup", "path", 1.01, True),
        ("erase", "bch", 9.0, None),
        ("erase", "pfht", 1.0, False),
        ("resize into zeroed memory", "path", 4.3, False),
        ("resize into zeroed memory", "path", 4.31, True),
    ],
)
def test_a_ratio_is_held_against_the_papers_bound(
    operation: str, scheme: str, times: float, reproduced: bool | None
) -> None:
    measured = [
        cost("level", operation, 1.0, movement="late"),
        cost("level", operation, 100.0, movement="eager"),
        cost(scheme, operation, times),
    ]
    late, eager = costs.ratios(measured)
    assert (late["level"], late["reproduced"]) == ("movement=late", reproduced), "unrounded"
    assert eager["ratios"] == [round(times / 100, 2)] * 3
    assert (late["paper"] is None) == (reproduced is None) and late["note"]


def test_a_ratio_is_judged_at_the_writes_of_its_figure() -> None:
    reading = costs.Cost(**{**vars(cost("level", "insert", 1.0, movement="late")), "lines_read": 1.0})
    (row,) = costs.ratios([reading, cost("bch", "insert", 4.0)])
    assert (row["ratios"], row["reproduced"]) == ([2.0, 3.0, 3.33], False), "over 3.0 is said of writes of 200 ns"
    reading = costs.Cost(**{**vars(cost("path", "insert", 1.0)), "lines_read": 1.0})
    (row,) = costs.ratios([cost("level", "insert", 1.0, movement="late"), reading])
    assert (row["ratios"], row["reproduced"]) == ([2.0, 1.33, 1.2], True), "and over 1.4 of no others"


def test_a_table_on_a_device_has_no_costs(real_engine: None) -> None:
    assert costs.measure("mdb_l") == []
