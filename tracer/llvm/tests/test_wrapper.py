"""`powercut cc` and `powercut c++` as the compilers of a foreign build: every job of a compiler works."""

import os
import subprocess
from pathlib import Path

import pytest

from powercut.base.errors import UsageError
from powercut.compile import cc

MAIN = "#include <string.h>\nint main(int argc, char** argv) { return (int)strlen(argv[0]) < argc; }\n"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "main.c"
    path.write_text(MAIN)
    return path


def needs_runtime(path: Path) -> bool:
    listing = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
    return "libpowercut_rt.so" in listing


@pytest.mark.parametrize("flags", [[], ["-O2"], ["-x", "c"], ["-std=c11", "-pthread"]], ids=" ".join)
def test_compiles_and_links_at_once(source: Path, flags: list[str]) -> None:
    assert cc.main_cc(["-Werror", *flags, source.name, "-o", "main"]) == 0
    assert needs_runtime(Path("main"))
    assert subprocess.run(["./main"], check=False).returncode == 0


def test_compiles_then_links(source: Path) -> None:
    assert cc.main_cc(["-Werror", "-c", source.name, "-o", "main.o", "-MMD", "-MF", "main.d"]) == 0
    assert "main.c" in Path("main.d").read_text()
    assert cc.main_cc(["-Werror", "main.o", "-o", "main"]) == 0
    assert subprocess.run(["./main"], check=False).returncode == 0


@pytest.mark.parametrize("job", ["-E", "-S", "-M", "-fsyntax-only"])
def test_stops_before_linking_when_asked(source: Path, job: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cc.main_cc(["-Werror", job, source.name, "-o", "out"]) == 0
    assert "powercut_rt" not in capfd.readouterr().err


def test_reads_standard_input(source: Path) -> None:
    command = cc.build_command(["-Werror", "-x", "c", "-", "-o", "main"], cxx=False)
    assert subprocess.run(command, input=MAIN, text=True, check=False).returncode == 0
    assert needs_runtime(Path("main"))


def test_response_files(source: Path) -> None:
    Path("inner").write_text("-c")
    Path("arguments").write_text(f"-Werror @inner '{source.name}' -o main.o")
    command = cc.build_command(["@arguments"], cxx=False)
    assert "@arguments" in command
    assert "-lpowercut_rt" not in command
    assert subprocess.run(command, check=False).returncode == 0


def test_shared_libraries_and_cxx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("part.cc").write_text('#include <string>\nstd::string part() { return "x"; }\n')
    assert cc.main_cxx(["-Werror", "-shared", "-fPIC", "part.cc", "-o", "libpart.so"]) == 0
    assert needs_runtime(Path("libpart.so"))


@pytest.mark.parametrize("question", ["--version", "-dumpmachine", "-print-search-dirs", "-v"])
def test_answers_questions(question: str) -> None:
    assert "-lpowercut_rt" not in cc.build_command([question], cxx=False)
    assert cc.main_cc([question]) == 0


def test_option_values_are_no_inputs() -> None:
    assert "-lpowercut_rt" not in cc.build_command(["-o", "main", "-I", "include"], cxx=False)
    assert "-lpowercut_rt" in cc.build_command(["-o", "-c", "main.o"], cxx=False)


def test_the_compilers_errors_come_through(source: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source.write_text("int main( {")
    assert cc.main_cc([source.name]) == 1
    assert "error:" in capfd.readouterr().err


def test_static_linking_is_refused(source: Path) -> None:
    with pytest.raises(UsageError, match="Leave -static out"):
        cc.build_command(["-static", source.name], cxx=False)


def test_missing_parts_are_named(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POWERCUT_BUILD", os.fspath(source.parent / "nowhere"))
    assert cc.main_cc([source.name]) == 2
    assert "libpowercut_pass.so: not built yet. Run 'make build'" in capsys.readouterr().err
    monkeypatch.setenv("POWERCUT_CLANG", "no-such-clang")
    assert cc.main_cc([source.name]) == 2
    assert "no-such-clang" in capsys.readouterr().err
