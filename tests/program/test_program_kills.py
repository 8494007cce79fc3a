"""`powercut run` is killed at random moments, and afterwards nothing is left of it.

No process, no crash image or other temporary file and no half of a recording stays. The user's pool is the file that it
was. `test_program_bad_input.py` kills at a known moment of each phase; here the moment may be any, also between two
phases, while files are moved, or while a finding is explained.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.interruptible import interruptible
from tests.program.program_mode import CLI, build, environment

LONG_KILLS, LONG_EXPLAINED = 100, 4
SHARED = Path("/dev/shm")
#: Names the processes of one run, whatever they have become.
MARK = "POWERCUT_TEST_KILLS"

#: Commands whose runs differ in what they start: the compiler's tracer, the Valgrind tool for the program, and for
#: recovery.
WAYS = {
    "compiled": "--record './kv run pool' --recover './kv check pool' --dump './kv dump pool'",
    "plain": "--record './kv-plain run pool' --recover './kv-plain check pool'",
    "nested": "--record './kv run pool' --recover './kv check pool' --nested 1",
}


@dataclass
class House:
    """A folder with the programs, a pool of the user's, and a place for temporary files."""

    folder: Path
    #: Where crash images are made: other runs make theirs beside it.
    work: Path
    number: int = 0
    #: For each way: the time of an undisturbed run, and its result.
    whole: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)

    @property
    def pool(self) -> Path:
        return self.folder / "pool"

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def mark(self) -> str:
        return f"{self.folder}/{self.number}"

    def start(self, way: str) -> subprocess.Popen[str]:
        self.number += 1
        variables = environment() | {MARK: self.mark, "TMPDIR": str(self.temporary), "KV_BUG": "order"}
        variables["POWERCUT_WORK"] = str(self.work)
        words = ["run", *shlex.split(WAYS[way]), "--pool", "pool", "--format", "text", "--json", "--jobs", "1"]
        words += ["--explain", "1"]  # every moment of a run is there with one explanation as with three
        return subprocess.Popen(
            [*CLI, *words],
            cwd=self.folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=interruptible,
        )

    def undisturbed(self, way: str) -> tuple[float, dict[str, Any]]:
        """Seconds, and the run's counts and verdict."""
        begun = time.monotonic()
        out, err = self.start(way).communicate(timeout=300)
        (run,) = json.loads(out)["runs"]
        assert run["verdict"] == "inconsistent", err
        return time.monotonic() - begun, {name: run[name] for name in ("verdict", "crash_points", "crash_states")}

    def duration(self, way: str) -> float:
        if way not in self.whole:
            self.whole[way] = self.undisturbed(way)
        return self.whole[way][0]

    def left(self) -> list[Path]:
        """Files that should be gone when the processes are.

        Not those of Valgrind itself, which makes a copy of its command line and unlinks it at once.
        """
        temporary = (path for path in self.temporary.iterdir() if not path.name.startswith("valgrind_proc_"))
        return [*self.folder.rglob(".record.*"), *self.folder.glob(".pool*"), *temporary]

    def clear(self) -> None:
        """The remains of a run are not held against the next one."""
        shutil.rmtree(self.folder / ".powercut", ignore_errors=True)
        shutil.rmtree(self.temporary)
        self.temporary.mkdir()

    def processes(self) -> list[str]:
        """Command lines of the run's processes."""
        return [line for pid, line in running() if mark_of(pid) == self.mark]


def mark_of(pid: int) -> str:
    """The mark of the run that has started a process; empty where it is none of ours, or has ended."""
    with contextlib.suppress(OSError):
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        named = (one.decode() for one in variables if one.startswith(f"{MARK}=".encode()))
        return next(named, "").partition("=")[2]
    return ""


def running() -> Iterator[tuple[int, str]]:
    """All processes but this one, with their command lines."""
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        with contextlib.suppress(OSError):
            if pid != os.getpid():
                line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
                yield pid, line.decode(errors="replace")


