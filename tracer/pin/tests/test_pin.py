"""The Pintool from outside: its build with a kit's rules, its command line, and its conformance.

Conformance is a program that does everything once, recorded as its binary is; the normal form of the trace is compared
with `expected/`. The Valgrind tool is compared with the file everywhere, the Pintool where a kit is:

    POWERCUT_PIN_ROOT=/path/to/kit pytest tracer/pin/tests
"""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.cli import doctor
from powercut.program import pin, valgrind

HERE = Path(__file__).parent
BUILD = HERE.parent / "build.sh"
EXPECTED = HERE / "expected" / "protocol.txt"
UPDATE = bool(os.environ.get("POWERCUT_UPDATE_GOLDENS"))

# The definitions of a kit's makefiles, with this machine's compiler and the test's declarations in place of Pin.
CONFIG = f"""\
OBJDIR := obj-$(TARGET)/
OBJ_SUFFIX := .o
PINTOOL_SUFFIX := .so
TOOLS_ROOT := $(PIN_ROOT)/source/tools
CXX := clang++-19
LINKER := $(CXX)
COMP_OBJ := -c -o
LINK_EXE := -o
TOOL_CXXFLAGS := -Wall -Werror -std=c++11 -fPIC -fno-exceptions -fno-rtti -I{HERE / "pin_api"}
TOOL_LDFLAGS := -shared
all: dir tools
"""
RULES = """\
dir: $(OBJDIR)
obj-%:
\tmkdir -p $@
tools: $(TOOL_ROOTS:%=$(OBJDIR)%$(PINTOOL_SUFFIX))
$(OBJDIR)%$(PINTOOL_SUFFIX): $(OBJDIR)%$(OBJ_SUFFIX)
\t$(LINKER) $(TOOL_LDFLAGS) $(LINK_EXE) $@ $<
"""


@pytest.fixture(autouse=True)
def own_kit(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only conformance is about a kit that the user has."""
    if request.node.originalname != "test_conformance":
        for variable in pin.VARIABLES:
            monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    """A stand-in for a kit: enough of one to build with."""
    root = tmp_path / "kit"
    config = root / "source/tools/Config"
    config.mkdir(parents=True)
    (root / "intel64").mkdir()
    (root / "source/include/pin").mkdir(parents=True)
    (root / "source/include/pin/pin.H").touch()
    (config / "makefile.config").write_text(CONFIG)
    (config / "makefile.default.rules").write_text(RULES)
    (root / "pin").write_text("#!/bin/sh\n")
    (root / "pin").chmod(0o755)
    return root


def build(folder: Path, root: Path | None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key not in (*pin.VARIABLES, "MAKEFLAGS")}
    if root is not None:
        environment["PIN_ROOT"] = str(root)
    return subprocess.run([BUILD, folder], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_kits_rules_build_the_tool(kit: Path, tmp_path: Path) -> None:
    done = build(tmp_path / "build", kit)
    assert done.returncode == 0, done.stderr
    built = tmp_path / "build" / "lib" / "powercut_pin.so"
    symbols = subprocess.run(["nm", "-D", built], capture_output=True, text=True, check=True).stdout
    undefined = [line.split()[-1] for line in symbols.splitlines() if " U " in line]
    # All functions of Pin are left to Pin; none of powercut's own is missing.
    assert any("PIN_StartProgram" in name for name in undefined)
    assert not [name for name in undefined if name.startswith("powercut_") or "8powercut" in name]
    # Nothing is left beside the sources.
    assert not list(HERE.parent.glob("**/*.o"))


def test_what_is_no_kit_is_said(kit: Path, tmp_path: Path) -> None:
    shutil.rmtree(kit / "intel64")
    for root, words in ((None, "PIN_ROOT: not set"), (tmp_path / "nowhere", "no such folder"), (kit, "no intel64")):
        done = build(tmp_path / "build", root)
        assert done.returncode == 2
        assert words in done.stderr and done.stderr.count("\n") == 1
        assert "make pin PIN_ROOT=" in done.stderr


def test_command_line(kit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIN_ROOT", "/not/this/one")
    monkeypatch.setenv("POWERCUT_PIN_ROOT", str(kit))
    monkeypatch.setattr(paths, "library_dir", lambda: tmp_path)
    (tmp_path / "powercut_pin.so").touch()
    (tmp_path / "link").symlink_to(tmp_path / "pool")
    argv, environment = pin.command(
        ["prog", "-x"], stream=tmp_path / "s", pools=[tmp_path / "link", tmp_path / "b b"], loads=True, env={"A": "1"}
    )
    begin = [f"{kit}/pin", "-t", f"{tmp_path}/powercut_pin.so", "-stream", f"{tmp_path}/s"]
    pools = ["-pool", f"{tmp_path}/pool", "-pool", f"{tmp_path}/b b"]
    assert argv == [*begin, *pools, "-loads", "1", "--", "prog", "-x"]
    assert environment == {"A": "1", "LD_BIND_NOW": "1"}
    assert _row().ok


def test_one_line_says_why_it_was_not_run(kit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "library_dir", lambda: tmp_path)
    for root, words in (("", "PIN_ROOT is not set"), (str(kit), "was not built"), (str(tmp_path), "it has no pin")):
        monkeypatch.setenv("PIN_ROOT", root)
        with pytest.raises(UsageError) as refused:
            pin.command(["prog"], stream=tmp_path / "s", pools=[])
        text = str(refused.value)
        assert "not run under Intel Pin" in text and words in text and "\n" not in text
        assert not _row().ok and words in _row().detail


def _row() -> doctor.Check:
    return next(check for check in doctor.examine() if check.name == "Intel Pin")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    binary = tmp_path_factory.mktemp("program") / "protocol"
    include = f"-I{paths.home() / 'targets/include'}"
    source = HERE / "programs" / "protocol.c"
    subprocess.run(["clang-19", "-O1", "-g", "-Wall", "-Werror", include, source, "-o", binary], check=True)
    return binary


def normal_form(program: Path, folder: Path, command: Callable[..., tuple[list[str], dict[str, str]]]) -> str:
    """The normal form of the trace of `program`, recorded under `command`."""
    pool, stream, trace = folder / "pool", folder / "stream", folder / "trace.pct"
    argv, environment = command([str(program), str(pool)], stream=stream, pools=[pool])
    subprocess.run(argv, env=environment, check=True, timeout=120)
    engine = paths.engine()
    subprocess.run(
        [engine, "convert", "--stream", stream, "--trace", trace], check=True, timeout=60, stdout=subprocess.DEVNULL
    )
    return subprocess.run(
        [engine, "dump", "--trace", trace, "--normal"], check=True, timeout=60, capture_output=True, text=True
    ).stdout


@pytest.mark.parametrize("tool", ["valgrind", "pin"])
def test_conformance(tool: str, program: Path, tmp_path: Path) -> None:
    if tool == "pin" and (lacks := pin.missing()):
        if pin.kit() is None:
            pytest.skip(f"Pin: {lacks[0]}")
        done = build(paths.build_dir(), pin.kit())
        assert done.returncode == 0, done.stderr
    recorded = normal_form(program, tmp_path, pin.command if tool == "pin" else valgrind.command)
    if UPDATE and tool == "valgrind":
        EXPECTED.write_text(recorded, encoding="utf-8")
    assert recorded == EXPECTED.read_text(encoding="utf-8")
