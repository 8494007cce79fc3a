"""The house holds together: seam documents and code, Makefile, README, set-up, what may be committed."""

import ctypes
import importlib
import os
import re
import stat
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

import powercut

ROOT = Path(__file__).resolve().parents[2]

# document, the line that states its version, the file and pattern of the constant in code
NATIVE_SEAMS = [
    (
        "tracer/FORMAT.md",
        r"# The trace file, version (\d+)",
        "tracer/format/trace.h",
        r"kTraceVersion = (\d+);",
    ),
    (
        "tracer/stream/STREAM.md",
        r"# The stream of a binary tracer, version (\d+)",
        "tracer/stream/stream.h",
        r"#define POWERCUT_STREAM_VERSION (\d+)u",
    ),
    (
        "targets/ABI.md",
        r"# The target ABI, version (\d+)",
        "targets/include/powercut/target.h",
        r"#define POWERCUT_TARGET_ABI (\d+)u",
    ),
]
PYTHON_SEAMS = [
    ("reports/EVENTS.md", r"# The event stream, version (\d+)", "powercut.engine.events", "EVENTS_VERSION"),
    ("scenarios/SCHEMA.md", r"# Scenarios, version (\d+)", "powercut.scenarios.scenario", "SCHEMA_VERSION"),
    ("scenarios/SCHEMA.md", r'\{"plan": (\d+)', "powercut.scenarios.plan", "PLAN_VERSION"),
]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def number(path: str, pattern: str) -> int:
    match = re.search(pattern, read(path))
    assert match, f"{path}: nothing matches {pattern!r}"
    return int(match[1])


def committed() -> list[str]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    return [name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def make_targets() -> list[str]:
    phony = re.search(r"^\.PHONY: (.+)$", read("Makefile"), re.MULTILINE)
    assert phony, "Makefile: no .PHONY line"
    return phony[1].split()


@pytest.mark.parametrize(("document", "stated", "source", "constant"), NATIVE_SEAMS)
def test_seam_document_and_native_code_agree(document: str, stated: str, source: str, constant: str) -> None:
    assert number(document, stated) == number(source, constant)


@pytest.mark.parametrize(("document", "stated", "module", "constant"), PYTHON_SEAMS)
def test_seam_document_and_python_code_agree(document: str, stated: str, module: str, constant: str) -> None:
    assert number(document, stated) == getattr(importlib.import_module(module), constant)


def test_event_document_states_one_version() -> None:
    title = number("reports/EVENTS.md", r"# The event stream, version (\d+)")
    assert number("reports/EVENTS.md", r"\| `hello` \| `version` (\d+)") == title


def test_hooks_version_is_stated_once() -> None:
    defines = [
        name for name in committed() if name.endswith((".h", ".cc")) and "define POWERCUT_HOOKS_VERSION" in read(name)
    ]
    assert defines == ["tracer/runtime/hooks.h"]


def test_make_alone_lists_every_target() -> None:
    shown = subprocess.run(["make"], cwd=ROOT, capture_output=True, check=True, text=True).stdout
    listed = [line.split()[0] for line in shown.splitlines()]
    assert sorted(listed) == sorted(make_targets())
    assert all(len(line.split()) > 2 for line in shown.splitlines()), "a target without a description"


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_make_targets_named_in_documents_exist(document: str) -> None:
    named = set(re.findall(r"(?:^ {4}|`)make ([a-z-]+)", read(document), re.MULTILINE))
    assert named <= set(make_targets())


def test_commands_named_in_readme_exist() -> None:
    cli = importlib.import_module("powercut.cli.main")
    typer = importlib.import_module("typer")
    group = typer.main.get_command(cli.app)
    named = set(re.findall(r"(?:^ {4}|`)(?:\.venv/bin/)?powercut ([a-z][a-z+-]*)", read("README.md"), re.MULTILINE))
    assert named, "README.md names no command"
    assert named <= set(group.commands)


@pytest.mark.parametrize("document", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "targets/ABI.md"])
def test_links_and_paths_in_documents_exist(document: str) -> None:
    text = read(document)
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    for link in links:
        assert ((ROOT / document).parent / link).exists(), f"{document}: dead link {link}"
    # Paths in backticks, alone or in a command, with a folder and a suffix, without placeholders.
    tops = "base|tracer|targets|replayer|checker|engine|powercut|tests|scenarios|reports|tools|docs"
    for path in re.findall(
        rf"(?<![\w./>-])((?:{tops})/[\w./-]+\.\w+)(?![\w*])", " ".join(re.findall(r"`([^`\n]+)`", text))
    ):
        headers = ROOT / "targets" / "include"  # `powercut/target.h` is named as one includes it
        assert (ROOT / path).exists() or (headers / path).exists(), f"{document}: {path} does not exist"


