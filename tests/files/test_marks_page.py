"""The programs in six languages of docs/files-marks.md mark what the page says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.files import calls as files_calls
from powercut.files import record as files_record
from tests.docs.typed_pages import blocks
from tests.real_engine import require_engine

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {
    block.title: block.text
    for block in blocks((ROOT / "docs" / "files-marks.md").read_text(encoding="utf-8"))
    if block.title is not None and block.title.lower().startswith("mark.")
}
COMPILERS = {
    "mark.c": ["clang-19", f"-I{ROOT / 'targets' / 'include'}", "mark.c", "-o", "program"],
    "mark.go": ["go", "build", "-o", "program", "mark.go"],
    "mark.rs": ["rustc", "mark.rs", "-o", "program"],
}
COMMANDS = {"mark.py": [sys.executable, "mark.py"], "mark.js": ["node", "mark.js"], "Mark.java": ["java", "Mark.java"]}
#: `make setup` installs no others.
AT_HAND = ("mark.c", "mark.py")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in AT_HAND else pytest.mark.long) for name in PROGRAMS]
)
def test_the_lines_of_each_language_mark(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_engine()
    tool = (COMPILERS.get(name) or COMMANDS[name])[0]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(PROGRAMS[name], encoding="utf-8")
    (folder := tmp_path / "data").mkdir()
    if name in COMPILERS:
        go = {"GOCACHE": str(tmp_path / "go"), "GO111MODULE": "off"}
        subprocess.run(COMPILERS[name], check=True, env=os.environ | go)
    found = files_record.record(COMMANDS.get(name, ["./program"]), folder, tmp_path / "run.pct")
    assert found.status == 0
    marked = [
        record.line()
        for record in files_calls.records(paths.engine(), tmp_path / "run.pct")
        if isinstance(record, files_calls.Mark)
    ]
    assert marked == ["begin insert key value", "end OK"]


def test_the_page_has_six_languages() -> None:
    assert set(PROGRAMS) == {*COMPILERS, *COMMANDS}
