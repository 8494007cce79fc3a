"""The example of replayer/EXPLORER.md: the numbers on the page are those of a run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.scenarios import scenario
from tests.real_engine import Subject, explore, record, require_engine
from tests.scenario_texts import scenario_text

DOCUMENT = Path(__file__).resolve().parents[2] / "replayer" / "EXPLORER.md"
ROW = re.compile(
    r"^\| `(read-driven|read-driven --no-remember|exhaustive)` \| (\d) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$",
    re.MULTILINE,
)
#: One update in place under an undo log.
SCENARIO = scenario_text(
    "example",
    "patterns",
    'op = "update", keys = [1]',
    before='op = "insert", from = 1, to = 1',
    config='pattern = "undo_log"\ncapacity = 1',
    pool='size = "64KiB"',
)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_engine()
    if not (paths.library_dir() / "libpowercut-patterns.so").is_file():
        pytest.skip("libpowercut-patterns.so: not built")
    folder = tmp_path_factory.mktemp("explorer-doc")
    path = folder / "example.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return record(Subject(scenario=scenario.load(path), target="patterns", variant=None), folder)


@pytest.mark.parametrize(
    "row", ROW.findall(DOCUMENT.read_text(encoding="utf-8")), ids=lambda row: f"{row[0].replace(' --', '-')}-{row[1]}"
)
def test_example_has_the_numbers_of_the_page(trace: Path, row: tuple[str, ...]) -> None:
    run, nested, *expected = row
    strategy, *options = run.split()
    result = explore(trace, "--nested", nested, *options, strategy=strategy).result
    measured = [result[name] for name in ("crash_states", "executions", "queries", "query_runs")]
    assert [str(number) for number in measured] == expected
    assert (result["verdict"], result["coverage"]["kind"]) == ("consistent", "complete")


def test_page_has_the_table() -> None:
    assert len(ROW.findall(DOCUMENT.read_text(encoding="utf-8"))) == 9


@pytest.mark.parametrize("nested", ["0", "1", "2"])
def test_all_runs_write_the_same_results(trace: Path, nested: str) -> None:
    read_driven = explore(trace, "--nested", nested, dump=True)
    assert read_driven.dump == explore(trace, "--nested", nested, "--no-remember", dump=True).dump
    assert read_driven.dump == explore(trace, "--nested", nested, strategy="exhaustive", dump=True).dump
