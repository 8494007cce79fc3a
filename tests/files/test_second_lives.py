"""`--continue`: the work of a second life, which is cut once more. The bugs themselves are among the pairs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from powercut.cli import main as cli
from tests.files.test_pairs import PAIRS
from tests.real_engine import require_engine


def compiled(name: str, factory: pytest.TempPathFactory) -> Path:
    """A program of the pairs in C."""
    require_engine()
    program = factory.mktemp(name) / name
    subprocess.run(["clang-19", "-O1", "-g", "-o", program, PAIRS / "c" / f"{name}.c"], check=True)
    return program


@pytest.fixture(scope="module")
def receipts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("receipts", tmp_path_factory)


@pytest.fixture(scope="module")
def tally(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("tally", tmp_path_factory)


def run(program: Path, folder: Path, *more: str) -> int:
    data = folder / "data"
    data.mkdir(exist_ok=True)
    words = ["run", "--files", str(data), "--fs", "ext4", "--ack", "^done ", "--out", str(folder / "out")]
    for option, verb in (("--setup", "setup"), ("--record", "run"), ("--recover", "check"), ("--dump", "dump")):
        words += [option, f"{program} {verb} {data}"]
    return cli.main([*words, *more])


def the_finding(folder: Path) -> tuple[Path, dict[str, Any]]:
    (path,) = (folder / "out" / "findings").glob("*.json")
    return path, json.loads(path.read_text(encoding="utf-8"))


def test_a_finding_tells_both_lives_and_holds_when_it_is_made_again(
    receipts: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(receipts, tmp_path, "--continue", f"{receipts} continue {tmp_path / 'data'}") == 1
    path, finding = the_finding(tmp_path)
    inner = finding["files"]["inner"]
    assert (finding["invariant"], inner["life"], inner["of_recovery"]) == ("lost-item", 2, 2)
    assert [call["text"].split(",")[0] for call in inner["calls"]] == ['write "balance"', 'sync "balance"'] * 2
    printed = capfd.readouterr().out
    assert "Second life, cut after its call 4; the first 2 calls are recovery's:" in printed
    assert f"Second life: {receipts} continue" in printed and "two lives, " in printed
    assert "After recovery the output is that from before the continuation, which had ended." in printed
    assert cli.main(["reproduce", str(path)]) == 1
    assert "The finding holds." in capfd.readouterr().err


def test_a_finding_of_a_cut_inside_recovery_holds_when_it_is_made_again(
    tally: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tally, tmp_path, "--nested", "1") == 1
    for path in (tmp_path / "out" / "findings").glob("*.json"):
        capfd.readouterr()
        assert cli.main(["reproduce", str(path)]) == 1
        assert "The finding holds." in capfd.readouterr().err


def test_a_continuation_that_fails_where_nothing_is_lost_cannot_judge(
    receipts: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(receipts, tmp_path, "--continue", "false") == 2
    said = capfd.readouterr().err
    assert "--continue false: this does not accept the folder as the program left it" in said


def test_second_lives_are_for_folders(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked = ["run", "--pool", str(tmp_path / "pool"), "--record", "true", "--recover", "true", "--continue", "true"]
    assert cli.main(asked) == 2
    assert "--continue true: second lives are for a folder, and here is none." in capfd.readouterr().err
