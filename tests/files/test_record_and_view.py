"""`powercut record --files` and `powercut view`: what a person sees of a program's files, and of bad input."""

import os
from pathlib import Path

import pytest

from powercut.cli.main import main
from tests.real_engine import require_engine

_PROGRAM = r"""
import os
with open("data/db.tmp", "wb") as file: file.write(b"x" * 1500)
os.rename("data/db.tmp", "data/db")
folder = os.open("data", 0)
os.fsync(folder), os.fsync(folder)
os.truncate("data/old", 512)
os.write(os.open("data/old", os.O_WRONLY | os.O_DSYNC), b"y" * 512)
open(b"data/\xff\n", "w").close()
"""
_SEEN = r"""
     1  t0  openat("db.tmp")  # inode 3, new file
     2  t0  write("db.tmp", 1500 bytes at 0)
     3  t0  rename("db.tmp" -> "db")  # inode 3
     4  t0  fsync(".")
     5  t0  fsync(".")
     6  t0  truncate("old", 512 bytes from now on)
     7  t0  write("old", 512 bytes at 0, O_DSYNC)
     8  t0  openat("\xff\n")  # inode 4, new file
The program ended: status 0.
Unsynced at the end: the size of old (since call 6).
Unsynced at the end: data of db (3 sectors since call 2).
Unsynced at the end: the file \xff\n itself (since call 8).
Unsynced at the end: the name \xff\n (since call 8).
Nothing to make durable: call 5: fsync(".").
Trees that a power cut may leave:
  ext4   3 crash points, 54 trees at most (during call 7).
  xfs    3 crash points, 30 trees at most (during call 7).
  btrfs  3 crash points, 12 trees at most (during call 7).
"""


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    require_engine()
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


def test_a_person_sees_the_calls_and_what_was_never_synced(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (data / "old").write_bytes(b"o" * 1024)
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "python3", "-c", _PROGRAM]) == 0
    assert "'python3', which ended with status 0" in capfd.readouterr().err
    assert main(["view", "run.pct"]) == 0
    assert capfd.readouterr().out.strip() == _SEEN.strip()
    assert (data / "db").read_bytes() == b"x" * 1500, "the folder is what the program left"


def test_crash_points_have_their_trees_under_each_profile(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script = "echo new > data/new; mv data/new data/old; sync data"
    (data / "old").write_bytes(b"old\n")
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "sh", "-c", script]) == 0
    assert main(["view", "run.pct", "--fs", "posix,ext4,ext4-noauto", "--crash-points"]) == 0
    lines = capfd.readouterr().out.splitlines()
    # The old file is there in all but the last choice. Beside it: nothing, or a file of 0 bytes, of zeroes or whole.
    # In its place: zeroes or the whole file, and 0 bytes where a rename does not wait for a size.
    (point,) = (line for line in lines if line.startswith("before call"))
    assert point.split(maxsplit=3)[3] == "posix 7, ext4 6, ext4-noauto 7"
    assert lines[-3:] == [
        "  posix        2 crash points, 7 trees at most (before call 4).",
        "  ext4         2 crash points, 6 trees at most (before call 4).",
        "  ext4-noauto  2 crash points, 7 trees at most (before call 4).",
    ]
    assert main(["view", "run.pct", "--fs", "ext5"]) == 2
    assert "unknown profile 'ext5'" in capfd.readouterr().err


def test_a_program_that_never_touches_the_folder(capfd: pytest.CaptureFixture[str]) -> None:
    script = "echo x > one; echo y > two; echo z >> two"
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "sh", "-c", script]) == 0
    told = capfd.readouterr().err
    assert f"wrote 2 files, none below data: the most likely are {os.getcwd()}/two, {os.getcwd()}/one." in told


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--files", "none", "--", "true"], "none: the folder cannot be used: No such file or directory."),
        (["--files", "/", "--", "true"], "/: the root of a file system is no folder to judge"),
        (["--files", "file", "--", "true"], "file: this is a file, and no folder."),
        (["--files", "data", "--", "no-such-program"], "no-such-program: the command cannot be found."),
        (["--files", "data", "--", "./file"], "./file: the command cannot be found."),
        (["--files", "data"], "--files: no command to record."),
        (["--files", "pipes", "--", "true"], "'p' is a named pipe, which no model of a file system knows."),
        (["--files", "data", "--scenario", "x", "--", "true"], "--files: a folder is recorded by itself."),
    ],
)
def test_bad_input_is_one_paragraph(words: list[str], told: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("file").touch()
    Path("pipes").mkdir()
    os.mkfifo("pipes/p")
    assert main(["record", "-o", "run.pct", *words]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert told in line
    assert not Path("run.pct").exists()


def test_a_trace_in_the_folder_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--files", "data", "-o", "data/run.pct", "--", "true"]) == 2
    assert "the trace would lie in the folder" in capfd.readouterr().err


def test_a_recording_of_a_folder_is_not_explored(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "true"]) == 0
    capfd.readouterr()
    assert main(["explore", "run.pct"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "run.pct: this is the recording of a folder, and no recovery runs on folders yet." in line


def test_what_is_no_recording_of_a_folder_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    Path("text").write_text("no trace")
    assert main(["view", "text"]) == 2
    assert "this is not a powercut trace" in capfd.readouterr().err