def wait_until(true: Callable[[], bool]) -> bool:
    """Whether it becomes true; what clears up behind a killed run takes a moment."""
    deadline = time.monotonic() + 20
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("kills")
    build(folder)
    with tempfile.TemporaryDirectory(prefix="kills-", dir=SHARED) as work:
        out = House(folder, Path(work))
        out.temporary.mkdir()
        out.pool.write_bytes(b"mine" * 1000)
        yield out


def as_it_is(pool: Path) -> tuple[object, ...]:
    status = pool.stat()
    return pool.read_bytes(), status.st_ino, status.st_mode, status.st_mtime_ns


def kill(house: House, random: Random, way: str) -> tuple[str, list[str]]:
    """One run that is killed: how, and what is wrong afterwards."""
    number = random.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM))
    moment = random.uniform(0, 1.05 * house.duration(way))
    pool = as_it_is(house.pool)
    process = house.start(way)
    time.sleep(moment)
    if number == signal.SIGINT and random.random() < 0.5:
        os.killpg(process.pid, number)  # as a terminal does
    else:
        process.send_signal(number)
    wrong = afterwards(house, process, number, pool)
    return f"{way}, {number.name} after {moment:.2f} s, ended with {process.returncode}", wrong


def afterwards(house: House, process: subprocess.Popen[str], number: int, pool: tuple[object, ...]) -> list[str]:
    """Returns the fault after the signal was sent; `pool` is its content before it."""
    _, err = process.communicate(timeout=30)
    wrong = []
    # Who is interrupted says 3, unless all was done, or Python was still starting.
    if process.returncode not in (-number, 1, 3) or (process.returncode != -number and "Traceback" in err):
        wrong.append(err)
    if not wait_until(lambda: not house.processes()):
        wrong.append(f"these go on: {house.processes()}")
    if not wait_until(lambda: not any(house.work.iterdir())):
        wrong.append(f"in {house.work}: {[path.name for path in house.work.iterdir()]}")
    wrong += [f"{path} is left" for path in house.left()]
    if as_it_is(house.pool) != pool:
        wrong.append("the pool is another one")
    house.clear()
    return wrong


def kills(house: House, random: Random, ways: Iterable[str], *, again: Iterable[str]) -> None:
    """Kills a run of each of `ways`; afterwards, a run of each of `again` is as good as the one before."""
    wrong = []
    for way in ways:
        how, left = kill(house, random, way)
        print(how, *left, sep="; ", flush=True)
        wrong += [f"{how}: {text}" for text in left]
    wrong += [f"{way}: another result" for way in again if house.undisturbed(way)[1] != house.whole[way][1]]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.slow
def test_nothing_is_left_of_a_run_that_is_killed(house: House) -> None:
    kills(house, Random(2026), WAYS, again=["compiled"])


def interrupted_explanations(house: House, count: int) -> None:
    for _ in range(count):
        pool = as_it_is(house.pool)
        process = house.start("compiled")
        assert wait_until(lambda: any(" program-judge " in line for line in house.processes()))
        process.send_signal(signal.SIGTERM)
        assert afterwards(house, process, signal.SIGTERM, pool) == []


@pytest.mark.slow
def test_nothing_is_left_of_a_run_that_is_interrupted_while_it_explains(house: House) -> None:
    """The engine that looks for a cause is another one than the engine that explores, and dies of the signal."""
    interrupted_explanations(house, 1)


@pytest.mark.long
def test_nothing_is_left_of_more_runs_that_are_interrupted_while_they_explain(house: House) -> None:
    interrupted_explanations(house, LONG_EXPLAINED)


@pytest.mark.long
def test_nothing_is_left_of_many_runs_that_are_killed(house: House) -> None:
    random = Random(2027)
    kills(house, random, random.choices(list(WAYS), k=LONG_KILLS), again=WAYS)
