"""Minimising the operations of a program on a folder that are lines of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.program.program_mode import Kv
from tests.real_engine import require_engine

#: Each line is a file and its contents: `NAME TEXT`. A name that begins with `sealed` is saved by a rename, and a line
#: `careful` lets later ones be synced before.
PROGRAM = """
import os, sys

verb, folder = sys.argv[1:3]
if verb == "run":
    careful = False
    for line in open(sys.argv[3]):
        name, _, text = line.strip().partition(" ")
        if name == "careful":
            careful = True
            continue
        with open(f"{folder}/{name}.tmp", "w") as file:
            file.write(text)
            file.flush()
            if careful or not name.startswith("sealed"):
                os.fsync(file.fileno())
        os.rename(f"{folder}/{name}.tmp", f"{folder}/{name}")
        os.fsync(os.open(folder, os.O_RDONLY))
for name in os.listdir(folder):
    text = open(f"{folder}/{name}").read()
    if not name.endswith(".tmp") and not text.startswith("text"):
        sys.exit(f"damaged: {name}")
"""


@pytest.fixture
def kv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kv:
    require_engine()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "store.py").write_text(PROGRAM)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine").write_text("text of the user's")
    return Kv(tmp_path, monkeypatch, capsys)


def found(kv: Kv, lines: list[str]) -> Path:
    """The file of the first finding of a run on these lines."""
    (kv.folder / "lines").write_text("".join(f"{line}\n" for line in lines))
    words = ["--record", "python3 -S store.py run data lines", "--ops-file", "lines"]
    words += ["--recover", "python3 -S store.py check data", "--files", "data", "--fs", "xfs"]
    answer = kv.cli("run", *words, "--format", "text", "--explain", "0", "--json")
    assert answer.code == 1, answer
    return Path(answer.run["findings"][0]["file"])


@pytest.mark.long
def test_a_bug_of_one_of_several_lines_comes_to_this_one(kv: Kv) -> None:
    file = found(kv, ["a text", "sealed text", "careful", "sealed2 text"])
    answer = kv.cli("minimise", str(file), "--json")
    assert answer.code == 1, answer
    told = json.loads(answer.out)
    assert [item["text"] for item in told["minimal"]["operations"]] == ["sealed text"]
    assert (told["minimal"]["operations_before"], told["minimal"]["complete"]) == (4, True)
    assert file.with_suffix(".ops").read_text() == "sealed text\n"
    assert [path.name for path in (kv.folder / "data").iterdir()] == ["mine"]
    # The smallest case is reproduced, and one that is mended is clean.
    assert kv.cli("minimise", str(file), "--out", "kept").code == 1
    (kept,) = (kv.folder / "kept" / "findings").glob("*.json")
    assert kv.cli("reproduce", str(kept)).code == 1
    (kv.folder / "lines").write_text("careful\nsealed text\n")
    assert kv.cli("minimise", str(file)).code == 0


def test_a_program_without_a_file_of_operations_is_refused(kv: Kv) -> None:
    (kv.folder / "lines").write_text("sealed text\n")
    words = ["--record", "python3 -S store.py run data lines", "--recover", "python3 -S store.py check data"]
    answer = kv.cli("run", *words, "--files", "data", "--fs", "xfs", "--explain", "0", "--format", "text", "--json")
    file = answer.run["findings"][0]["file"]
    assert "as a file, with --ops-file FILE" in kv.refused("minimise", file)
