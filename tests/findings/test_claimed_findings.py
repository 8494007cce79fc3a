"""The findings that a page claims are found: the example of the target ABI, with each line left out that it names.

`test_docs.py` types the commands of pages, `test_new_target.py` and `test_examples.py` those of READMEs; here are the
claims that stand in a code block.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from tests.real_engine import require_engine

pytestmark = pytest.mark.slow

PAGE = paths.home() / "targets" / "ABI.md"
CLAIM = re.compile(r"/\* without this line: ([\w-]+) \*/")
(EXAMPLE,) = re.findall(
    r"^## A small target\n.*?^```c\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
)
LINES = EXAMPLE.splitlines()
CLAIMS = [(number, match[1]) for number, line in enumerate(LINES) if (match := CLAIM.search(line))]


def compiled(lines: list[str], folder: Path) -> Path:
    source, library = folder / "slots.c", folder / "libslots.so"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = ["cc", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", str(source), "-o", str(library)]
    assert main(command) == ExitCode.CLEAN
    return library


def test_the_page_makes_claims() -> None:
    assert {invariant for _, invariant in CLAIMS} == {"torn-value", "lost-item", "phantom-item"}


def test_the_example_is_clean(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    require_engine()
    library = compiled(LINES, folder)
    capfd.readouterr()
    assert main(["run", str(library), "--scenario", "map_*", "--json"]) == ExitCode.CLEAN
    told = json.loads(capfd.readouterr().out)
    assert [run["scenario"] for run in told["runs"]] == ["map_erase", "map_insert"]
    assert {item["scenario"]: item["needs"] for item in told["not_applicable"]} == {
        "map_churn": "update",
        "map_sizes": "keys and values of mixed sizes",
        "map_update": "update",
    }


@pytest.mark.parametrize(("number", "invariant"), CLAIMS, ids=[invariant for _, invariant in CLAIMS])
def test_a_line_that_is_left_out_is_missed(
    number: int, invariant: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    require_engine()
    library = compiled([*LINES[:number], *LINES[number + 1 :]], folder)
    capfd.readouterr()
    command = ["run", str(library), "--scenario", "map_erase", "--scenario", "map_insert", "--nested", "0"]
    assert main([*command, "--budget", "60s", "--explain", "0", "--json"]) == ExitCode.FINDINGS
    told = json.loads(capfd.readouterr().out)
    assert invariant in {finding["invariant"] for run in told["runs"] for finding in run["findings"]}
