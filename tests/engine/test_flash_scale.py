"""The cost of exploring a table on flash, in runs: a page costs as much as may have changed with it, and no more.

Counts of runs stand for time, which tests share their machine for. The eager reference, which asks everything
everywhere, shows that nothing is left out.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from powercut.scenarios.scenario import Scenario
from tests.real_engine import Exploration, Subject, explore, record
from tools.bench import flash

pytestmark = pytest.mark.usefixtures("real_engine")

ON_FLASH = ("--model", "flash", "--nested", "1")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(subject(flash.case(increments=60, sync_every=20)), tmp_path_factory.mktemp("flash"))


def subject(scenario: Scenario) -> Subject:
    return Subject(scenario=scenario, target="mdb_l", variant="hardened")


@pytest.fixture(scope="module")
def fast(trace: Path) -> Exploration:
    return explore(trace, *ON_FLASH, dump=True)


def test_all_answers_are_those_of_the_reference(trace: Path, fast: Exploration) -> None:
    eager = explore(trace, *ON_FLASH, strategy="exhaustive", dump=True)
    assert fast.dump is not None
    assert fast.dump == eager.dump
    assert len(fast.dump.splitlines()) > 1000
    assert fast.result["verdict"] == "consistent"
    assert fast.result["coverage"]["kind"] == "complete"


def test_a_counter_has_one_probe(fast: Exploration) -> None:
    assert fast.dump is not None
    kinds = Counter(line.split()[2].partition("(")[0] for line in fast.dump.splitlines())
    assert kinds["probe"] > 0
    assert kinds["erase-probe"] == 0, "it would do the same: a counter has no update"


def test_few_keys_are_asked_again(trace: Path) -> None:
    """A lookup that changed anything, or read what open counts, would be asked at every leaf, and its bystander too."""
    result = explore(trace, *ON_FLASH).result
    assert result["queries"] > 30 * result["executions"]
    assert result["query_runs"] < 0.45 * result["queries"]


def test_all_code_is_instrumented(fast: Exploration) -> None:
    """Code that is not may store to the heap unseen: then all memory is compared after each execution."""
    calls = fast.result["not_checked"]["uninstrumented_calls"]
    assert [call for call in calls if "std::exception" not in call] == []
