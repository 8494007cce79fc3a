"""`powercut confirm` on the file systems of the running kernel; `make test-real-fs` runs the long tests too."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.real_fs.kernel import attached
from powercut.real_fs.systems import SYSTEMS

SETUP = """\
import os
os.makedirs("data", exist_ok=True)
with open("data/settings", "w") as file:
    file.write("colour = red\\n")
    file.flush()
    os.fsync(file)
"""
SAVE = """\
import os
with open("data/settings.tmp", "w") as file:
    file.write("colour = blue\\n")
os.rename("data/settings.tmp", "data/settings")
"""
MENDED = SAVE.replace("os.rename", "    file.flush()\n    os.fsync(file)\nos.rename")
CHECK = """\
import sys
sys.exit(open("data/settings").read() not in ("colour = red\\n", "colour = blue\\n"))
"""
SECONDS_TO_CLEAR_UP = 15


def needed(system: str) -> None:
    if reason := SYSTEMS[system].missing():
        pytest.skip(reason)


@pytest.fixture
def finding(real_engine: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The finding of a program that renames without a sync, as `powercut run` wrote it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name, text in (("setup.py", SETUP), ("save.py", SAVE), ("check.py", CHECK)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    python = sys.executable
    asked = ["--setup", f"{python} setup.py", "--record", f"{python} save.py", "--recover", f"{python} check.py"]
    assert main(["run", "--files", "data", *asked, "--fs", "ext4"]) == ExitCode.FINDINGS
    (found,) = Path(".powercut/findings").glob("*.json")
    return found.absolute()


def record_of(path: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return record


def test_it_says_what_it_needs(
    finding: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["confirm", str(finding), "--on", "ext4", "--trust"]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "mounted by root alone" in said and "This takes root, /dev/fuse, loop devices" in said
    assert main(["confirm", str(finding), "--on", "ext5", "--trust"]) == ExitCode.USAGE
    assert "'ext5' is no file system that can be confirmed on" in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.parametrize("system", ["ext4", "xfs"])
def test_a_rename_without_a_sync_is_reproduced_and_its_mended_twin_is_not(
    system: str, finding: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file that the mended program renames is whole: no image fails as the finding does."""
    needed(system)
    assert main(["confirm", str(finding), "--on", system, "--budget", "5m", "--trust"]) == ExitCode.FINDINGS
    assert f"Reproduced on {system}, Linux " in capsys.readouterr().out
    (answer,) = record_of(finding)["confirmed"]
    assert answer["system"] == system and answer["reproduced"] and 0 < answer["image"] <= answer["images"]
    assert main(["report", ".powercut"]) in (ExitCode.CLEAN, ExitCode.FINDINGS)
    assert f"Reproduced on {system}, Linux " in Path(".powercut/report.html").read_text(encoding="utf-8")
    Path("save.py").write_text(MENDED, encoding="utf-8")
    assert main(["confirm", str(finding), "--on", system, "--budget", "20s", "--trust"]) == ExitCode.CLEAN
    (answer,) = record_of(finding)["confirmed"]
    assert not answer["reproduced"] and answer["image"] == 0 and answer["runs"] > 1 and answer["images"] > 10
    assert [path.name for path in Path("data").iterdir()] == []


@pytest.mark.long
def test_nothing_is_left_of_a_confirmation_that_was_killed(finding: Path) -> None:
    needed("ext4")
    Path("save.py").write_text(MENDED, encoding="utf-8")
    Path("data").rmdir()
    command = [sys.executable, "-m", "powercut", "confirm", str(finding), "--on", "ext4", "--trust"]
    known = set(Path("/tmp").glob("powercut-real-ext4-*"))
    process = subprocess.Popen(
        command, env=os.environ | {"PYTHONPATH": os.pathsep.join([str(paths.home()), *sys.path])}
    )
    mine: set[Path] = set()
    end = time.monotonic() + 60
    while time.monotonic() < end and not any(attached(folder.name) for folder in mine):
        time.sleep(0.05)
        mine = set(Path("/tmp").glob("powercut-real-ext4-*")) - known
    assert mine, "it has not begun"
    time.sleep(1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    end = time.monotonic() + SECONDS_TO_CLEAR_UP
    while any(folder.exists() for folder in mine) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(folder.exists() or attached(folder.name) for folder in mine)
    assert not Path("data").exists()
    assert str(Path("data").absolute()) not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")
