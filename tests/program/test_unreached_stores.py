"""Functions that store to the pool and that nothing reached: a run without findings names them."""

import json
from pathlib import Path

import pytest

from powercut.cli.main import main
from powercut.compile import cc
from tests.program.program_mode import Kv
from tests.real_engine import require_engine

SOURCE = Path(__file__).parent / "programs" / "unreached.c"


@pytest.fixture
def program(kv: Kv) -> Kv:
    assert cc.run(["-std=gnu17", "-O2", "-g", "-mclwb", str(SOURCE), "-o", "unreached"], cxx=False) == 0
    return kv


def run(kv: Kv, *more: str) -> tuple[int, list[str], str]:
    """Exit code, the functions that nothing reached, and the text on stdout."""
    command = " ".join(["./unreached run pool", *more])
    arguments = ["--record", command, "--recover", "./unreached check pool", "--pool", "pool", "--no-canary"]
    answer = kv.cli("run", *arguments, "--format", "text,json,html,markdown")
    (made,) = json.loads(Path(".powercut/report.json").read_text(encoding="utf-8"))["runs"]
    assert (made["verdict"], made["coverage"]["kind"]) == ("consistent", "complete")
    return answer.code, [item["function"] for item in made["not_checked"]["stores_never_reached"]], answer.out


def test_a_buggy_function_that_never_ran_is_named_in_every_report(program: Kv) -> None:
    """The verdict stays; who reads it learns that `forgotten` was not part of it. Recovery reaches `repair`."""
    code, missed, out = run(program)
    assert (code, missed) == (0, ["forgotten"])
    line = 1 + next(n for n, text in enumerate(SOURCE.read_text().splitlines()) if "void forgotten" in text)
    sentence = "the stores of 1 function, which no operation and no recovery reached: forgotten"
    assert f"{sentence} (tests/program/programs/unreached.c:{line})" in out
    assert sentence in Path(".powercut/summary.md").read_text(encoding="utf-8").replace("\\", "")
    assert sentence in Path(".powercut/report.html").read_text(encoding="utf-8")


def test_a_run_that_reaches_every_function_names_none(program: Kv) -> None:
    code, missed, out = run(program, "all")
    assert (code, missed) == (0, [])
    assert "no operation and no recovery reached" not in out


def test_the_functions_of_a_target_that_no_run_reached_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Level hashing without its threads: what takes locks never runs. Two runs of a command are summed up."""
    require_engine()
    monkeypatch.setenv("NO_COLOR", "1")
    out = tmp_path / "out"
    arguments = ["run", "level:hardened", "--scenario", "insert", "--scenario", "erase", "--no-canary"]
    assert main([*arguments, "--format", "json", "--out", str(out)]) == 0
    first, second = json.loads((out / "report.json").read_text(encoding="utf-8"))["runs"]
    missed = {item["function"]: item["file"] for item in first["not_checked"]["stores_never_reached"]}
    assert missed["powercut::level::Locks::Cover"] == "targets/level/locks.h"
    assert not [name for name in missed if name.startswith("std::")] and "powercut::level::Table::Insert" not in missed
    assert second["not_checked"]["stores_never_reached"]
