"""Files that a recorded program begins with: none, those that --setup has made, or with --keep-pool the present
file."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from powercut.base.errors import UsageError
from powercut.program import keeper
from powercut.program import pools as program_pools
from tests.program.program_mode import Kv, environment, processes


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    file = tmp_path / "pool"
    file.write_bytes(b"mine")
    return file


def hidden(pool: Path) -> Path:
    return Path(keeper.aside_of(str(pool)))


def test_a_file_that_is_aside_comes_back_as_it_was(pool: Path) -> None:
    other, absent = pool.with_name("other"), pool.with_name("absent")
    other.hardlink_to(pool)
    before = pool.stat()
    with program_pools.aside([pool, absent]) as aside:
        assert not pool.exists()
        assert aside.before == (hidden(pool), None)
        assert hidden(pool).read_bytes() == b"mine"
        pool.write_bytes(b"the program's")
        absent.write_bytes(b"the program's")
    after = pool.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (before.st_ino, before.st_mtime_ns, before.st_mode)
    assert other.read_bytes() == pool.read_bytes() == b"mine"
    assert {path.name for path in pool.parent.iterdir()} == {"pool", "other"}


def test_a_run_that_removes_the_whole_folder_costs_nobody_a_file(tmp_path: Path) -> None:
    pool = tmp_path / "data" / "pool"
    pool.parent.mkdir()
    pool.write_bytes(b"mine")
    pool.chmod(0o640)
    with program_pools.aside([pool]):
        shutil.rmtree(pool.parent)
    assert (pool.read_bytes(), pool.stat().st_mode & 0o777) == (b"mine", 0o640)
    assert not hidden(pool).exists()


#: A run that waits for its program, which waits for it, and writes once more when it has gone.
KILLED = """
import subprocess, sys, time
from pathlib import Path
from powercut.program import pools
with pools.aside([Path(sys.argv[1])]) as aside:
    late = "import sys, time; sys.stdin.read(); time.sleep(0.3); open(sys.argv[1], 'wb').write(b'late')"
    command = [sys.executable, "-c", late, sys.argv[1]]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, pass_fds=[aside.held])
    print("aside", flush=True)
    time.sleep(60)
"""


def test_after_kill_9_it_comes_back_when_the_program_has_ended_too(pool: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(pool)]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "aside\n"
        assert not pool.exists()
        process.kill()
    until(pool.exists)
    until(lambda: not hidden(pool).exists())
    assert pool.read_bytes() == b"mine"  # not what came late


def until(true: object) -> None:
    deadline = time.monotonic() + 20
    while not true():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_a_killed_keeper_has_left_is_put_back_first(pool: Path) -> None:
    pool.rename(hidden(pool))
    with program_pools.aside([pool]) as aside:
        assert aside.before == (hidden(pool),)
    assert pool.read_bytes() == b"mine"
    # The keeper is killed while it has it: whoever waits for it does its work.
    with program_pools.aside([pool]):
        (keeping,) = [pid for pid in children() if "keeper.py" in command_line(pid)]
        os.kill(keeping, signal.SIGKILL)
        pool.write_bytes(b"the program's")
    assert pool.read_bytes() == b"mine"


def children() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    return [int(pid) for task in tasks for pid in (task / "children").read_text().split()]


def command_line(pid: int) -> str:
    return Path(f"/proc/{pid}/cmdline").read_text()


def refusal(pool: Path) -> str:
    with pytest.raises(UsageError) as raised, program_pools.aside([pool]):
        pass
    return str(raised.value)


def test_files_that_cannot_be_moved(pool: Path) -> None:
    with pool.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "another process has locked this file" in refusal(pool)
    with program_pools.aside([pool]):
        assert "another process has locked this file" in refusal(pool)
    hidden(pool).write_bytes(b"of a run that was killed")
    assert "now there is another one as well" in refusal(pool)
    assert (pool.read_bytes(), hidden(pool).read_bytes()) == (b"mine", b"of a run that was killed")
    hidden(pool).unlink()
    hidden(pool).mkdir()
    assert "now there is another one as well" in refusal(pool)
    assert pool.read_bytes() == b"mine"


# ---- as the command line has it ------------------------------------------------------------------------------------


def test_an_old_pool_hides_nothing_and_the_report_says_what_was_begun_with(kv: Kv) -> None:
    kv.pool.write_bytes(bytes(8192))
    kv.bug("order")
    fresh = kv.cli("run", *kv.arguments("./kv", "--explain", "0"))
    assert "  Began as: no file (the one that was there is back)" in fresh.out.splitlines()
    # A pool that has no room left: a run that began with it would store nothing, and be clean.
    full = "sh -c './kv run pool 3 && ./kv run pool 3'"
    made = kv.cli("run", *kv.arguments("./kv", "--setup", full, "--explain", "0"))
    assert f"  Began as: made by --setup: {full}" in made.out.splitlines()
    assert made.code == 1
    assert kv.pool.read_bytes() == bytes(8192)
    kept = kv.cli("record", *kv.arguments()[:2], "--pool", "pool", "-o", "kept.pct", "--keep-pool")
    assert kept.code == 0
    explored = kv.cli("explore", "kept.pct", "--recover", "./kv check pool", "--format", "text", "--explain", "0")
    assert "  Began as: the file as it was" in explored.out.splitlines()


def test_of_a_program_in_every_schedule_it_comes_back_after_kill_9_and_nothing_goes_on(kv: Kv) -> None:
    kv.pool.write_bytes(b"mine")
    kv.odd("run:hang")
    program = f"./kv run {kv.pool}"

    def running() -> list[str]:
        return [line for line in processes(program) if "--record" not in line and "record-schedules" not in line]

    arguments = kv.arguments("./kv", "--record", program, "--threads", "scheduled")
    command = [sys.executable, "-m", "powercut", "run", *arguments]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL) as process:
        until(running)
        assert hidden(kv.pool).exists()
        process.kill()
    until(lambda: kv.pool.exists() and kv.pool.read_bytes() == b"mine")
    until(lambda: not processes(str(kv.pool)))
    assert not hidden(kv.pool).exists()


def test_a_program_that_makes_no_pool_is_told_what_to_say(kv: Kv) -> None:
    kv.pool.write_bytes(bytes(8192))
    said = kv.refused("run", *kv.arguments("./kv", "--record", "./kv check pool"))
    assert "ended with exit status 2" in said
    assert f"It began without {kv.pool}: if it does not make that itself, give --setup CMD, or --keep-pool" in said
    assert kv.pool.read_bytes() == bytes(8192)


@pytest.mark.parametrize(
    ("setup", "said"),
    [
        ("sh -c 'echo no room; exit 7'", "the set-up ended with exit status 7; it printed: no room"),
        ("true", "the set-up did not make "),
        ("sleep 60", "the set-up did not end within 0.3 s"),
        ("./absent", "no such program"),
    ],
)
def test_set_ups_that_make_nothing(kv: Kv, setup: str, said: str) -> None:
    assert said in kv.refused("run", *kv.arguments("./kv", "--setup", setup, "--record-timeout", "300ms"))


def test_a_set_up_is_for_a_pool_that_is_not_kept(kv: Kv) -> None:
    assert "one makes the pool anew" in kv.refused("run", *kv.arguments("./kv", "--setup", "true", "--keep-pool"))
