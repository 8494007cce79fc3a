"""The clang that `powercut cc` takes, the plugin that it loads, and its message where there is no suitable one."""

import subprocess
from pathlib import Path

import pytest

from powercut.base.errors import UsageError
from powercut.compile import cc, compilers

VERSIONS = {"clang-19": 19, "clang-16": 16, "clang-15": 15, "clang-14": 14}


def fake(folder: Path, name: str, banner: str) -> Path:
    """An executable that answers as a compiler does."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{banner}'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bin_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder of the search path; empty."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("POWERCUT_CLANG", raising=False)
    monkeypatch.delenv("POWERCUT_CLANGXX", raising=False)
    compilers.clang_major.cache_clear()
    compilers._banner.cache_clear()
    return folder


@pytest.mark.parametrize("clang", VERSIONS)
@pytest.mark.parametrize("cxx", [False, True], ids=["c", "c++"])
def test_the_named_compiler_builds_with_its_own_plugin(
    clang: str, cxx: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERCUT_CLANG", clang)
    monkeypatch.delenv("POWERCUT_CLANGXX", raising=False)
    source, built = tmp_path / ("main.cc" if cxx else "main.c"), tmp_path / "main"
    source.write_text("int main(int argc, char** argv) { return argv[argc] != 0; }\n")
    assert cc.run(["-Werror", str(source), "-o", str(built)], cxx=cxx) == 0
    said = subprocess.run(["readelf", "-p", ".comment", built], check=True, capture_output=True, text=True).stdout
    assert f"clang version {VERSIONS[clang]}." in said
    symbols = subprocess.run(["readelf", "-sW", built], check=True, capture_output=True, text=True).stdout
    assert "__powercut_module" in symbols  # the pass has run
    assert subprocess.run([built], check=False).returncode == 0


def test_the_newest_comes_first_and_a_plain_clang_last(bin_folder: Path) -> None:
    plain = fake(bin_folder, "clang", "Ubuntu clang version 16.0.6 (15)")
    assert compilers.find(cxx=False) == compilers.Compiler(path=str(plain), major=16)
    older = fake(bin_folder, "clang-16", "clang version 16.0.6")
    assert compilers.find(cxx=False) == compilers.Compiler(path=str(older), major=16)
    fake(bin_folder, "clang-15", "clang version 15.0.6")  # comes behind
    assert compilers.find(cxx=False).major == 16
    newer = fake(bin_folder, "clang-19", "clang version 19.1.7")
    assert compilers.find(cxx=False) == compilers.Compiler(path=str(newer), major=19)
    assert compilers.find(cxx=False).plugin == "libpowercut_pass.so"


def test_the_variable_wins_and_names_the_c_plus_plus_compiler_too(
    bin_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(bin_folder, "clang-19", "clang version 19.1.7")
    fake(bin_folder, "clang++-19", "clang version 19.1.7")
    elsewhere = bin_folder.parent / "opt-clang-dir"
    own = fake(elsewhere, "my-clang-16", "clang version 16.0.0 (vendor)")
    own_cxx = fake(elsewhere, "my-clang++-16", "clang version 16.0.0 (vendor)")
    monkeypatch.setenv("POWERCUT_CLANG", str(own))
    assert compilers.find(cxx=False) == compilers.Compiler(path=str(own), major=16)
    assert compilers.find(cxx=True) == compilers.Compiler(path=str(own_cxx), major=16)
    monkeypatch.setenv("POWERCUT_CLANGXX", "clang++-19")
    assert compilers.find(cxx=True).major == 19


@pytest.mark.parametrize(
    ("banner", "said"), [("Free compiler 3.1", "'Free compiler 3.1'"), ("", "no compiler that answers --version")]
)
def test_a_named_program_of_another_kind_is_refused(
    bin_folder: Path, monkeypatch: pytest.MonkeyPatch, banner: str, said: str
) -> None:
    path = fake(bin_folder, "compiler", banner)
    monkeypatch.setenv("POWERCUT_CLANG", "compiler")
    with pytest.raises(UsageError) as caught:
        compilers.find(cxx=False)
    assert caught.value.where == str(path)
    assert "neither a clang nor a gcc" in caught.value.what and said in caught.value.what
    assert "Install clang-19" in caught.value.next_step and "POWERCUT_CLANG" in caught.value.next_step


@pytest.mark.parametrize(
    ("banner", "kind", "major"),
    [("gcc-12 (Debian 12.2.0-14) 12.2.0", "gcc", 12), ("Debian clang version 13.0.1", "clang", 13)],
)
def test_a_named_compiler_without_a_plugin_calls_back(
    bin_folder: Path, monkeypatch: pytest.MonkeyPatch, banner: str, kind: str, major: int
) -> None:
    path = fake(bin_folder, "gcc-12", banner)
    path_cxx = fake(bin_folder, "g++-12", banner)
    monkeypatch.setenv("POWERCUT_CLANG", "gcc-12")
    found = compilers.find(cxx=False)
    assert (found.path, found.kind, found.major, found.plugin) == (str(path), kind, major, None)
    assert compilers.find(cxx=True).path == str(path_cxx)
    command = cc.build_command(["-c", "part.c"], cxx=False)
    assert not any("-fpass-plugin" in word for word in command) and "-fno-builtin-memcpy" in command


def test_what_is_there_instead_is_named(bin_folder: Path) -> None:
    with pytest.raises(UsageError, match="no compiler at all"):
        compilers.find(cxx=False)
    fake(bin_folder, "gcc", "gcc (Debian 12.2.0) 12.2.0")
    fake(bin_folder, "clang", "Debian clang version 13.0.1")
    fake(bin_folder, "clang-21", "clang version 21.0.0")
    fake(bin_folder, "clang-format-14", "clang-format version 14.0.6")
    with pytest.raises(UsageError) as caught:
        compilers.find(cxx=False)
    assert "found: clang: clang 13; gcc: 'gcc (Debian 12.2.0) 12.2.0'; clang-21: clang 21" in caught.value.what
    assert "format" not in caught.value.what


def test_the_command_says_so_in_one_line(bin_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fake(bin_folder, "g++", "g++ (Debian 12.2.0) 12.2.0")
    assert cc.main_cxx(["-c", "part.cc"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("powercut c++: clang++: none of clang 19, 16, 15 and 14 is installed (found: g++: ")
    assert "POWERCUT_CLANGXX" in line
