"""Which room may use which: what a file includes or imports stands in its own room or in one before it."""

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

NATIVE = (
    "targets/include",
    "base",
    "tracer/file_calls",
    "tracer/other_files",
    "tracer/format",
    "tracer/calls",
    "tracer/stream",
    "tracer/pmemcheck",
    "tracer/runtime",
    "tracer/runtime/contents",
    "tracer/runtime/instructions",
    "tracer/runtime/hooks",
    "tracer/runtime/threads",
    "tracer/runtime/recording",
    "tracer/runtime/calls",
    "tracer/runtime/reads",
    "tracer/llvm/asm",
    "tracer/llvm",
    "tracer/valgrind",
    "tracer/pin",
    "targets",
    "tracer/world",
    "tracer/record",
    "tracer/view",
    "replayer/models",
    "replayer/media",
    "replayer/schedules",
    "replayer/undecided",
    "replayer/executor",
    "replayer/strategies",
    "replayer/crash_points",
    "replayer/search",
    "replayer/explorer",
    "checker/oracle",
    "checker/schedules",
    "checker/trace",
    "checker/findings",
    "checker/edit",
    "checker/subjects/library",
    "checker/subjects/program/forkserver",
    "checker/subjects/program/images",
    "checker/subjects/program/commands",
    "checker/subjects/program/processes",
    "checker/subjects/program/reads",
    "checker/subjects/program/workers",
    "checker/subjects/program/outputs",
    "checker/subjects/program",
    "checker/subjects/program/trees",
    "checker/subjects/program/schedules",
    "checker/replay",
    "checker/exploration",
    "checker/exploration/chunks",
    "checker/exploration/walks",
    "checker/exploration/trees",
    "checker/audit",
    "checker/faults",
    "engine",
)
PYTHON = (
    "base",
    "models",
    "engine",
    "symbols",
    "scenarios",
    "findings",
    "claims",
    "program",
    "files",
    "real_fs",
    "runs",
    "confirm",
    "machines",
    "minimise",
    "cause",
    "corpus",
    "necessity",
    "cost",
    "compile",
    "litmus",
    "new_target",
    "gate",
    "testing",
    "cli",
)
# The rooms that put reports together or show parts of them.
SHOWS = ("gate", "testing", "cli")


def native_room(path: str) -> str:
    return max((room for room in NATIVE if path.startswith(room + "/")), key=len, default="")


def included(path: Path) -> Iterator[str]:
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
        if name.startswith("powercut/"):
            yield f"targets/include/{name}"
        elif (ROOT / name).is_file():
            yield name