def test_committed_files_stand_alone() -> None:
    # Spelled in two parts, so that this file is not its own finding.
    forbidden = [
        "/work" + "/",
        "shared" + "/DESIGN",
        "shared" + "/STYLE",
        "shared" + "/papers",
        "DESIGN" + ".md",
        "STYLE" + ".md",
    ]
    found = []
    for name in committed():
        content = (ROOT / name).read_bytes()
        found += [f"{name}: {text}" for text in forbidden if text.encode() in content]
    assert not found


def test_one_version() -> None:
    """It stands in powercut/__init__.py; what people copy names it as well."""
    heading = re.search(r"^## \[([^]]+)\]", read("CHANGELOG.md"), re.MULTILINE)
    assert heading and heading[1] == powercut.__version__
    minor = powercut.__version__.rpartition(".")[0]
    for name in ("docs/ci.md", "docs/examples/ci/.github/workflows/crash.yml"):
        assert re.findall(r"powercut/powercut@v(\S+)", read(name)) == [minor], name


def locked(name: str) -> dict[str, str]:
    """Versions by package; each has hashes, or an assertion fails."""
    text = read(name)
    entries = re.findall(r"^([a-z0-9-]+)==(\S+) \\\n {4}--hash=sha256:", text, re.MULTILINE)
    assert [package for package, _ in entries] == re.findall(r"^([a-z0-9-]+)[^\n]*$", text, re.MULTILINE)
    return dict(entries)


def test_locks_pin_every_requirement_with_hashes() -> None:
    to_run, all_of_them = locked("requirements.lock"), locked("requirements-dev.lock")
    assert all_of_them | to_run == all_of_them
    project = tomllib.loads(read("pyproject.toml"))
    extras = project["project"]["optional-dependencies"]

    def names(requirements: list[str]) -> set[str]:
        return {re.split(r"[<>=]", requirement)[0] for requirement in requirements}

    assert names(project["project"]["dependencies"] + extras["editable"]) <= set(to_run)
    assert set().union(*map(names, extras.values())) <= set(all_of_them)


