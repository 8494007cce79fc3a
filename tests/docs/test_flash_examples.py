"""Libraries of others for flash (docs/examples/flash), typed as their pages say; each run is a row of README.md there.

pip and cargo fetch the libraries. `make setup-languages` installs cargo.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.scenarios import catalog, targets
from tests.docs.typed_pages import Typist, indented_steps, shell_environment
from tests.real_engine import require_engine

EXAMPLES = paths.home() / "docs" / "examples" / "flash"
#: Each run of a page, in its order: the library, and what a power cut leaves.
RUNS = {
    "littlefs": [
        ("littlefs 2.4", "any bits of a byte in flight"),
        ("littlefs 2.6", "any bits of a byte in flight"),
        ("littlefs 2.4", "the first bytes of a unit"),
        ("littlefs 2.9.0", "sectors in any order between syncs"),
        ("littlefs 2.9.1", "sectors in any order between syncs"),
    ],
    "sequential-storage": [
        ("sequential-storage 8.0.0", "whole words, and two power cuts"),
        ("sequential-storage 8.0.1", "whole words, and two power cuts"),
    ],
}


def table() -> dict[tuple[str, str], str]:
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", (EXAMPLES / "README.md").read_text(encoding="utf-8"))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {(library, leaves): verdict for library, leaves, _, verdict in rows[2:]}


def copied(page: str, folder: Path) -> Path:
    place = folder / page
    shutil.copytree(EXAMPLES / page, place)
    return place


@pytest.mark.long
@pytest.mark.parametrize("page", RUNS)
def test_a_page_is_typed_and_its_runs_are_rows_of_the_table(page: str, tmp_path: Path) -> None:
    require_engine()
    if page == "sequential-storage" and shutil.which("cargo") is None:
        pytest.skip("cargo is not installed: 'make setup-languages' installs it")
    place = copied(page, tmp_path)
    typist, ended = Typist(place), []
    for step in indented_steps((place / "README.md").read_text(encoding="utf-8")):
        typist.type(step)
        if step.command.startswith("powercut run"):
            ended.append("found" if typist.status == ExitCode.FINDINGS else "clean")
            assert ended[-1] == "found" or "Verdict: consistent, complete" in typist.last
    typist.end()
    assert ended == [table()[row] for row in RUNS[page]]


def test_every_row_of_the_table_is_a_run_of_a_page() -> None:
    assert sorted(table()) == sorted(row for rows in RUNS.values() for row in rows)
    assert sorted(RUNS) == sorted(page.parent.name for page in EXAMPLES.glob("*/README.md"))


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """littlefs 2.9.0 and 2.9.1, as the page builds them."""
    require_engine()
    place = copied("littlefs", tmp_path)
    command = ["make", "--silent", "-j2", "liblittlefs-2.9.0.so", "liblittlefs-2.9.1.so"]
    done = subprocess.run(
        command, cwd=place, env=shell_environment({}), capture_output=True, text=True, check=False, timeout=300
    )
    if done.returncode != 0 and re.search(
        r"No matching distribution|Temporary failure in name resolution", done.stderr
    ):
        pytest.skip("there is no package index from which pip could fetch littlefs")
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    return place


#: Options that no part and no littlefs has, and what is said of them.
BAD = {
    "cache = 24": "littlefs: a cache is of whole units, and a sector is of whole caches.",
    'device = "tape"': "littlefs: the option 'device' is nor or block.",
    "pages = 3": "no option is called 'pages'. The options are sector, unit, again, torn, erase, ecc, device, cache.",
}


@pytest.mark.slow  # fetches and builds littlefs twice
def test_littlefs_commits_metadata_before_its_data(built: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        assert main(["run", str(built / "liblittlefs-2.9.0.so"), "--scenario", "unordered"]) == ExitCode.FINDINGS
        found = capsys.readouterr().out
        assert "ERROR: powercut: torn-value" in found
        assert "Missing order: B before A. Flush (a file: fsync) after B and before A" in found
        fixed = str(built / "liblittlefs-2.9.1.so")
        assert main(["run", fixed, "--scenario", "unordered"]) == ExitCode.CLEAN
        assert "Verdict: consistent, complete: all" in capsys.readouterr().out
        scenario = built / "scenarios" / "littlefs.toml"
        text = scenario.read_text(encoding="utf-8")
        for line, said in BAD.items():
            scenario.write_text(text.replace('device = "block"', line), encoding="utf-8")
            catalog.forget()
            assert main(["run", fixed, "--scenario", "unordered"]) == ExitCode.USAGE, line
            assert said in capsys.readouterr().err
    finally:
        targets.forget()
        catalog.forget()
