"""Calls that store through a pointer of the program's: into a pool that is a store like any other."""

import json
import subprocess

import pytest

from powercut.base import paths
from powercut.compile import cc
from tests.program.program_mode import SOURCE, Kv

PAGE = 4096
FLAGS = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", str(SOURCE.with_name("told.c")), "-o"]


@pytest.mark.parametrize("tracer", ["llvm", "valgrind"])
def test_clock_gettime_into_the_pool(kv: Kv, tracer: str) -> None:
    program = kv.folder / "told"
    words = [*FLAGS, str(program)]
    subprocess.run(cc.build_command(words, cxx=False) if tracer == "llvm" else ["clang-19", *words], check=True)
    recorded = kv.cli("record", "--record", "./told pool", "--pool", "pool", "--tracer", tracer, "-o", "run.pct")
    assert recorded.code == 0, recorded.err
    answer = kv.cli("explore", "run.pct", "--recover", "true", "--budget", "2s", "--format", "text", "--json")
    assert answer.run["verdict"] == "consistent", answer.run["not_checked"]["notes"]
    dump = [paths.engine(), "dump", "--trace", kv.folder / "run.pct", "--format", "json"]
    lines = subprocess.run(dump, check=True, stdout=subprocess.PIPE).stdout.splitlines()
    events = [event for line in lines if (event := json.loads(line))["event"] == "trace_event"]
    pages = {event["offset"] // PAGE for event in events if event["kind"] == "store"}
    calls = subprocess.run(
        [program, kv.folder / "another"], check=True, stdout=subprocess.PIPE, text=True, cwd=kv.folder
    )
    untold = [name for number, name in enumerate(calls.stdout.splitlines()) if number not in pages]
    assert not untold
