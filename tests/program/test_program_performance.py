"""Performance bugs of programs: each useless flush and fence by the line that asked for it, and no other."""

import subprocess
from pathlib import Path

import pytest

from powercut.compile import cc
from tests.program.program_mode import Kv

SOURCE = Path(__file__).parent / "programs" / "useless.c"


def line_of(comment: str) -> str:
    """The end of the site of the line with this comment."""
    lines = SOURCE.read_text().splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if f"/* {comment} */" in line)
    return f"useless.c:{number}"


@pytest.mark.parametrize("tracer", ["llvm", "valgrind"])
def test_useless_flushes_and_fences_and_lost_stores_are_advice(kv: Kv, tracer: str) -> None:
    words = ["-O0", "-g", "-Wall", "-Wextra", "-Werror", str(SOURCE), "-o", str(kv.folder / "useless")]
    compiled = cc.build_command(words, cxx=False) if tracer == "llvm" else ["clang-19", "-gdwarf-4", *words]
    subprocess.run(compiled, check=True)
    commands = ["--record", "./useless run pool", "--recover", "./useless check pool", "--pool", "pool"]
    answer = kv.cli("run", *commands, "--tracer", tracer, "--format", "text,html", "--json")
    # They make no run fail.
    assert (answer.code, answer.run["verdict"], answer.run["coverage"]["kind"]) == (0, "consistent", "complete")
    told = {
        (row["kind"], row["site"].rpartition("/")[2]): (row["count"], row["of"])
        for row in answer.run["performance_bugs"]
    }
    assert told == {
        ("redundant-flush", line_of("useless flush")): (1, 1),
        ("redundant-fence", line_of("useless fence")): (3, 3),
        ("redundant-fence", line_of("useless sync")): (1, 1),
        ("never-persisted", line_of("durable but for the last time")): (1, 4),
        ("never-persisted", line_of("never durable")): (1, 1),
    }
    page = (kv.folder / ".powercut" / "report.html").read_text()
    assert line_of("useless flush") in page
    # Unless they are to.
    failing = kv.cli("run", *commands, "--tracer", tracer, "--format", "text", "--fail-on", "redundant-flush")
    assert failing.code == 1
    assert f"{line_of('useless fence')}  3 of 3" in failing.out
