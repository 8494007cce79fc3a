"""Code under test that forks and goes its own way (issue B1, 7): nothing is left after a run, however it ends."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from powercut import paths


def library(name: str) -> Path:
    path = paths.library_dir() / "regression" / f"{name}-bug.so"
    if not path.is_file():
        pytest.skip(f"{path.name} is not built")
    return path


@pytest.fixture
def forking(tmp_path: Path) -> Path:
    """A library under a path of its own, by which the processes that have it mapped are known."""
    copy = tmp_path / "forking.so"
    copy.write_bytes(library("recovery_forks").read_bytes())
    return copy


def holders(file: Path) -> list[int]:
    """The processes that have a file mapped."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if str(file) in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace"):
                found.append(int(pid))
    return found


def exploring(file: Path) -> list[int]:
    """The engine that explores with a file mapped, without its workers."""
    parents = {}
    for pid in holders(file):
        with contextlib.suppress(OSError):
            if b"\0explore\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
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


@pytest.fixture
def ended_anyway(forking: Path) -> Iterator[None]:
    yield
    for pid in holders(forking):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def start(forking: Path, *more: str) -> subprocess.Popen[str]:
    scenarios = forking.parent / "scenarios"
    scenarios.mkdir(exist_ok=True)
    (scenarios / "fill.toml").write_text(
        'schema = 1\nname = "fill"\nsummary = "For a test."\ntargets = ["pair"]\ncore = true\n'
        '[pool]\nsize = "256KiB"\n[[phase]]\nname = "main"\nsteps = [{ op = "insert", from = 1, to = 10 }]\n'
    )
    return subprocess.Popen(
        [sys.executable, "-m", "powercut", "run", str(forking), "--scenario", "fill", "--no-canary", *more],
        cwd=forking.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.usefixtures("real_engine", "ended_anyway")
class TestNothingIsLeft:
    def test_after_a_run(self, forking: Path) -> None:
        run = start(forking)
        said, _ = run.communicate(timeout=500)
        assert run.returncode == 3, said
        assert "started a process" in said
        assert holders(forking) == []

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_after_a_signal(self, forking: Path, number: signal.Signals) -> None:
        run = start(forking)
        assert wait_until(lambda: holders(forking))
        run.send_signal(number)
        run.communicate(timeout=100)
        assert wait_until(lambda: not holders(forking), 5)

    def test_after_the_engine_was_killed(self, forking: Path) -> None:
        run = start(forking)
        found: list[int] = []
        assert wait_until(lambda: found.extend(exploring(forking)) or found)
        os.kill(found[0], signal.SIGKILL)
        run.communicate(timeout=500)
        assert wait_until(lambda: not holders(forking), 5)


@pytest.mark.usefixtures("real_engine")
def test_a_blocked_recovery_is_waited_for_once(tmp_path: Path) -> None:
    """It took 120 s for each crash point, twice."""
    import powercut

    heard: list[powercut.api.Result] = []
    session = powercut.Session(out=tmp_path, heard=heard.append, watchdog=1.0)
    begun = time.monotonic()
    with pytest.raises(powercut.api.UnknownError, match="given up"):
        session.check(str(library("recovery_blocks")), [("insert", key) for key in range(1, 11)])
    assert time.monotonic() - begun < 40
