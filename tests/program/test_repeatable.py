"""A recovery that depends on more than its pool's bytes has no verdict: times, inode numbers, the clock."""

from pathlib import Path

import pytest

from tests.program.builds import compiled
from tests.program.program_mode import _INCLUDE, SOURCE, Answer, Kv

PROGRAM = SOURCE.with_name("asks_for_more.c")
FLAGS = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", _INCLUDE, str(PROGRAM)]
#: Properties of the file, by fstat and statx, and of its folder.
FILE = ["mtime", "atime", "ctime", "ino", "statx-mtime", "statx-ctime", "statx-ino"]
FOLDER = ["folder-mtime", "folder-ctime", "folder-ino"]


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By `powercut cc`, as anybody would build them, and linked statically; each for a pool and for a device."""
    folder = tmp_path_factory.mktemp("asks-for-more")
    for medium, flags in (("pool", []), ("device", ["-DDEVICE"])):
        compiled(folder / f"{medium}-llvm", [*FLAGS, *flags])
        compiled(folder / f"{medium}-plain", [*FLAGS, *flags], traced=False)
        compiled(folder / f"{medium}-static", [*FLAGS, *flags, "-static"], traced=False)
    return folder


def judged(kv: Kv, builds: Path, medium: str, build: str, recovery: str, *more: str) -> Answer:
    recorded = builds / f"{medium}-{'llvm' if build == 'static' else build}"
    commands = ["--record", f"{recorded} run pool", "--recover", f"{builds / f'{medium}-{build}'} {recovery}"]
    return kv.cli("run", *commands, f"--{medium}", "pool", "--format", "text", "--json", *more)


def assert_unknown(answer: Answer) -> None:
    """Told before anything is judged, or by the verdict."""
    if answer.code == 2:
        assert "this came to two different ends" in answer.err or "this does not accept the pool" in answer.err
        return
    assert (answer.code, answer.run["verdict"]) == (3, "unknown"), answer.run["not_checked"]["notes"]
    assert any("times or inode numbers of its files" in note for note in answer.run["not_checked"]["notes"])


@pytest.mark.parametrize("what", FILE + FOLDER)
def test_recoveries_that_depend_on_times_or_inodes_judged_clean(kv: Kv, builds: Path, what: str) -> None:
    assert_unknown(judged(kv, builds, "pool", "llvm", f"check pool {what}"))


@pytest.mark.parametrize("build", ["plain", "static"])
@pytest.mark.parametrize("what", ["mtime", "statx-ino", "folder-mtime"])
def test_times_and_inodes_however_the_recovery_runs(kv: Kv, builds: Path, build: str, what: str) -> None:
    assert_unknown(judged(kv, builds, "pool", build, f"check pool {what}"))


@pytest.mark.parametrize("what", ["mtime", "ino"])
def test_times_and_inodes_of_a_device(kv: Kv, builds: Path, what: str) -> None:
    assert_unknown(judged(kv, builds, "device", "plain", f"check pool {what}"))


@pytest.mark.parametrize("build", ["llvm", "plain", "static"])
def test_a_recovery_that_asks_for_the_size_alone_is_clean(kv: Kv, builds: Path, build: str) -> None:
    answer = judged(kv, builds, "pool", build, "check pool size")
    assert (answer.code, answer.run["verdict"], answer.run["coverage"]["kind"]) == (0, "consistent", "complete")


@pytest.mark.parametrize("what", ["time", "gettimeofday"])
def test_a_clock_that_changes_the_result(kv: Kv, builds: Path, what: str) -> None:
    assert_unknown(judged(kv, builds, "pool", "llvm", f"check pool {what}"))


def test_a_dump_that_prints_the_clock(kv: Kv, builds: Path) -> None:
    dump = ("--dump", f"{builds / 'pool-llvm'} dump pool time more")
    assert_unknown(judged(kv, builds, "pool", "llvm", "check pool size", *dump))


def test_a_recovery_that_prints_the_clock(kv: Kv, builds: Path) -> None:
    """The output of recovery is no part of the verdict: only the dump and the probes are compared."""
    answer = judged(kv, builds, "pool", "llvm", "print pool time")
    assert (answer.code, answer.run["verdict"], answer.run["coverage"]["kind"]) == (0, "consistent", "complete")
    assert any("other seconds of the clock" in sentence for sentence in answer.run["assumptions"])
