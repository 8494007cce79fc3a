"""Reads and writes of the medium: how volumes are made, and held against the paper's bounds."""

import pytest

from powercut.cost import media
from powercut.cost.media import Volume
from powercut.cost.operation_costs import Counts, Measured, Operation
from powercut.scenarios import catalog


def operation(kind: str, *, read: int, written: int, code: str = "OK") -> Operation:
    counts = Counts(blocks_read=read, blocks=written)
    return Operation(index=0, kind=kind, key="1", items=1, counts=counts, code=code)


def test_volumes_are_means_of_operations_that_did_their_work() -> None:
    found = media.by_operation(
        Measured(
            operations=[
                operation("insert", read=1, written=2),
                operation("insert", read=2, written=2),
                operation("insert", read=9, written=9, code="FULL"),
                operation("lookup", read=1, written=0),
                operation("lookup", read=3, written=0, code="NOT_FOUND"),
            ],
            item_bytes=16,
        )
    )
    assert found == {
        "insert": Volume(read=1.5, written=2),
        "lookup that finds its key": Volume(read=1, written=0),
        "lookup that finds nothing": Volume(read=3, written=0),
    }


@pytest.mark.parametrize(
    ("figure", "operation", "scheme", "ratio", "reproduced"),
    [
        ("Fig. 6f", "insert", "DASH16 over TURBO16", 1.44, True),
        ("Fig. 6f", "insert", "DASH16 over TURBO16", 1.46, False),
        ("Fig. 6f", "insert", "CLEVEL30 over TURBO30", 4.4, False),
        ("Fig. 8, left", "insert", "CLEVEL30 over TURBO30", 2.1, True),
        ("Fig. 6g", "lookup that finds its key", "CCEH16 over TURBO16", 1.0, False),
        ("Fig. 6j", "erase", "CLEVEL30 over TURBO30", 1.01, True),
    ],
)
def test_a_ratio_is_held_against_the_papers_bound(
    figure: str, operation: str, scheme: str, ratio: float, reproduced: bool
) -> None:
    kinds = {claim.operation for claim in media.CLAIMS}
    volumes = {
        name: {kind: Volume(read=ratio if name.upper() == scheme.split()[0] else 1.0, written=0) for kind in kinds}
        for name in ("turbo16", "turbo30", "cceh16", "dash16", "clevel30", "cceh30", "clht30")
    }
    rows = {row["figure"]: row for row in media.rows(volumes)}
    row = rows[f"{figure}: I/O of {scheme}, {operation}"]
    assert (row["measured"], row["reproduced"]) == (ratio, reproduced)


def test_every_scheme_of_the_claims_has_its_scenario() -> None:
    names = {name for claim in media.CLAIMS for name in (claim.scheme, claim.base)}
    assert {item.name for item in catalog.matching("media_*", measurements=True)} == {f"media_{name}" for name in names}
    assert media.measure("level") == [], "the rows are TurboHash's"
