"""The tracer `calls`: small programs leave exactly the expected calls, and the calls replayed make the final folder.

The recorder replays the calls of each recording and compares the tree with the folder: `complete` says that both agree.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.files import record as files_record
from powercut.files.calls import Call, calls
from powercut.files.record import RecordedFiles
from powercut.files.survey import survey
from tracer.calls.tests.conformance import SUITE, c_cases, difference
from tracer.calls.tests.plain import plain

CASES = c_cases()
Recorded = tuple[RecordedFiles, list[Call]]
Record = Callable[..., Recorded]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C programs, compiled once."""
    built = SUITE["c"].built(tmp_path_factory.mktemp("programs"))
    assert built is not None, "clang-19 is missing"
    return Path(*built)


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Records a command in an empty folder, which is its working folder."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def recorded(*command: str) -> Recorded:
        trace = tmp_path / "run.pct"
        found = files_record.record(command, folder, trace)
        return found, list(calls(paths.engine(), trace))

    return recorded


@pytest.mark.parametrize("name", CASES)
def test_a_program_leaves_the_expected_calls(name: str, programs: Path, record: Record) -> None:
    command = CASES[name].command or [str(programs), name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed")
    assert difference(CASES[name], *record(*command)) is None


@pytest.mark.parametrize("seed", range(6))
def test_random_threads_and_processes_replayed_give_the_folder(seed: int, programs: Path, record: Record) -> None:
    found, recorded = record(str(programs), "random", str(seed))
    assert found.status == 0
    assert found.complete, survey(recorded).missed
    assert len({call.thread for call in recorded}) == 5
    assert len(recorded) > 100


@pytest.mark.parametrize("seed", range(4))
def test_calls_that_a_kill_cuts_off_are_recorded_as_far_as_they_were_made(
    seed: int, programs: Path, record: Record
) -> None:
    found, recorded = record(str(programs), "random_kills", str(seed))
    assert found.status == 0
    assert found.complete, survey(recorded).missed
    assert len({call.thread for call in recorded if call.kind == "write"}) == 15


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ("echo other > folder/other", "'other' was made by no recorded call"),
        ("printf X > folder/kept", "'kept' has 1 bytes, and 4 by the recorded calls"),
        ("printf keXt > folder/kept", "'kept' holds other bytes from 2 on"),
        ("truncate -s 0 folder/kept; truncate -s 4 folder/kept", "'kept' holds other bytes from 0 on"),
        ("rm folder/kept", "'kept' has gone"),
    ],
)
def test_somebody_else_who_changes_the_folder_is_noticed(
    change: str, difference: str, record: Record, tmp_path: Path
) -> None:
    Path("kept").write_text("kept")
    with subprocess.Popen(["sh", "-c", f"until [ -e folder/ready ]; do :; done; {change}; echo > done"], cwd=tmp_path):
        found, recorded = record("sh", "-c", ": > ready; until [ -e ../done ]; do :; done")
    assert not found.complete
    (missed,) = survey(recorded).missed
    assert "somebody else changed the folder" in missed
    assert difference in missed


