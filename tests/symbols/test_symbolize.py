"""Symbolising a real library, source context, and fingerprints that survive a rebuild."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from powercut.engine.events import Module
from powercut.findings.fingerprint import fingerprint
from powercut.symbols import source
from powercut.symbols.function_names import function_name
from powercut.symbols.symbolize import Frame, Symbolizer, site_frame
from reports.tests.typed import finding_of

CODE = """\
#include "powercut/pmem.h"
int *place;
__attribute__((noinline)) int victim(int value) {
  keep(place, value);
  return value + 1;
}
"""
HELPER = """\
static inline __attribute__((always_inline)) void keep(volatile int *to, int value) {
  *to = value;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, int]:
    """A library, its folder, and the offset just after the store of `keep`, inlined into `victim`."""
    root = tmp_path_factory.mktemp("symbols")
    (root / "powercut").mkdir()
    (root / "powercut" / "pmem.h").write_text(HELPER)
    (root / "store.c").write_text(CODE)
    built = root / "libpowercut-x.so"
    subprocess.run(
        [
            "clang-19",
            "-g",
            "-O2",
            "-fno-omit-frame-pointer",
            "-shared",
            "-fPIC",
            "-I",
            str(root),
            str(root / "store.c"),
            "-o",
            str(built),
        ],
        check=True,
    )
    listing = subprocess.run(
        ["llvm-objdump-19", "-d", "--no-show-raw-insn", "--disassemble-symbols=victim", str(built)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    stores = [number for number, line in enumerate(listing) if "movl\t%edi, (%r" in line]
    return built, root, int(listing[stores[0] + 1].split(":")[0], 16)


def test_inlined_frames_and_the_users_site(library: tuple[Path, Path, int]) -> None:
    built, root, offset = library
    with Symbolizer(root=root) as symbolizer:
        frames = symbolizer.stack([Module(path=str(built))], [(0, offset)])
        again = symbolizer.stack([Module(path=str(built))], [(0, offset), (0, offset)])
    assert [(frame.function, frame.site, frame.inlined) for frame in frames] == [
        ("keep", "powercut/pmem.h:2", True),
        ("victim", "store.c:4", False),
    ]
    assert again == frames + frames
    chosen = site_frame(frames)
    assert chosen is not None
    assert chosen.site == "store.c:4"
    assert chosen.record()["module"] == "libpowercut-x.so"


def test_what_cannot_be_symbolised_stays_a_frame(library: tuple[Path, Path, int]) -> None:
    built, root, offset = library
    for program in (None, "/bin/false", "/nowhere"):
        with Symbolizer(program, root=root) as symbolizer:
            (frame,) = symbolizer.stack([Module(path="/no/such/lib.so")], [(0, 16)])
            assert (frame.function, frame.site, frame.module) == ("??", None, "lib.so")
            (other,) = symbolizer.stack([], [(7, 16)])
            assert other.module == "?"
    with Symbolizer("/bin/false", root=root) as symbolizer:
        assert symbolizer.stack([Module(path=str(built))], [(0, offset)])[0].site is None


def frame(file: str, line: int = 1) -> Frame:
    return Frame(function="f", file=file, line=line, column=1, module="m", offset=1, inlined=True)


@pytest.mark.parametrize(
    ("files", "chosen"),
    [
        (["level/layout.h", "level/insert.cc", "main.cc"], "level/insert.cc:1"),
        (["level/layout.h", "level/slots.h", "level/insert.cc"], "level/insert.cc:1"),
        (["include/powercut/pmem.h", "level/update.cc"], "level/update.cc:1"),
        (["include/table.h", "tests/main.cc"], "include/table.h:1"),
        (["lib/table.h", "app/main.cc", "lib/run.cc"], "lib/table.h:1"),
        (["/usr/include/c++/12/bits/stl.h", "level/a.cc"], "level/a.cc:1"),
        (["/usr/include/c++/12/bits/stl.h"], "/usr/include/c++/12/bits/stl.h:1"),
    ],
)
def test_site_is_the_line_that_a_person_wrote(files: list[str], chosen: str) -> None:
    found = site_frame([frame(file) for file in files])
    assert found is not None
    assert found.site == chosen


MERGED = """\
void first(void) {
  __asm__ volatile("nop");
  __asm__ volatile(".loc 1 0 0\\n\\tnop\\n\\tnop");
}
__attribute__((naked)) void second(void) { __asm__(".loc 1 0 0\\n\\tnop\\n\\tret"); }
"""


def test_code_of_line_zero_has_the_line_before_it(tmp_path: Path) -> None:
    (tmp_path / "code.c").write_text(MERGED)
    built = tmp_path / "code.so"
    compile_it = ["clang-19", "-gdwarf-4", "-O2", "-fPIC", "-shared", tmp_path / "code.c", "-o", built]
    subprocess.run(compile_it, check=True)
    listing = subprocess.run(
        ["llvm-objdump-19", "--disassemble-symbols=first,second", built], check=True, capture_output=True, text=True
    ).stdout
    nops = [int(line.split(":")[0], 16) for line in listing.splitlines() if line.endswith("\tnop")]
    modules = [Module(path=str(built))]
    with Symbolizer(root=tmp_path) as symbolizer:
        frames = [symbolizer.stack(modules, [(0, address + 1)])[0] for address in nops]
    assert len(frames) >= 4
    assert [(frame.function, frame.line) for frame in frames[:3]] == [("first", 2)] * 3
    # The line of another function says nothing.
    assert (frames[3].function, frames[3].line) == ("second", 0)


def module_frame(file: str | None, module: str, *, offset: int = 16, in_library: bool = False) -> Frame:
    return Frame(
        function="f",
        file=file,
        line=1 if file else 0,
        column=0,
        module=module,
        offset=offset,
        inlined=False,
        in_library=in_library,
    )


def test_site_is_never_in_a_library_of_the_distribution() -> None:
    # The debug information of libc names its files by relative paths; libpmemobj has none.
    memset = module_frame("sysdeps/x86_64/memset.S", "libc.so.6", in_library=True)
    library = module_frame(None, "libpmemobj.so.1", in_library=True)
    start = module_frame("sysdeps/nptl/libc_start_call_main.h", "libc.so.6", in_library=True)
    own = module_frame("queue.c", "queue")
    found = site_frame([memset, library, own, start])
    assert found == own
    # A program without debug information is named by the place in its file, and never by who started it.
    stripped = [module_frame(None, "queue", offset=0x12AB), module_frame(None, "queue", offset=0x11)]
    found = site_frame([memset, library, *stripped, start])
    assert found is not None
    assert found.place == "queue+0x12ab"
    assert site_frame([library, start]) == start


def test_source_context(tmp_path: Path) -> None:
    file = tmp_path / "a.cc"
    file.write_text("".join(f"line {number}\n" for number in range(1, 11)))
    lines = source.context(str(file), 2)
    assert lines is not None
    assert [line["line"] for line in lines] == [1, 2, 3, 4, 5]
    assert [line["line"] for line in lines if line["focus"]] == [2]
    assert source.context(str(file), 11) is None
    assert source.context(str(tmp_path / "none.cc"), 1) is None


def record(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "invariant": "lost-item",
        "target": "level",
        "operation": {"kind": "insert", "key": "17", "index": 4},
        "query": {"kind": "lookup", "key": "17"},
        "stores": [
            {"fate": "persisted", "identity": place("a = 1"), "site": "a.cc:8", "decisive": True, "offset": 64},
            {"fate": "lost", "identity": place("b = 1"), "site": "a.cc:5", "decisive": True, "offset": 128},
            {"fate": "lost", "identity": place("c = 1"), "site": "b.cc:1", "decisive": False, "offset": 0},
        ],
    }
    return {**base, **changes}


def place(text: str, *, ordinal: int = 0) -> dict[str, Any]:
    return {"file": "a.cc", "function": "level::insert", "text": text, "ordinal": ordinal, "by": "source"}


def test_fingerprint_ignores_what_a_rebuild_or_a_line_above_changes() -> None:
    name = fingerprint(finding_of(record()))
    assert len(name) == 12
    moved = record()["stores"]
    for store in moved:
        store["offset"] += 4096
        store["site"] = "a.cc:100"
    assert fingerprint(finding_of(record(stores=list(reversed(moved))))) == name
    assert fingerprint(finding_of(record(operation={"kind": "insert", "key": "5", "index": 9}))) == name
    assert fingerprint(finding_of(record(fault={"signal": "SIGSEGV", "site": "a.cc:1"}))) == fingerprint(
        finding_of(record(fault={"signal": "SIGSEGV", "site": "a.cc:9"}))
    )


def test_fingerprint_tells_findings_apart() -> None:
    stores, again = record()["stores"], record()["stores"]
    stores[1]["identity"] = place("b = 2")
    again[1]["identity"] = place("b = 1", ordinal=1)
    others = [
        record(invariant="torn-value"),
        record(target="cceh"),
        record(operation={"kind": "update"}),
        record(query={"kind": "walk"}),
        record(stores=stores),
        record(stores=again),
        record(underlying="leak"),
        record(fault={"signal": "SIGSEGV", "site": "a.cc:9"}),
        record(fault={"signal": "SIGSEGV", "identity": place("x()")}),
    ]
    assert len({fingerprint(finding_of(item)) for item in [record(), *others]}) == len(others) + 1


@pytest.mark.parametrize(
    ("signature", "name"),
    [
        ("level::insert(int, char const*)", "level::insert"),
        ("void f<std::vector<int>>(int)", "f"),
        ("(anonymous namespace)::g(int)", "g"),
        ("h.cold.1", "h"),
        ("plain_c", "plain_c"),
        ("??", "??"),
    ],
)
def test_function_names(signature: str, name: str) -> None:
    assert function_name(signature) == name
