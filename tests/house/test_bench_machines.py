"""The model of many machines: what it says follows from the costs, whatever they are."""

from __future__ import annotations

import pytest

from tools.bench.machines import CORES, POINTS, Cost, chart, half_at, markdown

COST = Cost(start=0.1, list=2e-7, walk=1e-6, explore=4e-5, merge=2e-6)


def values() -> dict[str, object]:
    rows = [
        {"points": n, "cores": p, "one_trace": COST.one_trace(n, p), "matrix": COST.matrix(n, p)}
        for n in POINTS
        for p in CORES
    ]
    check = [{"processes": many, "seconds": 2.0, "model": COST.ranges(1e5, many, 2)} for many in (1, 2, 4)]
    measured = {"crash_points": 10**5, "events": 10**6, "chunks": 16, "cores": 2, "bytes_a_chunk": 4096}
    return {**measured, "cost": vars(COST), "check": check, "rows": rows}


@pytest.mark.parametrize("points", POINTS)
def test_more_cores_are_faster_and_the_walks_are_the_bound(points: int) -> None:
    times = [COST.one_trace(points, cores) for cores in CORES]
    assert times == sorted(times, reverse=True)
    walks = (COST.list + COST.walk + COST.merge) * points
    assert times[-1] == pytest.approx(COST.one_trace(points, 10**6), rel=0.05)
    assert 0.99 * walks < COST.one_trace(points, 10**6) < 1.01 * walks
    merge = COST.merge * points
    assert merge < COST.matrix(points, 10**9) < 1.1 * merge + 60


def test_more_processes_than_cores_share_them() -> None:
    assert COST.ranges(1e6, 1, 2) == pytest.approx(0.1 + 40)
    assert COST.ranges(1e6, 2, 2) == pytest.approx(0.1 + 0.5 + 20)
    assert COST.ranges(1e6, 4, 2) == pytest.approx((0.4 + 1.5 + 40) / 2)


def test_the_page_says_where_it_stops() -> None:
    rows = [row for row in values()["rows"] if row["points"] == POINTS[0]]  # type: ignore[attr-defined]
    assert half_at(rows, "one_trace") < half_at(rows, "matrix")
    text = markdown(values())
    assert "One trace stops scaling early" in text and "1e+09" in text
    assert chart(values()).startswith("<svg")
