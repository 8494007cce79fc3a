"""`--threads scheduled`: threaded programs that were built with `powercut cc` run in every schedule within a bound.

Each program of `programs/threads` has a bug, most of them one that needs a certain schedule, and a twin without it.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from powercut.compile import cc
from powercut_reports.records.run import RunRecord
from powercut_reports.story import schedules_words
from tests.program.program_mode import Answer, Kv

SOURCES = Path(__file__).parent / "programs" / "threads"
#: Program, and what its bug is found as.
BUGS = {
    "publish.c": ("recovery-failed", "exit status 1"),
    "mutexes.cc": ("deadlock", "thread 2 waits for a lock or a condition; thread 3 waits for a lock or a condition"),
    "condition.cc": ("deadlock", "thread 1 waits for the end of thread 2; thread 2 waits for a lock or a condition"),
    "shared_mutex.cc": ("recovery-failed", "exit status 1"),
    "waiting_loop.cc": ("recovery-failed", "exit status 1"),
    "dies.c": ("unusable", "The program died of SIGSEGV"),
    "queue.c": ("structure", "the dump is that of no prefix of the operations"),
}


@pytest.fixture
def kv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kv:
    monkeypatch.chdir(tmp_path)
    return Kv(tmp_path, monkeypatch, capsys)


def build(folder: Path, source: str, *flags: str, name: str = "prog") -> None:
    """A program as `powercut cc` or `powercut c++` builds it."""
    words = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{SOURCES}", *flags]
    words += [str(SOURCES / source) if not source.startswith("/") else source, "-o", str(folder / name)]
    subprocess.run(cc.build_command(words, cxx=source.endswith(".cc")), check=True)


def judge(kv: Kv, *more: str) -> Answer:
    words = ["--record", "./prog run pool", "--recover", "./prog check pool", "--pool", "pool"]
    return kv.cli("run", *words, "--threads", "scheduled", "--explain", "0", "--format", "text", "--json", *more)


def dumps(source: str) -> list[str]:
    return ["--dump", "./prog dump pool"] if source == "queue.c" else []


@pytest.mark.parametrize("source", BUGS)
def test_the_bug_is_found(kv: Kv, source: str) -> None:
    build(kv.folder, source, "-DBUG")
    answer = judge(kv, *dumps(source))
    assert answer.code == 1, answer
    invariant, message = BUGS[source]
    found = [(item["invariant"], item["message"]) for item in answer.run["findings"]]
    assert any(name == invariant and message in text for name, text in found), found
    assert answer.run["coverage"]["schedules"]["complete"]


@pytest.mark.parametrize("source", BUGS)
def test_the_twin_is_clean(kv: Kv, source: str) -> None:
    build(kv.folder, source)
    answer = judge(kv, *dumps(source))
    assert (answer.code, answer.run["verdict"], answer.run["findings"]) == (0, "consistent", []), answer
    run = RunRecord.model_validate(answer.run)
    assert run.coverage.kind == "complete"
    assert run.coverage.schedules is not None
    assert "with at most 2 preemptions" in schedules_words(run.coverage.schedules)
