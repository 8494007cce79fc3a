"""The tracer's conformance suite: each program, built by the wrapper at -O0 and -O2, leaves the expected trace.

Every clang that the wrapper takes is held to the same files: whichever the user has, the trace is the same.

`expected/<program>.txt` holds the trace in a text form that addresses and builds do not change: one event a
line with its kind, offset, bytes and flags, and the function and line of the innermost frame. Where the
compiler may legitimately choose other instructions there are `<program>.O0.txt` and `<program>.O2.txt`, and
`<program>.<clang>.txt` where one clang's code differs: clang 14 makes of the constraint "p" the address of a copy of
the pointer, and flushes that.

`make goldens` (POWERCUT_UPDATE_GOLDENS=1) rewrites them with the first compiler; a common file splits in two when
the levels differ.
"""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.compile import cc, compilers

HERE = Path(__file__).parent
PROGRAMS = sorted(path for path in (HERE / "programs").iterdir() if path.suffix in {".c", ".cc"})
LEVELS = ("O0", "O2")
CLANGS = tuple(f"clang-{major}" for major in compilers.PLUGINS)
#: Programs whose trace is the same, event by event, by gcc's callbacks. The others have inline assembly, locks, masked
#: vectors, structures (copied in other pieces) or threads, or are not written for gcc.
BY_CALLBACKS = (
    *("atomics", "coroutines", "edges", "exceptions", "fences", "flushes", "fortified", "stacks", "strings"),
    "vectors_sse",
)
SYMBOLIZER = "llvm-symbolizer-19"
FLAGS = ((2, "atomic"), (4, "memcall"), (8, "locked"), (16, "continues"))
UPDATE = bool(os.environ.get("POWERCUT_UPDATE_GOLDENS"))


@dataclass(frozen=True)
class Program:
    """A test program and what its first comments ask for."""

    source: Path
    flags: tuple[str, ...]
    cpu: tuple[str, ...]
    levels: tuple[str, ...]
    #: Compilers that end with a signal over it.
    crashes: tuple[str, ...]

    @classmethod
    def read(cls, source: Path) -> "Program":
        wishes: dict[str, tuple[str, ...]] = {}
        for match in re.finditer(
            r"^// (flags|cpu|levels|crashes): (.*)$", source.read_text(encoding="utf-8"), re.MULTILINE
        ):
            wishes[match[1]] = tuple(match[2].split())
        levels, crashes = wishes.get("levels", LEVELS), wishes.get("crashes", ())
        return cls(source, wishes.get("flags", ()), wishes.get("cpu", ()), levels, crashes)


@cache
def cpu_features() -> frozenset[str]:
    """The features of this machine's processor."""
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("flags"):
            return frozenset(line.split(":", 1)[1].split())
    return frozenset()


def build(program: Program, level: str, folder: Path) -> Path:
    """The instrumented executable."""
    executable = folder / program.source.stem
    argv = [f"-{level}", "-Wall", "-Werror", f"-I{paths.home() / 'targets/include'}", *program.flags]
    argv += [str(program.source), "-o", str(executable)]
    subprocess.run(cc.build_command(argv, cxx=program.source.suffix == ".cc"), check=True)
    return executable


def record(executable: Path) -> list[dict[str, Any]]:
    """The events of a run, as the engine dumps them; the modules are the last."""
    trace = executable.with_suffix(".pct")
    subprocess.run([executable], check=True, env={**os.environ, "POWERCUT_TRACE": str(trace)})
    dump = subprocess.run(
        [paths.engine(), "dump", "--trace", str(trace), "--format", "json"], check=True, stdout=subprocess.PIPE
    )
    return [json.loads(line) for line in dump.stdout.splitlines()]


