"""Every map has YCSB, and every map that threads may use has scenarios with threads."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from powercut.scenarios import catalog, targets
from powercut.scenarios.plan import option_values
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.steps import KeyStep, MaintainStep, MixStep
from powercut.scenarios.targets import Target

pytestmark = pytest.mark.usefixtures("real_engine")

#: Shares of reads, updates, inserts and read-modify-writes. E is left out: it scans ranges, and no scheme has scans.
MIXES = {
    "load": (0.0, 0.0, 1.0, 0.0),
    "a": (0.5, 0.5, 0.0, 0.0),
    "b": (0.95, 0.05, 0.0, 0.0),
    "c": (1.0, 0.0, 0.0, 0.0),
    "d": (0.95, 0.0, 0.05, 0.0),
    "f": (0.5, 0.0, 0.0, 0.5),
}
#: Load inserts fresh keys, and D reads the latest: no other distribution is theirs.
DISTRIBUTIONS = {"load": ("fresh",), "d": ("latest",)} | dict.fromkeys("abcf", ("zipfian", "uniform"))
WORKLOADS = {(mix, distribution) for mix in MIXES for distribution in DISTRIBUTIONS[mix]}
LONG = 10_000
#: Operations of each mix, in threads: a thread takes no mix, so that its operations are written out.
OF_THREADS = {
    "load": {"insert"},
    "a": {"lookup", "update"},
    "b": {"lookup", "update"},
    "c": {"lookup"},
    "d": {"lookup", "insert"},
    "f": {"lookup", "update"},
}


@dataclass(frozen=True)
class Resizes:
    """Core scenarios of a scheme: a resize beside a reader and a writer, and two threads that both resize."""

    beside: str
    both: str


#: None: the scheme does not resize, and any core scenario with threads will do.
THREADS = {
    "cceh": Resizes("cceh_threads_split_update", "cceh_threads_double_both"),
    "clevel": Resizes("clevel_threads_expand", "clevel_threads_expand_both"),
    "cmap": Resizes("cmap_threads_grow", "cmap_threads_grow_both"),
    "constructions": None,
    "dash": Resizes("dash_threads_split_update", "dash_threads_double_both"),
    "dash_lh": Resizes("dash_lh_threads_expand_update", "dash_lh_threads_expand_both"),
    "level": Resizes("level_threads_expand", "level_threads_expand_both"),
    "libcuckoo": Resizes("libcuckoo_threads_expand", "libcuckoo_threads_expand_both"),
    "montage": None,
    "pclht": Resizes("pclht_threads_expand", "pclht_threads_expand_both"),
    "turbohash": Resizes("turbohash_threads_expand", "turbohash_threads_expand_both"),
}


#: Threads need another option as well, which no scenario for every map can say. Own scenarios have it.
OF_A_PORT = {"level_ptr": "port"}


def maps() -> Iterator[Target]:
    """The schemes that store items: no counters, and no raw device."""
    for name in targets.libraries():
        target = targets.find(name)
        stores = {"insert", "update", "lookup"} <= set(target.description.operations)
        if name not in targets.SELF_TEST_TARGETS and target.description.device is None and stores:
            yield target


def concurrent() -> dict[str, dict[str, str]]:
    """The maps that threads may use, with the options that this takes."""
    found: dict[str, dict[str, str]] = {}
    for target in maps():
        if target.name in OF_A_PORT:
            continue
        if "concurrent" in option_values(target.description).get("concurrency", []):
            found[target.name] = {"concurrency": "concurrent"}
        elif (target.description.traits or {}).get("thread_safe"):
            found[target.name] = {}
    return found


def mix_of(item: Scenario) -> tuple[str, str, int] | None:
    """The mix, the distribution and the number of operations, if the explored part of a scenario is one of YCSB."""
    explored = [phase for phase in item.content.phases if phase.explore]
    if len(explored) != 1 or len(explored[0].steps) != 1 or not isinstance(explored[0].steps[0], MixStep):
        return None
    step = explored[0].steps[0]
    shares = (step.read, step.update, step.insert, step.rmw)
    for mix, expected in MIXES.items():
        if shares == expected:
            return mix, "fresh" if mix == "load" else step.distribution, step.operations
    return None


def workloads(target: str, *, core: bool, options: dict[str, str] | None = None) -> set[tuple[str, str]]:
    """YCSB of a target: core scenarios, or those of 10^4 operations; with these options, if some are asked for."""
    found = set()
    for item in catalog.everything():
        mix = mix_of(item) if item.fits(target) else None
        fits = options is None or options.items() <= item.content.config.items()
        if mix and fits and (item.content.core if core else mix[2] == LONG):
            found.add(mix[:2])
    return found


def test_every_map_has_ycsb_short_and_long() -> None:
    for target in maps():
        assert workloads(target.name, core=True) >= WORKLOADS, f"{target.name}: core scenarios (scenarios/ycsb.toml)"
        assert workloads(target.name, core=False) >= WORKLOADS, f"{target.name}: 10^4 operations (scenarios/ycsb.toml)"


def test_every_concurrent_map_has_ycsb_for_two_and_three_threads() -> None:
    page = "scenarios/ycsb_threads.toml"
    known = {
        (target, *item.name.removeprefix("threads-ycsb-").partition("-")[::2]): item
        for item in catalog.matching("threads-ycsb-*")
        for target in item.content.targets
    }
    for target, options in concurrent().items():
        assert workloads(target, core=False, options=options) >= WORKLOADS, f"{target} with locks: {page}"
        for count in ("2", "3"):
            for mix, distribution in WORKLOADS:
                item = known.get((target, count, mix + ("-uniform" if distribution == "uniform" else "")))
                assert item, f"{target}: {count} threads, {mix}, {distribution}: {page}"
                assert item.content.race and len(item.content.race.threads) == int(count)
                assert operations(item) <= OF_THREADS[mix], f"{item.name}: {page}"


def operations(item: Scenario) -> set[str]:
    """Names of the operations of all threads."""
    threads = item.content.race.threads if item.content.race else []
    return {step.op for thread in threads for step in thread if isinstance(step, KeyStep | MaintainStep)}


def test_every_concurrent_map_has_core_scenarios_with_threads() -> None:
    assert set(THREADS) == set(concurrent()), "the table of this file: a scheme, and its scenarios with threads"
    for target, resizes in THREADS.items():
        own = {
            item.name: item
            for item in catalog.core(target)
            if item.content.targets == [target] and item.content.race is not None
        }
        assert own, f"scenarios/{target}.toml: a core scenario with threads"
        if resizes is None:
            continue
        assert {resizes.beside, resizes.both} <= set(own), f"scenarios/{target}.toml: core"
        beside, both = own[resizes.beside], own[resizes.both]
        assert beside.content.race and len(beside.content.race.threads) == 3
        assert "lookup" in operations(beside) and operations(beside) & {"update", "insert", "erase"}
        for item in (beside, both):
            assert "maintain" in operations(item) or item.content.expect_marks, f"{item.name}: nothing resizes"


def test_ports_have_threads_of_their_own() -> None:
    for target, option in OF_A_PORT.items():
        own = [item.content for item in catalog.core(target) if item.content.race is not None]
        assert own and all(option in content.config for content in own), f"scenarios/{target}.toml"


def test_clevel_has_two_rehashing_threads() -> None:
    counts = [item.content.config.get("rehash_threads") for item in catalog.core("clevel") if item.content.race]
    assert 2 in counts
