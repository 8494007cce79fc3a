"""A budget of time is kept, whatever the time goes into, and the commonest bug is found at once.

The library is `libraries/large_value.c`: a value without its flush or fence leaves more images than anybody waits for.
Limits are generous, since the machine may be busy.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.cli.main import main
from powercut.compile import cc
from tests.program.program_mode import Kv

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parent / "libraries" / "large_value.c"
#: Seconds that a command may take beyond its budget: for a busy machine, the start of Python, and the reports.
BUSY = 20.0
BUDGET = 2.0

SCENARIO = """
schema = 1
name = "{name}"
summary = "One value of {size} bytes."
targets = ["large"]
[pool]
size = "1MiB"
[data]
key_size = 16
value_size = {size}
[[phase]]
name = "one"
steps = [{steps}]
"""


def record_of(folder: Path) -> dict[str, Any]:
    """The record of the one run."""
    (file,) = (folder / ".powercut" / "runs").glob("*.json")
    record = json.loads(file.read_text())
    assert isinstance(record, dict)
    return record


Judge = Callable[..., tuple[int, dict[str, Any], float]]


def source_of(store: dict[str, Any]) -> str:
    """The line of the library that makes the store."""
    return SOURCE.read_text().splitlines()[int(store["site"].rpartition(":")[2]) - 1]


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Judge:
    """`powercut run` on the library: its exit code, the run, and the seconds that it took."""
    monkeypatch.chdir(tmp_path)

    def carried_out(*more: str, size: int, defines: tuple[str, ...] = (), look_up: bool = False) -> Any:
        flags = ["-O2", "-g", "-shared", "-fPIC", *(f"-D{name}" for name in defines), str(SOURCE)]
        subprocess.run(cc.build_command([*flags, "-o", "liblarge.so"], cxx=False), check=True)
        steps = '{ op = "insert", from = 1, to = 1 }' + (', { op = "lookup", keys = [1] }' if look_up else "")
        (tmp_path / "scenarios").mkdir(exist_ok=True)
        text = SCENARIO.format(name="value", size=size, steps=steps)
        (tmp_path / "scenarios" / "value.toml").write_text(text)
        capsys.readouterr()
        begun = time.monotonic()
        code = main(["run", "./liblarge.so", "--scenario", "value", "--json", *more])
        seconds = time.monotonic() - begun
        return code, record_of(tmp_path), seconds

    return carried_out


@pytest.mark.parametrize("size", [64, 256, 4096, 65536])
def test_a_value_without_its_fence_is_found_within_a_budget(judge: Judge, size: int) -> None:
    code, run, seconds = judge("--budget", f"{BUDGET:g}s", size=size, defines=("BUG",))
    assert code == 1
    assert seconds < BUDGET + BUSY
    found = [finding for finding in run["findings"] if finding["invariant"] == "torn-value"]
    assert found
    lost = [store for store in found[0]["stores"] if store["fate"] != "persisted"]
    assert lost
    assert all("memcpy(value_of(slot)" in source_of(store) for store in lost)
    if size > 64:
        assert run["coverage"]["kind"] == "sampled"
        assert run["coverage"]["reason"] == f"the budget of {BUDGET:g} s was used up"
        assert int(run["coverage"]["covered"]) < int(run["coverage"]["total"])


@pytest.mark.parametrize("size", [256, 4096])
def test_a_value_with_its_fence_is_clean_and_complete(judge: Judge, size: int) -> None:
    code, run, _ = judge("--budget", "60s", size=size)
    assert (code, run["verdict"], run["coverage"]["kind"]) == (0, "consistent", "complete")


def test_a_value_without_its_fence_is_found_before_its_crash_point_is_explored(judge: Judge, tmp_path: Path) -> None:
    """The engine, without a budget, tells of it and goes on: it would do so for longer than anybody waits."""
    judge("--budget", "500ms", size=4096, defines=("BUG",))
    trace = next((tmp_path / ".powercut" / "traces").glob("*.pct"))
    words = [str(paths.engine()), "explore", "--trace", str(trace), "--jobs", "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as engine:
        try:
            assert engine.stdout is not None
            events = (json.loads(line) for line in engine.stdout)
            finding = next(event for event in events if event["event"] in ("finding", "result"))
        finally:
            engine.kill()
    assert finding["event"] == "finding"
    assert [store["fate"] for store in finding["stores"]].count("lost") == 1


def test_an_operation_that_hangs_while_it_is_recorded_is_ended_by_the_watchdog(judge: Judge) -> None:
    code, run, seconds = judge("--watchdog", "1", size=64, defines=("HANGS",), look_up=True)
    assert (code, run["verdict"]) == (3, "unknown")
    assert "within 1 seconds" in run["error"]["what"]
    assert seconds < 1 + BUSY


# ---- program mode --------------------------------------------------------------------------------------


def program(kv: Kv, *more: str, budget: float = BUDGET, **commands: str) -> tuple[int, dict[str, Any], float]:
    """`powercut run` on the log: its exit code, the run, and the seconds that it took."""
    given = {"record": "./kv run pool", "recover": "./kv check pool", "pool": "pool", "jobs": "2", **commands}
    words = [word for option, value in given.items() for word in (f"--{option}", value)]
    begun = time.monotonic()
    answer = kv.cli("run", *words, *more, "--budget", f"{budget:g}s", "--json")
    return answer.code, record_of(kv.folder), time.monotonic() - begun


def script(kv: Kv, name: str, text: str) -> str:
    file = kv.folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return f"./{name}"


def test_a_budget_ends_a_recording(kv: Kv) -> None:
    slow = script(kv, "slow", './kv run "$1"; sleep 60')
    code, run, seconds = program(kv, record=f"{slow} pool")
    assert (code, run["verdict"]) == (3, "unknown")
    assert "the budget ended before the program was recorded" in run["error"]["what"]
    assert seconds < BUDGET + BUSY


def test_a_budget_ends_the_look_at_what_operations_leave(kv: Kv) -> None:
    slow = script(kv, "slow", './kv dump "$1"; sleep 0.4')
    code, run, seconds = program(kv, dump=f"{slow} pool")
    assert (code, run["coverage"]["kind"]) == (3, "sampled")
    assert any("the budget ended while --dump was run" in note for note in run["not_checked"]["notes"])
    assert run["findings"] == []
    assert seconds < BUDGET + BUSY


def test_a_budget_ends_a_recovery_that_is_under_way(kv: Kv) -> None:
    """It blocks on each image that is not the pool as the program has left it, for less than --timeout."""
    kv.cli("run", *kv.arguments("./kv", "--keep-pool"))
    (kv.folder / "last").write_bytes(kv.pool.read_bytes())
    kv.pool.unlink()
    shutil.rmtree(kv.folder / ".powercut")
    slow = script(kv, "slow", 'cmp -s "$1" last || sleep 50; ./kv check "$1"')
    code, run, seconds = program(kv, "--timeout", "60s", recover=f"{slow} pool")
    assert (code, run["coverage"]["kind"]) == (3, "sampled")
    assert run["coverage"]["reason"] == f"the budget of {BUDGET:g} s was used up"
    assert seconds < BUDGET + BUSY


def test_a_budget_ends_the_search_for_a_cause(kv: Kv) -> None:
    """Each run of recovery blocks for long once something was found, so that no search comes to its end."""
    kv.bug("order")
    slow = script(kv, "slow", 'ls .powercut/findings/*.json 2> /dev/null && sleep 30; ./kv check "$1"')
    code, run, seconds = program(kv, "--timeout", "60s", budget=5, recover=f"{slow} pool")
    assert code == 1
    assert run["findings"]
    assert all(finding["cause"]["kind"] == "unexplained" for finding in run["findings"])
    assert seconds < 5 + BUSY
