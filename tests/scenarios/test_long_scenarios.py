"""The long workloads: which there are, and that their tables hold what is put into them."""

import pytest

from powercut.scenarios import catalog
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.steps import MixStep

OPERATIONS = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}
MIXES = ("load", "a", "b", "c", "d", "f")
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
    assert names == {f"ycsb-{mix}-{size}" for mix in MIXES for size in OPERATIONS}
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


def test_every_map_has_every_mix_short_and_long() -> None:
    distributions = [f"{mix}{suffix}" for mix in "abcf" for suffix in ("", "-uniform")] + ["load", "d"]
    short = {f"map-ycsb-{name}" for name in distributions}
    known = {item.name: item.content for item in catalog.matching("map-ycsb-*", measurements=True)}
    assert known.keys() == short | {f"{name}-10k" for name in short}
    for name, content in known.items():
        assert content.core == (name in short)
        assert (content.purpose == "measurement") != content.core
        assert "level" not in content.targets, "Level hashing has its own"
    assert {item.name for item in catalog.matching("map-ycsb-*")} == short, "a glob leaves out what is to be counted"


def test_threads_have_every_mix() -> None:
    known = {item.name: item.content for item in catalog.matching("threads-ycsb-*")}
    assert known.keys() == {f"threads-ycsb-{n}-{mix}" for n in (2, 3) for mix in MIXES} | {"threads-ycsb-2-a-uniform"}
    for name, content in known.items():
        (race,) = (phase for phase in content.phases if phase.threads)
        assert len(race.threads) == int(name.split("-")[2])
        assert content.config == {"concurrency": "concurrent"}
