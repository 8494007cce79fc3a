"""The long workloads: which there are, and that their tables hold what is put into them."""

import pytest

from powercut.scenarios import catalog
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.steps import MixStep

OPERATIONS = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}
MIXES = ("load", "a", "b", "c", "d", "f")
UNIFORM = {f"ycsb-{mix}-uniform-10k" for mix in "abcf"}
#: Slots for each top bucket: two levels of 4-slot buckets.
SLOTS = 6
#: Level hashing inserts without expanding up to a load of some 80 %.
FULL = 0.7
#: Bytes for each top bucket, one and a half buckets of two lines, rounded up.
POOL_BYTES = 256


def long_scenarios() -> list[Scenario]:
    return catalog.matching("ycsb-*")


def test_every_mix_has_every_length() -> None:
    names = {item.name for item in long_scenarios()}
    assert names == {f"ycsb-{mix}-{size}" for mix in MIXES for size in OPERATIONS} | UNIFORM
    assert names.isdisjoint(item.name for item in catalog.core("level"))


@pytest.mark.parametrize("item", long_scenarios(), ids=lambda item: item.name)
def test_the_table_holds_its_records(item: Scenario) -> None:
    content = item.content
    assert content.config["search"] == "static"
    assert content.config["auto_expand"] == "off"
    inserted = 0.0
    for phase in content.phases:
        (step,) = phase.steps
        assert isinstance(step, MixStep)
        inserted += step.operations * step.insert
        if phase.explore:
            assert step.operations == OPERATIONS[item.name.rpartition("-")[2]]
    top = content.config["top"]
    assert isinstance(top, int)
    assert inserted <= FULL * SLOTS * top
    assert content.pool.size == POOL_BYTES * top
