"""Each call has the stack that made it, with the lines of native code and without those of interpreters."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.cli.main import main
from powercut.engine.events import Module
from powercut.files import calls as files_calls
from powercut.files import record as files_record
from powercut.files.calls import Call
from powercut.files.places import Places, is_runtime
from powercut.symbols.symbolize import Symbolizer
from tests.real_engine import require_engine

HERE = Path(__file__).parent
#: For each call its system call, and the functions and lines of the program that led to it.
Stacks = list[tuple[str, list[tuple[str, int]]]]
Record = Callable[..., Stacks]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program and its library, compiled once."""
    folder = tmp_path_factory.mktemp("stacks")
    for name, words in (("stacks", ["-pthread"]), ("stacks_library", ["-shared", "-fPIC"])):
        made = folder / (f"lib{name}.so" if "-shared" in words else name)
        # This linker puts code at addresses that are not its places in the file.
        flags = ["-O2", "-g", "-fomit-frame-pointer", "-fuse-ld=lld", *words]
        subprocess.run(["clang-19", *flags, HERE / f"{name}.c", "-o", made, "-ldl"], check=True)
    return folder / "stacks"


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: Path) -> Iterator[Record]:
    """Records a command in an empty folder, which is its working folder."""
    require_engine()
    (folder := tmp_path / "folder").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LIBRARY", str(program.parent / "libstacks_library.so"))
    with Symbolizer() as symbolizer:

        def recorded(*command: str) -> Stacks:
            files_record.record(command, folder, tmp_path / "run.pct")
            modules: list[Module] = []
            found = list(files_calls.records(paths.engine(), tmp_path / "run.pct", modules=modules))
            places = Places(modules, symbolizer)
            return [
                (call.by, [(frame.function, frame.line) for frame in places.frames(call.stack) if frame.line])
                for call in found
                if isinstance(call, Call) and call.by
            ]

        yield recorded


def line(place: str, source: str = "stacks.c") -> int:
    """The number of the line that has this comment."""
    text = (HERE / source).read_text(encoding="utf-8").splitlines()
    (found,) = (number for number, content in enumerate(text, 1) if f"/* {place} */" in content)
    return found


STORE = ("store", line("store"))
FIRST, SECOND = [STORE, ("first", line("first"))], [STORE, ("second", line("second"))]


def test_equal_places_with_other_callers_are_told_apart(program: Path, record: Record) -> None:
    opened, *writes = record(str(program), "callers")
    assert opened == ("openat", [("main", line("main"))])
    assert [stack[:2] for _, stack in writes] == [FIRST, SECOND] * 3
    assert {function for _, stack in writes for function, _ in stack[2:]} == {"callers", "main"}


def test_frames_of_any_size(program: Path, record: Record) -> None:
    _, *writes = record(str(program), "sizes")
    assert [stack[:2] for _, stack in writes] == [[STORE, ("shifted", line("shifted"))]] * 3


def test_of_a_deep_stack_the_innermost_frames_are_kept(program: Path, record: Record) -> None:
    _, (_, stack) = record(str(program), "recursion")
    assert stack[0] == STORE
    assert {function for function, _ in stack[1:]} == {"deep"}
    assert 60 < len(stack) < 70


def test_a_library_that_is_loaded_late(program: Path, record: Record) -> None:
    _, (_, before), (_, within) = record(str(program), "library")
    assert [function for function, _ in before] == ["store", "library", "main"]
    assert within[0] == ("library_stores", line("library", "stacks_library.c"))
    assert [function for function, _ in within] == ["library_stores", "library", "main"]


def test_a_thread(program: Path, record: Record) -> None:
    _, (_, stack) = record(str(program), "thread")
    assert stack[:2] == FIRST
    assert [function for function, _ in stack] == ["store", "first", "in_thread"]


def test_children_and_other_programs(program: Path, record: Record) -> None:
    _, (_, first), (_, second), (by, shell) = record(str(program), "child")
    assert (first[:2], second[:2]) == (FIRST, SECOND)
    assert (by, shell) == ("write", []), "the C files of a shell are no place of its script"


def test_python_shows_the_code_of_libraries_alone(record: Record) -> None:
    script = (
        "import ctypes, os\nfile = open('a', 'wb', 0); file.write(b'x')\n"
        "ctypes.CDLL(os.environ['LIBRARY']).library_stores(file.fileno())"
    )
    assert record(sys.executable, "-c", script) == [
        *(("openat", []), ("write", [])),
        ("write", [("library_stores", line("library", "stacks_library.c"))]),
    ]


@pytest.mark.long
def test_node_shows_functions_that_it_names_for_perf(record: Record, tmp_path: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed: 'make setup-languages' installs it")
    script = tmp_path / "save.js"
    script.write_text(
        "const fs = require('node:fs');\n"
        "function save(name) {\n  fs.writeFileSync(name, 'x');\n}\n"
        "function main() {\n  save('a');\n}\nmain();\n",
        encoding="utf-8",
    )
    named = [("save", 2), ("main", 5), ("(anonymous)", 1)]
    options = ["--perf-basic-prof", "--interpreted-frames-native-stack"]
    # V8 keeps a log in the working folder as well, and its own code writes that.
    assert [call for call in record("node", *options, str(script)) if call[1]] == [("openat", named), ("write", named)]
    for map_of_node in Path("/tmp").glob("perf-*.map"):
        if str(script) in map_of_node.read_text(encoding="utf-8", errors="replace"):
            map_of_node.unlink()
    assert all(not stack for _, stack in record("node", str(script))), "without the options nothing is known of scripts"


def test_the_place_of_a_call_is_seen(program: Path, record: Record, capfd: pytest.CaptureFixture[str]) -> None:
    record(str(program), "callers")
    trace = os.path.join("..", "run.pct")
    assert main(["view", trace]) == 0
    seen = capfd.readouterr().out.splitlines()
    assert seen[1].endswith(f'write("a", 1 byte at 0)  @ store, {HERE.relative_to(paths.home())}/stacks.c:{STORE[1]}')
    assert main(["view", "--stacks", trace]) == 0
    seen = capfd.readouterr().out.splitlines()
    at = next(number for number, text in enumerate(seen) if "write(" in text)
    assert [text.split()[0] for text in seen[at + 1 : at + 5]] == ["store", "first", "callers", "main"]


@pytest.mark.parametrize(
    ("path", "runs_others"),
    [
        ("/usr/bin/python3.11", True),
        ("/opt/python/lib/libpython3.13t.so.1.0", True),
        ("/opt/python/lib/python3.12/lib-dynload/_sqlite3.cpython-312-x86_64-linux-gnu.so", True),
        ("/home/me/venv/lib/python3.12/site-packages/lmdb/cpython.cpython-312-x86_64-linux-gnu.so", False),
        ("/home/me/.nvm/versions/node/v22/bin/node", True),
        ("/opt/jdk/lib/server/libjvm.so", True),
        ("/bin/dash", True),
        ("/home/me/nodes", False),
        ("/home/me/pythonic", False),
        ("/home/me/libsqlite3.so.0", False),
    ],
)
def test_a_runtime_is_known_by_its_file(path: str, runs_others: bool) -> None:
    assert is_runtime(path) == runs_others