def test_a_recorder_that_is_killed_takes_the_program_with_it(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    options = [f"--folder={folder}", f"--trace={tmp_path / 't'}", f"--report={tmp_path / 'r'}"]
    script = "echo $$ > pid; sleep 60 & echo $! >> pid; echo > ready; while :; do echo x >> log; done"
    with subprocess.Popen([paths.engine(), "record-files", *options, "--", "sh", "-c", script], cwd=folder) as recorder:
        while not (folder / "ready").exists():
            time.sleep(0.01)
        recorder.send_signal(signal.SIGKILL)
    started = [int(line) for line in (folder / "pid").read_text().split()]
    deadline = time.monotonic() + 5
    while any(_lives(process) for process in started):
        assert time.monotonic() < deadline, "a process is left behind"
        time.sleep(0.01)
    assert not (tmp_path / "t").exists()
    left = {path.name for path in folder.iterdir()}
    assert left <= {"pid", "ready", "log"}, "something is left beside the files of the program"


def _lives(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


@pytest.mark.skipif(os.geteuid() != 0, reason="it shows what root must not be needed for")
def test_no_privilege_is_needed(programs: Path, tmp_path: Path) -> None:
    nobody = "65534"
    shared = Path("/var/tmp") / f"powercut-calls-{os.getpid()}"
    (shared / "folder").mkdir(parents=True)
    try:
        shutil.copy(programs, shared / "programs")
        for path in (shared, shared / "folder"):
            os.chown(path, int(nobody), int(nobody))
        options = [f"--folder={shared / 'folder'}", f"--trace={shared / 't'}", f"--report={shared / 'r'}"]
        unprivileged = ["setpriv", f"--reuid={nobody}", f"--regid={nobody}", "--clear-groups", "--bounding-set=-all"]
        subprocess.run(
            [*unprivileged, paths.engine(), "record-files", *options, "--", shared / "programs", "fork"],
            cwd=shared / "folder",
            check=True,
        )
        assert json.loads((shared / "r").read_text())["missed"] == []
        assert plain(calls(paths.engine(), shared / "t")) == CASES["fork"].calls
    finally:
        shutil.rmtree(shared)


def test_a_tree_at_the_start_is_recorded_whole(record: Record) -> None:
    os.makedirs("d/e")
    Path("d/file").write_bytes(b"x" * 100_000)
    os.link("d/file", "second")
    os.symlink("d", "link")
    Path(os.fsdecode(b"\xff\n")).touch()
    with Path("sparse").open("wb") as sparse:
        sparse.truncate(1 << 40)
    found, recorded = record("sh", "-c", "echo y >> second; mv d f")
    assert found.complete, survey(recorded).missed
    at_start = [call for call in recorded if call.kind == "entry"]
    assert sorted(call.name for call in at_start) == [b"d", b"e", b"file", b"link", b"second", b"sparse", b"\xff\n"]
    assert plain(recorded) == ["pwrite second 100000B 2B", "rename d f"]


@pytest.mark.parametrize("hard", [False, True])
def test_threads_beyond_the_limit_of_descriptors_are_followed_or_told(
    hard: bool, programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorder needs a descriptor for each thread, and raises its own limit as far as it may."""
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    limits = f'ulimit -{"" if hard else "S"}n 60; exec {paths.engine()} "$@"'
    arguments = [
        f"--folder={Path.cwd()}",
        "--trace=../run.pct",
        "--report=../report",
        "--",
        str(programs),
        "many_threads",
    ]
    subprocess.run(["bash", "-c", limits, "bash", "record-files", *arguments], check=True)
    missed = json.loads(Path("../report").read_text())["missed"]
    recorded = plain(calls(paths.engine(), Path("../run.pct")))
    if hard:
        assert missed == ["a file that the program has open cannot be looked at: Too many open files"]
        assert len(recorded) < 101
    else:
        assert missed == []
        assert recorded == ["creat a", *(["fsync a"] * 100)]


def test_a_large_file_that_the_program_removes_frees_its_room(
    record: Record, capfd: pytest.CaptureFixture[str]
) -> None:
    """The recorder keeps small ones open for a while, so that no other file gets their numbers."""
    script = "fallocate -l 100M large; echo x > small; rm large small; ls -l /proc/$PPID/fd"
    found, recorded = record("sh", "-c", script)
    assert found.complete, survey(recorded).missed
    told = capfd.readouterr().out
    assert "/small (deleted)" in told
    assert "/large (deleted)" not in told


def test_calls_without_contents_are_the_same_calls(record: Record, tmp_path: Path) -> None:
    Path("old").write_bytes(b"x" * 10_000)
    _, recorded = record("sh", "-c", "echo y > a; ln -s a b; mv a c; mkfifo d")
    lean = list(calls(paths.engine(), tmp_path / "run.pct", contents=False))
    assert [replace(call, data=b"") if call.kind in ("content", "write") else call for call in recorded] == lean
    assert sum(call.size for call in lean if call.kind == "content") == 10_000


@pytest.mark.long
def test_a_hundred_thousand_calls_take_ten_seconds(programs: Path, tmp_path: Path) -> None:
    """To be recorded, decoded and counted. Seconds of processors, since a machine may have other work."""
    folder, trace, seen = tmp_path / "folder", tmp_path / "run.pct", tmp_path / "seen"
    folder.mkdir()
    words = [sys.executable, "-m", "powercut"]
    before = os.times()
    subprocess.run([*words, "record", "--files", folder, "-o", trace, "--", programs, "many"], check=True, cwd=folder)
    with seen.open("wb") as out:
        subprocess.run([*words, "view", trace], stdout=out, check=True)
    after = os.times()
    assert seen.read_text().count("fdatasync") == 1_000
    assert sum(after[:4]) - sum(before[:4]) < 10


def test_python_runs_recorded(record: Record) -> None:
    script = "import sqlite3; c = sqlite3.connect('db'); c.execute('create table t(a)'); c.commit()"
    found, recorded = record(sys.executable, "-c", script)
    assert found.complete, survey(recorded).missed
    lines = plain(recorded)
    assert lines.index("creat db-journal") < lines.index("unlink db-journal") == len(lines) - 1
    assert {"fdatasync db", "creat db"} <= set(lines) or {"fsync db", "creat db"} <= set(lines)
