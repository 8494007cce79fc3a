"""Code under test that forks and goes its own way (issue B1, 7): nothing is left after a run, however it ends."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.compile import cc
from tests.interruptible import interruptible

Start = Callable[[Path], subprocess.Popen[str]]


def library(name: str) -> Path:
    path = paths.library_dir() / "regression" / f"{name}-bug.so"
    if not path.is_file():
        pytest.skip(f"{path.name} is not built")
    return path


def own_copy(tmp_path: Path, name: str) -> Path:
    """A library under a path of its own, by which the processes that have it mapped are known."""
    copy = tmp_path / f"{name}.so"
    copy.write_bytes(library(name).read_bytes())
    return copy


@pytest.fixture
def forking(tmp_path: Path) -> Path:
    return own_copy(tmp_path, "recovery_forks")


@pytest.fixture
def blocking(tmp_path: Path) -> Path:
    """It blocks until the watchdog acts: long enough to be met while it explores, on any machine."""
    return own_copy(tmp_path, "recovery_forks_and_blocks")


#: A table whose insert waits for what never comes.
STUCK = """
#include <unistd.h>
#include "targets/regression/pair.h"
namespace {
struct Map final : powercut::regression::Slots {
  using Slots::Slots;
  powercut_status insert(powercut_bytes, powercut_bytes) override { return pause(), POWERCUT_OK; }
};
}  // namespace
POWERCUT_PAIR(Map)
"""


@pytest.fixture
def stuck(tmp_path: Path) -> Path:
    source, made = tmp_path / "stuck.cc", tmp_path / "stuck.so"
    source.write_text(STUCK)
    include = [f"-I{paths.home()}", f"-I{paths.home() / 'targets' / 'include'}"]
    words = ["-std=c++20", "-O1", "-DBUG=1", "-shared", "-fPIC", *include, str(source), "-o", str(made)]
    subprocess.run(cc.build_command(words, cxx=True), check=True)
    return made


def holders(file: Path) -> list[int]:
    """The processes that have a file, or one of a folder's, mapped."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if str(file) in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace"):
                found.append(int(pid))
    return found


def exploring(file: Path) -> list[int]:
    """The engine that explores with a file mapped, without its workers."""
    return running(file, b"explore")


def running(file: Path, command: bytes) -> list[int]:
    """The engine that carries out a command with a file mapped, without its children."""
    parents = {}
    for pid in holders(file):
        with contextlib.suppress(OSError):
            if b"\0" + command + b"\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                parents[pid] = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    return [pid for pid, parent in parents.items() if parent not in parents]


def wait_until(condition: object, seconds: float = 60) -> bool:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def command(target: Path) -> subprocess.Popen[str]:
    scenarios = target.parent / "scenarios"
    scenarios.mkdir(exist_ok=True)
    (scenarios / "fill.toml").write_text(
        'schema = 1\nname = "fill"\nsummary = "For a test."\ntargets = ["pair"]\ncore = true\n'
        '[pool]\nsize = "256KiB"\n[[phase]]\nname = "main"\nsteps = [{ op = "insert", from = 1, to = 10 }]\n'
    )
    return subprocess.Popen(
        [sys.executable, "-m", "powercut", "run", str(target), "--scenario", "fill", "--no-canary"],
        cwd=target.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=interruptible,
    )


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the command for a library; whatever the test finds, nothing of it outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def run(target: Path) -> subprocess.Popen[str]:
        started.append(command(target))
        return started[-1]

    yield run
    for pid in holders(tmp_path):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    for each in started:
        each.kill()
        each.communicate(timeout=100)


@pytest.mark.usefixtures("real_engine")
class TestNothingIsLeft:
    def test_after_a_run(self, start: Start, forking: Path) -> None:
        run = start(forking)
        said, _ = run.communicate(timeout=500)
        assert run.returncode == 3, said
        assert "started a process" in said
        assert holders(forking) == []

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_after_a_signal(self, start: Start, blocking: Path, number: signal.Signals) -> None:
        run = start(blocking)
        assert wait_until(lambda: exploring(blocking))
        run.send_signal(number)
        run.communicate(timeout=100)
        assert wait_until(lambda: not holders(blocking), 5)

    def test_after_the_command_was_killed(self, start: Start, blocking: Path) -> None:
        run = start(blocking)
        assert wait_until(lambda: exploring(blocking))
        run.kill()
        run.communicate(timeout=100)
        assert wait_until(lambda: not holders(blocking), 3)

    def test_after_the_command_was_killed_while_an_operation_blocks(self, start: Start, stuck: Path) -> None:
        """An engine that records writes nothing, so it went on until its time for one operation was over."""
        run = start(stuck)
        assert wait_until(lambda: holders(stuck) and running(stuck, b"record"))
        run.kill()
        run.communicate(timeout=100)
        assert wait_until(lambda: not holders(stuck), 3)

    def test_after_the_engine_was_killed(self, start: Start, blocking: Path) -> None:
        run = start(blocking)
        assert wait_until(lambda: exploring(blocking))
        os.kill(exploring(blocking)[0], signal.SIGKILL)
        run.communicate(timeout=500)
        assert wait_until(lambda: not holders(blocking), 5)


@pytest.mark.usefixtures("real_engine")
def test_a_blocked_recovery_is_waited_for_once(tmp_path: Path) -> None:
    """It took 120 s for each crash point, twice."""
    import powercut

    heard: list[powercut.Result] = []
    session = powercut.Session(out=tmp_path, heard=heard.append, watchdog=1.0)
    begun = time.monotonic()
    with pytest.raises(powercut.UnknownError, match="given up"):
        session.check(str(library("recovery_blocks")), [("insert", key) for key in range(1, 11)])
    assert time.monotonic() - begun < 40
