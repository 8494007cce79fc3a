"""Programs of others that keep their data in a folder (docs/examples/files), typed as their pages say.

Each run of a page is a row of the table of README.md there. The pages themselves show the calls to blame.

`make setup-languages` installs what a machine lacks: LevelDB, and the compilers. Cargo fetches the crates.
"""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import lmdb
import pytest

from powercut.base import paths
from powercut.cli.main import main
from powercut_records.run import RunRecord
from tests.docs.typed_pages import Typist, indented_steps
from tests.real_engine import require_engine

EXAMPLES = paths.home() / "docs" / "examples" / "files"
#: Each run of a page, in its order, and the row of the table that it is. None: the page alone tells of it.
RUNS: dict[str, list[str | None]] = {
    "atomic-write-file": ["atomic-write-file 0.1.4", "atomic-write-file 0.3.1"],
    "atomicwrites": ["python-atomicwrites 1.4.1", "a temporary file that is renamed and not synced"],
    "bbolt": ["bbolt 1.3.6", "its first four pages"],
    "git": ["git 2.39.5, its defaults", *["the same with `core.fsync=all`"] * 3],
    "leveldb": ["LevelDB 1.23"] * 2,
    "lmdb": ["LMDB 0.9.36", "the same with `sync=False`"],
    "sled": ["sled 0.34.7"],
    "sqlite": [
        "SQLite 3.40.1, its defaults",
        "the same with `synchronous=EXTRA`",
        "a WAL with `synchronous=FULL`",
        "the same with `NORMAL`",
        None,
        "a journal with `synchronous=OFF`",
    ],
}
#: Tools that build a page's programs, beside Python.
TOOLS = {"atomic-write-file": "cargo", "bbolt": "go", "git": "git", "leveldb": "make", "sled": "cargo"}


def table() -> dict[str, dict[str, str]]:
    """The rows of the first table of README.md, without their links: what each file system does to a program."""
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", (EXAMPLES / "README.md").read_text())
    first = text[text.index("\n|") :].strip().split("\n\n")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in first.splitlines()]
    (_, *systems), _, *rows = lines
    return {name: {system.lower(): cell for system, cell in zip(systems, cells, strict=True)} for name, *cells in rows}


def seen(record: RunRecord) -> dict[str, str]:
    """The row that a run came to. A bug counts under each file system on which a tree shows it."""
    row: dict[str, str] = {}
    for result in record.profiles:
        kinds = {
            finding.invariant
            for finding in record.findings
            if finding.files is not None and result.profile in finding.files.under
        }
        if not kinds:
            row[result.profile] = "clean" if (result.verdict, result.complete) == ("consistent", True) else "unknown"
        else:
            assert result.verdict == "inconsistent", result
            row[result.profile] = "lost" if kinds == {"lost-item"} else "damaged"
    return row


def only_record(folder: Path) -> RunRecord:
    """The record of the one run in this folder, which is then as before it."""
    (file,) = (folder / ".powercut" / "runs").glob("*.json")
    record = RunRecord.model_validate(json.loads(file.read_text()))
    shutil.rmtree(folder / ".powercut")
    return record


def require(page: str) -> None:
    require_engine()
    tool = TOOLS.get(page)
    if tool is not None and shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed: 'make setup-languages' installs it")
    if page == "leveldb" and not Path("/usr/include/leveldb/c.h").exists():
        pytest.skip("libleveldb-dev is not installed: 'make setup-languages' installs it")


@pytest.mark.slow  # Python starts twenty times and more
def test_a_package_saves_whole_files_and_four_lines_do_not(folder: Path) -> None:
    (folder / "data").mkdir()
    python = f"{sys.executable} {EXAMPLES / 'atomicwrites' / 'settings.py'}"
    for how, ended, row in (("", 0, "clean"), ("by-hand", 1, "damaged")):
        commands = ["--setup", f"{python} setup data", "--record", f"{python} run data {how}"]
        given = ["run", "--files", "data", *commands, "--recover", f"{python} check data", "--fs", "ext4"]
        assert main([*given, "--explain", "0"]) == ended
        record = only_record(folder)
        assert seen(record) == {"ext4": row}
        for finding in record.findings:
            assert finding.files is not None
            assert 'rename("settings.json.tmp" -> "settings.json")' in finding.files.sentence
            assert 'the data of "settings.json.tmp"' in finding.files.sentence


@pytest.mark.long
@pytest.mark.parametrize("page", RUNS)
def test_a_page_is_typed_and_its_runs_are_rows_of_the_table(page: str, tmp_path: Path) -> None:
    require(page)
    place = tmp_path / page
    shutil.copytree(EXAMPLES / page, place)
    typist = Typist(place)
    row_of = iter(RUNS[page])
    came_to: dict[str, dict[str, str]] = {name: {} for name in RUNS[page] if name is not None}
    for step in indented_steps((place / "README.md").read_text()):
        typist.type(step)
        if " run --files " not in step.command:
            continue
        record, name = only_record(place), next(row_of)
        if name is not None:
            came_to[name] |= seen(record)
    typist.end()
    assert list(row_of) == []
    assert came_to == {name: table()[name] for name in came_to}


def test_every_row_of_the_table_is_a_run_of_a_page() -> None:
    assert set(table()) == {name for names in RUNS.values() for name in names if name is not None}
    assert sorted(RUNS) == sorted(page.parent.name for page in EXAMPLES.glob("*/README.md"))


def title(page: str) -> str:
    return (EXAMPLES / page / "README.md").read_text().splitlines()[0]


def test_pages_name_the_versions_that_are_typed() -> None:
    assert title("atomicwrites") == f"# python-atomicwrites {version('atomicwrites')}"
    assert title("sqlite") == f"# SQLite {sqlite3.sqlite_version}"
    assert title("lmdb") == f"# LMDB {'.'.join(map(str, lmdb.version()))}"
    assert f" {version('lmdb')}, which brings this LMDB" in " ".join(
        (EXAMPLES / "lmdb" / "README.md").read_text().split()
    )


@pytest.mark.long  # not every machine has these packages
@pytest.mark.parametrize(
    ("page", "package"), [("bbolt", "golang-github-coreos-bbolt-dev"), ("git", "git"), ("leveldb", "libleveldb-dev")]
)
def test_pages_name_the_versions_of_the_distribution(page: str, package: str) -> None:
    require(page)
    query = ["dpkg-query", "-W", "-f", "${source:Upstream-Version}", package]
    assert title(page).endswith(f" {subprocess.run(query, check=True, capture_output=True, text=True).stdout}")