@pytest.fixture(scope="module")
def symbolizer() -> Iterator["subprocess.Popen[str]"]:
    """One process for all tests: to start it takes longer than the answers for a program."""
    words = [SYMBOLIZER, "--output-style=JSON", "--functions=short"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process


def places(symbolizer: "subprocess.Popen[str]", module: str, offsets: list[int]) -> list[str]:
    """function:line of each offset: the innermost function, inlined or not, of the suite's own sources."""
    assert symbolizer.stdin is not None and symbolizer.stdout is not None
    chains = []
    for offset in offsets:
        symbolizer.stdin.write(f'CODE "{module}" 0x{offset:x}\n')
        symbolizer.stdin.flush()
        chains.append(json.loads(symbolizer.stdout.readline())["Symbol"])
    # glibc's headers inline the fortified functions, at lines of their own.
    symbols = [next(symbol for symbol in chain if symbol["FileName"].startswith(str(HERE))) for chain in chains]
    return [f"{symbol['FunctionName'].split('(')[0]}:{symbol['Line']}" for symbol in symbols]


def text_form(events: list[dict[str, Any]], executable: Path, symbolizer: "subprocess.Popen[str]") -> Iterator[str]:
    """The trace as in the golden files."""
    modules = next(event["modules"] for event in events if event["event"] == "modules")
    own = [index for index, module in enumerate(modules) if Path(module["path"]) == executable.resolve()]
    recorded = [event for event in events if event["event"] == "trace_event"]
    sites = sorted({tuple(event["stack"][0]) for event in recorded if event["stack"]})
    assert all(site[0] in own for site in sites), "an innermost frame outside the program"
    names = (
        dict(zip(sites, places(symbolizer, str(executable), [site[1] for site in sites]), strict=True)) if sites else {}
    )
    threads = len({event["thread"] for event in recorded}) > 1
    for event in recorded:
        parts = [f"t{event['thread']}"] if threads else []
        parts.append(event["kind"])
        if "offset" in event:
            parts.append(str(event["offset"]))
        if "bytes" in event:
            parts += [str(len(event["bytes"]) // 2), event["bytes"]]
            parts += [name for bit, name in FLAGS if event["flags"] & bit]
        parts += [event[key] for key in ("code", "text") if key in event]
        if event["stack"]:
            parts.append(f"@ {names[tuple(event['stack'][0])]}")
        yield " ".join(parts) + "\n"


def golden(program: Program, level: str, clang: str) -> Path:
    """The expected file that holds for a level and a compiler."""
    names = (f"{program.source.stem}.{part}.txt" for part in (clang, level))
    own = next((HERE / "expected" / name for name in names if (HERE / "expected" / name).exists()), None)
    return own or HERE / "expected" / f"{program.source.stem}.txt"


def update(program: Program, traces: dict[str, str]) -> None:
    """Writes one file when the levels agree, else one each."""
    common = HERE / "expected" / f"{program.source.stem}.txt"
    for old in (common, *(common.with_suffix(f".{level}.txt") for level in LEVELS)):
        old.unlink(missing_ok=True)
    if len(set(traces.values())) == 1:
        common.write_text(next(iter(traces.values())), encoding="utf-8")
        return
    for level, trace in traces.items():
        common.with_suffix(f".{level}.txt").write_text(trace, encoding="utf-8")


@pytest.mark.parametrize(
    "clang",
    # The oldest and the newest one in the quick test.
    [name if name in (CLANGS[0], CLANGS[-1]) else pytest.param(name, marks=pytest.mark.long) for name in CLANGS],
)
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda source: source.stem)
def test_trace(
    source: Path,
    clang: str,
    symbolizer: "subprocess.Popen[str]",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POWERCUT_CLANG", clang)
    monkeypatch.delenv("POWERCUT_CLANGXX", raising=False)
    program = Program.read(source)
    missing = set(program.cpu) - cpu_features()
    if missing:
        pytest.skip(f"this processor lacks {' '.join(sorted(missing))}")
    if clang in program.crashes:
        for level in program.levels:
            with pytest.raises(subprocess.CalledProcessError):  # once it does not, the program's comment is stale
                build(program, level, tmp_path)
        return
    traces = {}
    for level in program.levels:
        folder = tmp_path / level
        folder.mkdir()
        executable = build(program, level, folder)
        traces[level] = "".join(text_form(record(executable), executable, symbolizer))
    if UPDATE and clang == CLANGS[0]:
        update(program, traces)
    for level, trace in traces.items():
        assert trace == golden(program, level, clang).read_text(encoding="utf-8"), f"{source.name} at -{level}, {clang}"


@pytest.mark.parametrize("stem", BY_CALLBACKS)
def test_the_same_by_callbacks_of_gcc(
    stem: str, symbolizer: "subprocess.Popen[str]", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERCUT_CLANG", "gcc")
    monkeypatch.delenv("POWERCUT_CLANGXX", raising=False)
    program = Program.read(next(source for source in PROGRAMS if source.stem == stem))
    if missing := set(program.cpu) - cpu_features():
        pytest.skip(f"this processor lacks {' '.join(sorted(missing))}")
    executable = build(program, "O2", tmp_path)
    trace = "".join(text_form(record(executable), executable, symbolizer))
    assert trace == golden(program, "O2", "gcc").read_text(encoding="utf-8")