def write_tool(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def run_setup(
    tools: Path, environment: Mapping[str, str] | None = None, *, part: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs the package half of set-up with stand-ins for the system's tools; the Python half is `env`'s doing."""
    path = f"{tools}:/usr/bin:/bin"
    return subprocess.run(
        ["tools/setup.sh", *part.split()],
        cwd=ROOT,
        env={"PATH": path, "HOME": str(tools), **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_setup_without_root_prints_the_line_to_run(tmp_path: Path) -> None:
    write_tool(tmp_path, "dpkg-query", 'for p in "${@:4}"; do [[ $p == ninja-build ]] || echo "installed $p"; done')
    write_tool(tmp_path, "id", "echo 1000")
    write_tool(tmp_path, "sudo", "exit 1")
    write_tool(tmp_path, "apt-get", f"touch {tmp_path}/apt-get-ran")
    done = run_setup(tmp_path)
    assert done.returncode == 2
    assert "apt-get install -y --no-install-recommends ninja-build\n" in done.stderr
    assert not (tmp_path / "apt-get-ran").exists()


def test_setup_names_what_apt_could_not_install(tmp_path: Path) -> None:
    write_tool(tmp_path, "dpkg-query", "exit 1")  # nothing is installed
    write_tool(tmp_path, "id", "echo 0")
    write_tool(tmp_path, "apt-get", f'echo "$@" >>{tmp_path}/log; [[ " $* " != *" install "* ]]')
    done = run_setup(tmp_path)
    assert done.returncode == 2
    assert "could not install" in done.stderr and "clang-19" in done.stderr
    log = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in read("tools/debian-packages.txt").splitlines() if not line.startswith("#")]
    assert [line.split()[1] for line in log] == ["update", "install"]
    assert set(wanted) <= set(log[1].split())


def test_a_build_alone_needs_nothing_that_only_tests_need(tmp_path: Path) -> None:
    write_tool(tmp_path, "dpkg-query", "exit 1")
    write_tool(tmp_path, "id", "echo 0")
    write_tool(tmp_path, "apt-get", f'echo "$@" >>{tmp_path}/log')
    done = run_setup(tmp_path, part="to-build")
    assert done.returncode == 0, done.stderr
    installed = set((tmp_path / "log").read_text(encoding="utf-8").split())
    assert {"clang-19", "cmake", "python3-venv"} <= installed
    assert not {"chromium", "libgtest-dev", "clang-tidy-19", "#"} & installed


def test_setup_names_its_parts(tmp_path: Path) -> None:
    done = run_setup(tmp_path, part="pyhton")
    assert done.returncode == 2
    assert "'pyhton'" in done.stderr and "to-judge, to-build, to-run and languages" in done.stderr


def test_setup_refuses_another_machine(tmp_path: Path) -> None:
    write_tool(tmp_path, "uname", "echo Linux aarch64")
    done = run_setup(tmp_path)
    assert done.returncode == 2
    assert "Linux aarch64" in done.stderr


def test_example_of_the_target_abi_works(tmp_path: Path) -> None:
    """The example of ABI.md compiles without a warning and does what the page says."""
    example = re.search(r"^## A small target\n.*?^```c\n(.*?)^```", read("targets/ABI.md"), re.MULTILINE | re.DOTALL)
    assert example
    source, library, probe = tmp_path / "slots.c", tmp_path / "libpowercut-slots.so", tmp_path / "probe"
    source.write_text(example[1], encoding="utf-8")
    (tmp_path / "probe.c").write_text(PROBE, encoding="utf-8")
    flags = ["-std=c17", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/targets/include"]
    subprocess.run(["clang-19", *flags, "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    subprocess.run(["clang-19", *flags, str(tmp_path / "probe.c"), str(source), "-o", str(probe)], check=True)
    assert ctypes.CDLL(os.fspath(library)).powercut_target_entry(99) == 0
    subprocess.run([str(probe)], check=True)


PROBE = r"""
#undef NDEBUG
#include <assert.h>
#include <string.h>
#include "powercut/target.h"
static _Alignas(4096) uint8_t memory[4096];
static int count(void* context, powercut_bytes key, powercut_bytes value) {
  (void)key, (void)value;
  ++*(int*)context;
  return 0;
}
int main(void) {
  const powercut_target* t = powercut_target_entry(POWERCUT_TARGET_ABI);
  powercut_pool pool = {memory, sizeof memory};
  powercut_config config = {.variant = "published", .key_size = 16, .value_size = 15};
  powercut_table* table = 0;
  assert(t->open(pool, &config, &table) == POWERCUT_NOT_FORMATTED);
  assert(t->format(pool, &config) == POWERCUT_OK);
  assert(t->open(pool, &config, &table) == POWERCUT_OK);
  for (int i = 0; i < 31; i++) {
    char key[16] = {(char)i}, value[15] = {(char)(i + 1)};
    assert(t->insert(table, (powercut_bytes){key, 16}, (powercut_bytes){value, 15}) == POWERCUT_OK);
  }
  char key[16] = {7}, value[15];
  assert(t->insert(table, (powercut_bytes){key, 16}, (powercut_bytes){value, 15}) == POWERCUT_FULL);
  t->close(table);
  assert(t->open(pool, &config, &table) == POWERCUT_OK);
  size_t size = 0;
  int copies = 0;
  assert(t->lookup(table, (powercut_bytes){key, 16}, value, sizeof value, &size) == POWERCUT_OK);
  assert(size == 15 && value[0] == 8);
  assert(t->copies(table, (powercut_bytes){key, 16}, count, &copies) == POWERCUT_OK && copies == 1);
  assert(t->erase(table, (powercut_bytes){key, 16}) == POWERCUT_OK);
  assert(t->erase(table, (powercut_bytes){key, 16}) == POWERCUT_NOT_FOUND);
  config.key_size = 17;
  powercut_traits traits;
  assert(t->traits(&config, &traits) == POWERCUT_BAD_CONFIG);
  t->close(table);
  return 0;
}
"""
