"""A failure is said by its cause, through the real command line: limits of the system, odd files, odd numbers."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.engine import engine_words
from tests.cli.test_interrupt import environment
from tests.program.program_mode import Kv
from tests.real_engine import require_engine
from tools import docs

RUN = ("run", "level:hardened", "--scenario", "insert", "--explain", "0", "--format", "text")


def command(folder: Path, *arguments: str | bytes, limit: str = "") -> subprocess.CompletedProcess[str]:
    """A command line in a process of its own; `limit`: what the shell says before."""
    before = ["sh", "-c", f'{limit}; exec "$@"', "sh"] if limit else []
    return subprocess.run(
        [*before, sys.executable, "-m", "powercut", *arguments],
        cwd=folder, env=environment(), capture_output=True, check=False, encoding="utf-8", errors="replace",
    )  # fmt: skip


def assert_sentence(answer: subprocess.CompletedProcess[str], *said: str, code: int = ExitCode.USAGE) -> None:
    """One cause, without a traceback, and nothing about the engine as if a person had called it."""
    assert answer.returncode == code, answer.stderr
    assert "Traceback" not in answer.stderr
    assert "defect" not in answer.stderr
    assert "powercut-engine -" not in answer.stderr
    for words in said:
        assert words in answer.stderr


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_engine()
    folder = tmp_path_factory.mktemp("trace")
    answer = command(folder, "record", "level:hardened", "--scenario", "insert", "-o", "good.pct")
    assert answer.returncode == ExitCode.CLEAN, answer.stderr
    return folder / "good.pct"


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def damaged(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes(byte ^ 0x55 for byte in content[middle : middle + 64]) + content[middle + 64 :]


@pytest.mark.parametrize("change", [cut, damaged])
def test_a_damaged_trace(trace: Path, tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    (tmp_path / "x.pct").write_bytes(change(trace.read_bytes()))
    answer = command(tmp_path, "explore", "x.pct")
    assert_sentence(answer, "x.pct", "ecord it again with 'powercut record'")


@pytest.mark.parametrize("option", ["--seed", "--nested", "--jobs", "--step-budget", "--chunk-events"])
def test_a_number_that_is_too_large(tmp_path: Path, option: str) -> None:
    answer = command(tmp_path, *RUN, option, str(2**70))
    assert answer.returncode == ExitCode.USAGE
    assert f"'{option}'" in answer.stderr
    assert "less than or equal to" in answer.stderr
    assert not (tmp_path / ".powercut").exists()


def test_a_pipe_in_place_of_a_file(kv: Kv) -> None:
    for name in ("p.pct", "p.toml", "p.so", "pool.fifo"):
        os.mkfifo(kv.folder / name)
    assert_sentence(command(kv.folder, "explore", "p.pct"), "p.pct: this is a pipe, not a file")
    assert_sentence(command(kv.folder, "run", "level", "--scenario", "p.toml"), "p.toml: this is a pipe, not a file")
    assert_sentence(command(kv.folder, "run", "./p.so"), "./p.so: this is a pipe, not a file")
    record = ("record", "level:hardened", "--scenario", "insert", "-o", "p.pct")
    assert_sentence(command(kv.folder, *record), "p.pct: this is a pipe, not a file")
    assert (kv.folder / "p.pct").is_fifo()
    program = ("--record", "./kv run pool.fifo", "--recover", "./kv check pool.fifo", "--pool", "pool.fifo")
    assert_sentence(command(kv.folder, "run", *program), "--pool pool.fifo: this is not a regular file")


def test_a_path_that_is_not_utf8(trace: Path, tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/odd\xff"
    os.mkdir(odd)
    shutil.copy(trace, odd + b"/t\xff.pct")
    answer = command(tmp_path, "explore", odd + b"/t\xff.pct", "--out", odd + b"/out", "--format", "text,html,json")
    assert answer.returncode == ExitCode.CLEAN, answer.stderr
    assert os.path.exists(odd + b"/out/report.json")


@pytest.mark.parametrize("kilobytes", [120_000, 400_000])
def test_little_memory(tmp_path: Path, kilobytes: int) -> None:
    """RLIMIT_AS: of the command itself, of its threads, of the engine."""
    require_engine()
    answer = command(tmp_path, *RUN, limit=f"ulimit -v {kilobytes}")
    assert_sentence(answer, code=ExitCode.INCOMPLETE)
    assert f"memory is limited to {kilobytes // 1024} MiB (ulimit -v)" in answer.stderr + answer.stdout


@pytest.mark.parametrize("blocks", [0, 4])
def test_files_that_may_not_grow(tmp_path: Path, blocks: int) -> None:
    """RLIMIT_FSIZE."""
    require_engine()
    answer = command(tmp_path, *RUN, limit=f"ulimit -f {blocks}")
    assert answer.returncode in (ExitCode.USAGE, ExitCode.INCOMPLETE)
    said = answer.stderr + answer.stdout
    assert "(ulimit -f)" in said
    assert "Traceback" not in said
    assert "defect" not in said


def test_a_program_that_becomes_a_daemon(kv: Kv) -> None:
    said = kv.refused(
        "run", "--record", "sh -c 'sleep 100 >/dev/null 2>&1 & exit 0'", "--recover", "./kv check pool",
        "--pool", "pool", "--tracer", "valgrind",
    )  # fmt: skip
    assert "it went into the background as a daemon does" in said
    assert "Record it in the foreground" in said


def test_a_library_whose_path_is_not_utf8(tmp_path: Path) -> None:
    """The plan was "not well-formed JSON"."""
    require_engine()
    library = os.fsencode(tmp_path) + b"/l\xff.so"
    shutil.copy(paths.library_dir() / "libpowercut-level.so", library)
    answer = command(tmp_path, "run", library, "--scenario", "insert")
    assert_sentence(answer, "the path of this library is not UTF-8 text")


def test_errors_of_the_engine_name_no_option_of_its_own() -> None:
    """ "give a larger --operation-timeout" was said to people, whose command has no such option."""
    ours = set(re.findall(r"--[a-z][a-z-]+", docs.render()))
    home = paths.home()
    files = [path for room in ("base", "checker", "replayer", "tracer") for path in (home / room).rglob("*.cc")]
    wrong = []
    for path in files:
        if path.name.endswith("_test.cc"):
            continue
        text = path.read_text(encoding="utf-8")
        for call in re.finditer(r"\b(?:usage|harness)_error\((.*?)\);", text, re.S):
            words = engine_words.told(" ".join(re.findall(r'"((?:[^"\\]|\\.)*)"', call[1])))
            wrong += [f"{path.name}: {name}" for name in re.findall(r"--[a-z][a-z-]+", words) if name not in ours]
            wrong += [f"{path.name}: {name}" for name in re.findall(r"'powercut-engine [a-z]+", words)]
    assert not wrong


def test_after_kill_9_nothing_goes_on_for_a_second(kv: Kv) -> None:
    """A program that ignores SIGTERM went on for a second and a half."""
    beat = kv.folder / "beat"
    program = f"sh -c 'trap \"\" TERM HUP; while true; do touch {beat}; sleep 0.05; done'"
    words = ["run", "--record", program, "--recover", "./kv check pool", "--pool", "pool"]
    process = subprocess.Popen(
        [sys.executable, "-m", "powercut", *words],
        cwd=kv.folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    with process:
        _until(beat.exists)
        process.send_signal(signal.SIGKILL)
    ended = _now(kv.folder)
    _until(lambda: _now(kv.folder) - beat.stat().st_mtime > 2)
    assert beat.stat().st_mtime - ended < 1


def _now(folder: Path) -> float:
    """By the clock of the files."""
    probe = folder / "now"
    probe.touch()
    return probe.stat().st_mtime


def _until(condition: Callable[[], bool]) -> None:

    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
