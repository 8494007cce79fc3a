"""`powercut record --files` and `powercut view`: what a person sees of a program's files, and of bad input."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from powercut.cli.main import main
from tests.interruptible import interruptible
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
  btrfs  3 crash points, 54 trees at most (during call 7).
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


_MORE = r"""
import mmap, os
file = open("data/a", "w+b")
os.link("data/a", "data/b"), os.unlink("data/a")
os.posix_fallocate(file.fileno(), 0, 1024)
room = mmap.mmap(file.fileno(), 1024)
room[:2] = b"xx"; room.flush(); room.close()
open("data/b", "w").close()
os.rename("data/b", "data/c"), os.unlink("data/c"), os.write(file.fileno(), b"y")
os.symlink("none", "data/l")
"""
_MORE_SEEN = r"""
     1  t0  openat("a")  # inode 2, new file
     2  t0  link("a" -> "b")  # inode 2
     3  t0  unlink("a")  # inode 2
     4  t0  fallocate("b", 1024 bytes at 0)
     5  t0  store through a mapping of "b", 512 bytes at 0
     6  t0  msync("b", 1024 bytes at 0, MS_SYNC)
     7  t0  openat("b", O_TRUNC)  # 0 bytes from now on
     8  t0  rename("b" -> "c")  # inode 2
     9  t0  unlink("c")  # inode 2
    10  t0  write("c", 1 byte at 0)  # inode 2, which has no name now
    11  t0  symlink("none" <- "l")  # inode 3, new link
"""


def test_a_call_is_shown_with_flags_and_names_as_they_are(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "python3", "-c", _MORE]) == 0
    assert main(["view", "run.pct"]) == 0
    assert capfd.readouterr().out.startswith(_MORE_SEEN.lstrip("\n"))


def test_a_program_that_never_touches_the_folder(capfd: pytest.CaptureFixture[str]) -> None:
    script = "echo x > one; echo y > two; echo z >> two"
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "sh", "-c", script]) == 0
    told = capfd.readouterr().err
    assert f"wrote 2 files, none below data: the most likely are {os.getcwd()}/two, {os.getcwd()}/one." in told
    assert (
        main(
            ["record", "--files", "data", "-o", "run.pct", "--", "python3", "-c", r"open(b'\xe9\xff', 'w').write('x')"]
        )
        == 0
    )
    assert rf"wrote 1 file, which is not below data: {os.getcwd()}/\xe9\xff." in capfd.readouterr().err
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "true"]) == 0
    assert "changed nothing below data, and wrote no other file." in capfd.readouterr().err


def test_a_program_that_traces_another_is_told_why_nothing_is_known(capfd: pytest.CaptureFixture[str]) -> None:
    script = "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0); open('data/a', 'w').close()"
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "python3", "-c", script]) == 0
    reason = "the program traces a process itself (ptrace), and a process has one tracer at a time."
    assert f"A verdict on this recording is unknown: {reason}\n" in capfd.readouterr().err
    assert main(["view", "run.pct"]) == 0
    assert f"Not complete: {reason}" in capfd.readouterr().out


def test_ctrl_c_lets_the_program_end_and_keeps_the_recording(data: Path) -> None:
    script = """
import signal, time
def end(*_):
    time.sleep(0.5)
    open("data/closed", "w").close()
    raise SystemExit(7)
