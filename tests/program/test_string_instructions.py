"""A string instruction is one store, whose moves are cut as those of the function are that means the same."""

import json
import subprocess
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.compile import cc
from tests.program.program_mode import SOURCE, Kv

PROGRAM = SOURCE.with_name("string_instructions.c")
FLAGS = ["-O1", "-g", "-fno-builtin", "-Wall", "-Wextra", "-Werror", str(PROGRAM), "-o"]
#: Kind of the trace's stores.
MEMCALL = 4


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`calls`, by `powercut cc`; `instructions`, as anybody would build it."""
    folder = tmp_path_factory.mktemp("string-instructions")
    subprocess.run(cc.build_command([*FLAGS, str(folder / "calls"), "-DCALLS"], cxx=False), check=True)
    subprocess.run(["clang-19", *FLAGS, str(folder / "instructions")], check=True)
    return folder


def stores(trace: Path) -> list[tuple[int, str, int]]:
    """Place, bytes and flags of what the program has stored: the trace begins with what the pool held."""
    command = [paths.engine(), "dump", "--trace", trace, "--format", "json"]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    events = [event for line in lines if (event := json.loads(line))["event"] == "trace_event"]
    begin = next(number for number, event in enumerate(events) if event["kind"] == "phase")
    return [(event["offset"], event["bytes"], event["flags"]) for event in events[begin:] if event["kind"] == "store"]


@pytest.mark.parametrize(
    ("what", "at", "size"),
    [("movsb", 252, 70), ("movsb", 60, 15), ("stosb", 253, 300), ("movsq", 252, 200), ("down", 252, 70)],
)
def test_rep_movsb_cut_per_piece(kv: Kv, builds: Path, what: str, at: int, size: int) -> None:
    seen = {}
    for program, tracer in (("calls", "llvm"), ("instructions", "valgrind")):
        kv.pool.write_bytes(bytes(4096))
        command = f"{builds / program} pool {what} {at} {size}"
        options = ["--pool", "pool", "--keep-pool", "--tracer", tracer, "-o", f"{tracer}.pct"]
        answer = kv.cli("record", "--record", command, *options)
        assert answer.code == 0, answer.err
        seen[tracer] = stores(kv.folder / f"{tracer}.pct")
    ((offset, stored, flags),) = seen["valgrind"]
    assert (offset, len(stored) // 2, flags) == (at, size, MEMCALL)
    assert seen["llvm"] == seen["valgrind"]
