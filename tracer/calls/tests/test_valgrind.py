"""Under Valgrind a folder is recorded as without it, and stores through mappings are exact."""

import subprocess
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.engine.events import Module
from powercut.files import calls as files_calls
from powercut.files import record as files_record
from powercut.files.calls import BY_MAPPING, Call
from powercut.files.places import Places
from powercut.files.survey import survey
from powercut.symbols.symbolize import Symbolizer
from tests.real_engine import require_engine
from tracer.calls.tests.conformance import OTHER_UNDER_VALGRIND, SUITE, c_cases, difference, recorded_in

HERE = Path(__file__).parent


def test_stores_through_a_mapping_are_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_engine()
    program = tmp_path / "stores"
    subprocess.run(["clang-19", "-O1", "-g", "-pthread", "-D_GNU_SOURCE", "-o", program, HERE / "stores.c"], check=True)
    (folder := tmp_path / "folder").mkdir()
    monkeypatch.chdir(folder)
    found = files_record.record([str(program)], folder, tmp_path / "run.pct", tracer="valgrind")
    assert (found.status, found.missed) == (0, [])
    modules: list[Module] = []
    recorded = files_calls.records(paths.engine(), tmp_path / "run.pct", modules=modules)
    calls = [call for call in recorded if isinstance(call, Call) and call.kind in ("write", "sync")]
    assert [(call.kind, call.thread, call.offset, call.data) for call in calls] == [
        ("write", 0, 600, b"y"),
        ("write", 0, 0, b"x"),
        ("write", 0, 0, b"z"),
        ("sync", 0, 0, b""),
        ("sync", 1, 0, b""),
        ("write", 1, 1, b"t"),
        ("sync", 0, 0, b""),
        ("write", 2, 2, b"c"),
        ("write", 0, 3, b"m"),
        ("write", 0, 10, b"y\0"),
        ("write", 0, 16, b"\1\0\0\0"),
        ("write", 0, 96, b"QRST"),
    ]
    assert all(call.flags == BY_MAPPING for call in calls if call.kind == "write")
    with Symbolizer() as symbolizer:
        places = Places(modules, symbolizer)
        lines = [places.place(call.stack).rpartition(":")[2] for call in calls[:4]]
    source = (HERE / "stores.c").read_text(encoding="utf-8").splitlines()
    assert [source[int(line) - 1].partition("/* ")[2] for line in lines] == ["first */", "second */", "", "sync */"]


def test_stores_of_one_line_are_shown_together() -> None:
    def store(offset: int, stack: int) -> Call:
        stack_of = ((0, stack),)
        return Call(kind="write", by="", thread=0, inode=2, flags=BY_MAPPING, offset=offset, size=8, stack=stack_of)

    file = Call(kind="create", by="open", thread=0, inode=2, flags=1, folder=1, name=b"a")
    stores = [store(offset, stack=7) for offset in (0, 24, 8)]
    told = survey([Call(kind="started", by="", thread=0), file, *stores, store(0, stack=8), store(0, stack=8)])
    assert told.lines[1:] == [
        '     2  t0  3 stores through a mapping of "a", within 32 bytes at 0',
        '     5  t0  2 stores through a mapping of "a", within 8 bytes at 0',
    ]
    assert told.stacks[1:] == [((0, 7),), ((0, 8),)]


def test_a_store_that_was_not_seen_makes_the_verdict_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed process takes with it what it has not told."""
    require_engine()
    (folder := tmp_path / "folder").mkdir()
    monkeypatch.chdir(folder)
    killed = tmp_path / "killed.c"
    killed.write_text(
        "#include <fcntl.h>\n#include <sys/mman.h>\n#include <sys/wait.h>\n#include <signal.h>\n#include <unistd.h>\n"
        'int main(void) { int file = open("a", O_RDWR | O_CREAT, 0644); if (ftruncate(file, 4096)) return 1;\n'
        "  volatile char* memory = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);\n"
        "  pid_t child = fork(); if (child == 0) { memory[0] = 'x'; for (;;) {} }\n"
        "  while (memory[0] == 0) {} kill(child, SIGKILL); waitpid(child, 0, 0); }\n",
        encoding="utf-8",
    )
    subprocess.run(["clang-19", "-o", tmp_path / "killed", killed], check=True)
    found = files_record.record([str(tmp_path / "killed")], folder, tmp_path / "run.pct", tracer="valgrind")
    (missed,) = found.missed
    assert "'a'" in missed


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in c_cases() if name not in OTHER_UNDER_VALGRIND])
def test_a_program_leaves_the_same_calls(name: str, tmp_path: Path, programs: list[str]) -> None:
    case = c_cases()[name]
    assert difference(case, *recorded_in(tmp_path, case.command or [*programs, name], "valgrind")) is None


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The C programs, compiled once."""
    built = SUITE["c"].built(tmp_path_factory.mktemp("programs"))
    assert built is not None
    return built