signal.signal(signal.SIGINT, end)
open("data/ready", "w").close()
time.sleep(60)"""
    words = [sys.executable, "-m", "powercut", "record", "--files", "data", "-o", "run.pct", "--"]
    with subprocess.Popen(
        [*words, "python3", "-c", script], stderr=subprocess.PIPE, text=True, preexec_fn=interruptible, process_group=0
    ) as recording:
        while not (data / "ready").exists():
            time.sleep(0.01)
        os.killpg(recording.pid, signal.SIGINT)
        told = recording.communicate()[1]
    assert recording.returncode == 0, told
    assert "'python3', which ended with status 7." in told
    assert (data / "closed").exists()


def test_a_recording_that_nobody_waits_for_ends_with_its_program(data: Path) -> None:
    script = "echo $$ > data/pid.new; mv data/pid.new data/pid; while :; do echo x >> data/log; done"
    words = [sys.executable, "-m", "powercut", "record", "--files", "data", "-o", "run.pct", "--"]
    with subprocess.Popen([*words, "sh", "-c", script]) as recording:
        while not (data / "pid").exists():
            time.sleep(0.01)
        recording.kill()
    stat = Path(f"/proc/{(data / 'pid').read_text().strip()}/stat")
    deadline = time.monotonic() + 5
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX":
        assert time.monotonic() < deadline, "the program is left behind"
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--files", "none", "--", "true"], "none: there is no such folder. Make it first."),
        (["--files", "/", "--", "true"], "/: the root of a file system is no folder to judge"),
        (["--files", "file", "--", "true"], "file: this is a file, and no folder."),
        (["--files", "data", "--", "no-such-program"], "no-such-program: the command cannot be found."),
        (["--files", "data", "--", "./file"], "./file: the command cannot be found."),
        (["--files", "data"], "--files: no command to record."),
        (["--files", "pipes", "--", "true"], "'p' is a named pipe, which no model of a file system knows."),
        (["--files", "sockets", "--", "true"], r"'s\xff' is a socket, which no model of a file system knows."),
        (["--files", "data", "--scenario", "x", "--", "true"], "--files: a folder is recorded by itself."),
        (["--files", "data", "--tracer", "llvm", "--", "true"], "--tracer: the tracer 'llvm' records no folder."),
        (["--files", "data", "--ack", "(", "--", "true"], "--ack (: not a regular expression"),
    ],
)
def test_bad_input_is_one_paragraph(words: list[str], told: str, capfd: pytest.CaptureFixture[str]) -> None:
    Path("file").touch()
    Path("pipes").mkdir()
    os.mkfifo("pipes/p")
    Path("sockets").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(b"sockets/s\xff")
    before = sorted(Path().rglob("*"))
    assert main(["record", "-o", "run.pct", *words]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert told in line
    assert sorted(Path().rglob("*")) == before, "a refused recording leaves everything as it was"


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


@pytest.mark.long
def test_a_folder_that_is_too_large_is_told(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for number in range(100_000):
        (data / f"{number}").symlink_to("x")
    started = time.monotonic()
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "true"]) == 2
    assert (
        "the folder holds more than 100000 files, the most that are recorded. Record on a small"
        in capfd.readouterr().err
    )
    (data / "0").unlink()
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "touch", "data/0"]) == 0
    assert "200002 records" in capfd.readouterr().err
    assert time.monotonic() - started < 30


@pytest.mark.long
def test_files_that_are_too_large_are_told(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with (data / "large").open("wb") as large:
        for _ in range(1023):
            large.write(b"x" * (1 << 20))
        large.truncate(1 << 40)
        os.fsync(large.fileno())  # a file system may allocate blocks late, and only these count
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "true"]) == 0
    with (data / "more").open("wb") as more:
        more.write(b"x" * (2 << 20))
        os.fsync(more.fileno())
    capfd.readouterr()
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "true"]) == 2
    assert "the files of the folder hold more than 1 GiB, the most that is recorded." in capfd.readouterr().err


def test_trees_that_are_too_many_to_count_are_told_as_such(capfd: pytest.CaptureFixture[str]) -> None:
    def told(names: int) -> list[str]:
        script = f"import os\nfor name in range({names}): os.mkdir(f'data/{names}-{{name}}')"
        assert main(["record", "--files", "data", "-o", "run.pct", "--", "python3", "-c", script]) == 0
        assert main(["view", "run.pct", "--fs", "ext4,posix"]) == 0
        return capfd.readouterr().out.splitlines()[-2:]

    assert told(400) == [
        "  ext4   1 crash point, 401 trees (after call 400).",
        "  posix  1 crash point, 2.6 × 10^120 trees (after call 400).",
    ]
    assert told(3000) == [
        "  ext4   1 crash point, not counted: there are too many choices of operations.",
        "  posix  1 crash point, 1.2 × 10^903 trees (after call 3000).",
    ]


def test_a_number_of_thousands_of_digits_is_told(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each of 16,384 overwritten sectors is old or new."""
    (data / "old").write_bytes(bytes(8 << 20))
    script = "import os; os.pwrite(os.open('data/old', os.O_WRONLY), b'x' * (8 << 20), 0)"
    assert main(["record", "--files", "data", "-o", "run.pct", "--", "python3", "-c", script]) == 0
    assert main(["view", "run.pct", "--fs", "ext4"]) == 0
    assert "1.2 × 10^4932 trees (after call 1)." in capfd.readouterr().out
    assert main(["view", "run.pct", "--fs", "ext4", "--json"]) == 0
    assert len(json.loads(capfd.readouterr().out)["trees"][0]["crash_points"][0]["trees"]) == 4933