def native_files() -> Iterator[Path]:
    for top in sorted({room.split("/")[0] for room in NATIVE}):
        for path in sorted((ROOT / top).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            is_test = re.search(r"_test\.cc$|/test_\w+\.h$|/tests/|/testdata/|/regression/|bench", name)
            if path.suffix in (".c", ".cc", ".h") and not is_test:
                yield path


def test_native_files_use_rooms_below_them() -> None:
    seen = 0
    for path in native_files():
        name = path.relative_to(ROOT).as_posix()
        room = native_room(name)
        for other in included(path):
            below = native_room(other)
            assert below, f"{other} stands in no room of this list"
            seen += 1
            assert NATIVE.index(below) <= NATIVE.index(room), f"{name} of {room} includes {other} of {below}"
    assert seen > 500


@pytest.mark.parametrize(
    "room", ["tracer/file_calls", "tracer/stream", "tracer/valgrind", "tracer/pin", "tracer/runtime"]
)
def test_no_part_of_a_tracer_needs_itself(room: str) -> None:
    """A header and the file that has its functions are one part."""
    graph: dict[str, set[str]] = {}
    for path in native_files():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(room + "/"):
            part = name.rpartition(".")[0]
            graph.setdefault(part, set()).update({other.rpartition(".")[0] for other in included(path)} - {part})
    assert graph
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle: {' → '.join(error.args[1])}") from None


def test_one_file_reads_the_headers_of_the_command_lines_library() -> None:
    """They take a processor several seconds, and each command has options."""
    readers = {path for path in native_files() if "#include <CLI/" in path.read_text(encoding="utf-8")}
    assert readers == {ROOT / "base" / "command_line.cc"}


def modules(package: Path) -> dict[str, Path]:
    out = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        out[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return out


def imports(path: Path, known: dict[str, Path]) -> set[str]:
    """Imports of modules, also inside functions and for types alone."""
    out = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            out |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            out |= {name if name in known else node.module for name in names}
    return out


def test_python_rooms_use_rooms_below_them() -> None:
    known = modules(ROOT / "powercut")
    for name, path in known.items():
        parts = name.split(".")
        if len(parts) < 2 or parts[1] not in PYTHON:  # powercut itself, __main__, stateful: the public face
            assert len(parts) < 2 or path.parent == ROOT / "powercut", f"{name} is in no room of this list"
            continue
        for other in imports(path, known):
            if other.startswith("powercut_reports"):
                assert parts[1] in SHOWS, f"{name} imports {other}"
            if other.split(".")[0] == "tools":
                raise AssertionError(f"{name} imports {other}, which no user has")
            if other in known and "." in other and other.split(".")[1] in PYTHON:
                below = other.split(".")[1]
                assert PYTHON.index(below) <= PYTHON.index(parts[1]), f"{name} imports {other}"


@pytest.mark.parametrize("package", ["powercut", "powercut_records", "reports/powercut_reports"])
def test_no_module_needs_itself(package: str) -> None:
    known = modules(ROOT / package)
    graph = {name: {other for other in imports(path, known) if other in known} - {name} for name, path in known.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle: {' → '.join(error.args[1])}") from None


@pytest.mark.parametrize(
    ("package", "above"),
    [("reports/powercut_reports", {"powercut"}), ("powercut_records", {"powercut", "powercut_reports"})],
)
def test_a_package_knows_nothing_of_those_above_it(package: str, above: set[str]) -> None:
    """Records stand below reports and below `powercut`, and import neither."""
    known = modules(ROOT / package)
    assert known
    for name, path in known.items():
        assert not {other for other in imports(path, known) if other.split(".")[0] in above}, name


def test_a_medium_is_asked_and_never_known_by_its_name() -> None:
    """A peculiarity of a medium is a property of its `Medium` or its `Persistency` (replayer/media)."""
    table = (ROOT / "replayer/media/media.def").read_text(encoding="utf-8")
    media = re.findall(r"MEDIUM\((\w+)\)", table)
    assert len(media) >= 3
    models = {"adr", "eadr", *media} - {"memory"}
    compared = re.compile(rf'[!=]=\s*"(?:{"|".join(sorted(models))})"|"(?:{"|".join(sorted(models))})"\s*[!=]=')
    assert compared.search('model == "eadr"')
    for top in ("replayer", "checker", "engine"):
        for path in sorted((ROOT / top).rglob("*")):
            place = path.relative_to(ROOT).as_posix()
            own = (
                place.startswith("replayer/media/") or place == "replayer/models/plain_model.h"
            )  # an opponent of tests
            if path.suffix in (".cc", ".h") and not own and not place.endswith("_test.cc"):
                found = compared.search(path.read_text(encoding="utf-8"))
                assert not found, f"{place}: {found[0]}"
    for medium in media:
        assert f"const Medium& {medium}_medium()" in "".join(
            path.read_text(encoding="utf-8") for path in sorted((ROOT / "replayer/media" / medium).glob("*.cc"))
        )
        assert list((ROOT / "replayer/media" / medium / "litmus").glob("*.toml")), f"{medium} has no litmus test"


#: Places that know a medium by itself. The trace's metadata have the layout of a device. A target names its medium.
#: A fault of a device damages the cells of that device.
KNOW_A_MEDIUM = {
    "checker/faults",
    "checker/subjects/program/images/trace_pools.cc",
    "checker/subjects/program/images/trace_pools.h",
    "checker/trace/loaded_trace.h",
    "engine/commands/convert_command.cc",
    "engine/commands/describe_command.cc",
    "engine/plan_recording.cc",
    "engine/stream_metadata.cc",
}


def test_the_files_of_a_medium_are_written_by_its_writer() -> None:
    """How a file lies in the lines of a trace is said by its `ImageWriter` (replayer/media/image_writer.h)."""
    asked = re.compile(
        r"\bPOWERCUT_(?:MEMORY|BLOCK|FLASH)\b|\b(?:memory|block|flash)_medium\(\)|\b(?:window|pools?|file)\S*(?:\.|->)device\b"
        r"|\bDeviceLayout\b|\beach_sector\b|\bpowercut_content\("
    )
    assert asked.search("if (window.device) continue;") and asked.search("pools[i].device")
    found = set()
    for path in native_files():
        place = path.relative_to(ROOT).as_posix()
        if not place.startswith(("replayer/", "checker/", "engine/")) or place.startswith("replayer/media/"):
            continue
        if asked.search(path.read_text(encoding="utf-8")):
            found.add("checker/faults" if place.startswith("checker/faults/") else place)
    assert found == KNOW_A_MEDIUM


def test_a_strategy_is_asked_and_never_known_by_its_name() -> None:
    """A peculiarity of a strategy is a property of `Strategy` (replayer/strategies/strategy.h)."""
    home = "replayer/strategies/"
    names = re.search(r"kNames = \{([^}]*)\}", (ROOT / home / "strategy.cc").read_text(encoding="utf-8"))
    assert names and names[1].count('"') >= 8
    name = "|".join(re.findall(r'"([^"]+)"', names[1]))
    compared = re.compile(
        rf'(?:[!=]=\s*|\b(?:compare|contains|starts_with|ends_with|find)\s*\()(?:[\w:]+[({{]\s*)?"(?:{name})"'
        rf'|"(?:{name})"s?v?\s*[!=]='
    )
    assert compared.search(f'strategy == std::string("{name.split("|")[0]}")')
    seen = []
    for path in [path for top in ("replayer", "checker", "engine") for path in sorted((ROOT / top).rglob("*"))]:
        place = path.relative_to(ROOT).as_posix()
        if path.suffix in (".cc", ".h") and not place.startswith(home):
            seen.append(place)
            found = compared.search(path.read_text(encoding="utf-8"))
            assert not found, f"{place}: {found[0]}"
    assert len(seen) > 200
