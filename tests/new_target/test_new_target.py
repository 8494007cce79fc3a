"""`powercut new-target`: what its README says is done as it stands, with both compilers, languages and kinds of
sizes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.new_target import new_target
from powercut.scenarios import catalog, targets
from tests.real_engine import require_engine

CASES = {"c, clang 19": ("c", "c", "one", "clang-19"), "c++, mixed, clang 16": ("c++", "cc", "mixed", "clang-16")}
#: `docs/tutorial.md` types the same commands in the same language with the same compiler.
TYPED_ELSEWHERE = "c, clang 19"
#: The commands of this installation, as an activated environment offers them.
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


def shell_blocks(page: Path) -> list[list[str]]:
    found = re.findall(r"^```sh\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [block.splitlines() for block in found]


def run(line: str, folder: Path, clang: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": PATH, "POWERCUT_CLANG": clang, "NO_COLOR": "1", "COLUMNS": "200"}
    environment.pop("POWERCUT_CLANGXX", None)
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "suffix", "sizes", "clang"),
    [
        pytest.param(*case, id=name, marks=pytest.mark.long if name == TYPED_ELSEWHERE else ())
        for name, case in CASES.items()
    ],
)
def test_the_readme_holds(tmp_path: Path, language: str, suffix: str, sizes: str, clang: str) -> None:
    require_engine()
    folder = tmp_path / "ledger"
    options = ["--dir", str(folder), "--language", language, "--sizes", sizes]
    assert main(["new-target", "ledger", *options]) == ExitCode.CLEAN
    clean, planted = shell_blocks(folder / "README.md")

    assert [line.split()[0] for line in clean] == ["make", "powercut", "pytest"]
    for line in clean:
        done = run(line, folder, clang)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert "warning" not in done.stderr
        if line.startswith("powercut"):
            assert "Verdict: consistent, complete: all" in done.stdout
        if line.startswith("pytest"):
            assert f"{2 if sizes == 'one' else 3} passed" in done.stdout

    *change, judge = planted
    for line in change:
        done = run(line, folder, clang)
        assert done.returncode == 0, done.stderr
    found = run(judge, folder, clang)
    assert found.returncode == ExitCode.FINDINGS, found.stdout + found.stderr
    # Both lines of the missing order, in the library and not in the adapter that calls it.
    source = folder / f"example_map.{suffix}"
    text = source.read_text(encoding="utf-8").splitlines()
    value = 1 + next(i for i, line in enumerate(text) if "memcpy(slot->value[0]" in line)
    commit = 1 + next(i for i, line in enumerate(text) if "__atomic_store_n(word, value" in line)
    assert re.search(rf"store \w  memcpy\(slot->value\[0\].* {source.name}:{value} +torn", found.stdout)
    assert re.search(rf"store \w  __atomic_store_n.* {source.name}:{commit}", found.stdout)
    assert "ERROR: powercut: torn-value  (target ledger:default, scenario ledger)" in found.stdout
    assert "_target." not in found.stdout

    again = re.search(r"Reproduce: (powercut reproduce \S+)", found.stdout)
    assert again and run(again[1], folder, clang).returncode == ExitCode.FINDINGS
    tested = run(clean[-1], folder, clang)
    assert tested.returncode == 1 and "torn-value" in tested.stdout


STATEFUL = """import powercut

powercut.stateful.check_target("./libledger.so", max_examples=3, derandomize=True, max_warmup=2, options={"nested": 0})
powercut.check("./libledger.so", [powercut.insert(1)])
"""


@pytest.mark.slow
def test_hypothesis_draws_the_sizes_that_the_template_declares(tmp_path: Path) -> None:
    """A library of one pair of sizes declares it once: its scenario, tests in Python and Hypothesis agree."""
    require_engine()
    folder = tmp_path / "ledger"
    new_target.generate("ledger", folder)
    header, adapter = folder / "example_map.h", folder / "ledger_target.c"
    text = header.read_text(encoding="utf-8")
    header.write_text(text.replace("kMapKey = 16, kMapValue = 24", "kMapKey = 32, kMapValue = 12"), encoding="utf-8")
    text = adapter.read_text(encoding="utf-8")
    fixed = "config->key_size != kMapKey || config->value_size != kMapValue"
    exact = text.replace("config->key_size > kMapKey || config->value_size > kMapValue", fixed)
    assert exact != text
    adapter.write_text(exact, encoding="utf-8")
    (folder / "drawn.py").write_text(STATEFUL, encoding="utf-8")
    done = run("make && python drawn.py", folder, "clang-19")
    assert done.returncode == 0, done.stdout + done.stderr
    made = next((folder / ".powercut" / "scenarios").glob("*.toml")).read_text(encoding="utf-8")
    assert "key_size = 32" in made and "value_size = 12" in made


LARGE = """import powercut
from powercut.base.errors import UsageError

powercut.stateful.check_target("./libledger.so", max_examples=3, derandomize=True, max_warmup=2, options={"nested": 0},
                               value_size=(1, 400))
try:
    powercut.check("./libledger.so", [powercut.insert(1, value_size=449)], value_size=(1, 449))
except UsageError as error:
    print(error)
"""


@pytest.mark.slow
def test_mixed_sizes_up_to_a_limit(tmp_path: Path) -> None:
    """Scenarios for every map apply; Hypothesis draws sizes; a size beyond the limit is refused, with both named."""
    require_engine()
    folder = tmp_path / "ledger"
    new_target.generate("ledger", folder, sizes="mixed")
    adapter = folder / "ledger_target.c"
    text = adapter.read_text(encoding="utf-8")
    # A library need not know its limits where its configuration is read: the traits name them.
    (limits,) = re.findall(r" \|\| config->key_size > kMapKey \|\| config->value_size > kMapValue", text)
    adapter.write_text(text.replace(limits, ""), encoding="utf-8")
    (folder / "large.py").write_text(LARGE, encoding="utf-8")
    done = run("make && powercut run ./libledger.so --scenario map_sizes && python large.py", folder, "clang-19")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stderr
    assert "Verdict: consistent, complete: all" in done.stdout
    assert "the scenario has values of 449 bytes, and the target takes 448 at most" in done.stdout


@pytest.mark.slow
def test_the_template_verifies_what_it_stores(tmp_path: Path) -> None:
    """A commit word that names no value is told by the target's own check, in its words."""
    require_engine()
    folder = tmp_path / "ledger"
    new_target.generate("ledger", folder)
    source = folder / "example_map.c"
    text = source.read_text(encoding="utf-8")
    # The value is right; only the check sees that the word is not.
    wrong = text.replace("map_commit(&slot->commit, 1);", "map_commit(&slot->commit, 3);")
    wrong = wrong.replace("slot->value[slot->commit - 1]", "slot->value[(slot->commit - 1) % 2]")
    source.write_text(wrong, encoding="utf-8")
    assert run("make", folder, "clang-19").returncode == 0
    found = run("powercut run ./libledger.so --explain 0 --keep-going", folder, "clang-19")
    assert found.returncode == ExitCode.FINDINGS
    assert re.search(r"the commit word of slot \d+ names no value", found.stdout)


@pytest.mark.slow
def test_a_library_that_went_past_the_pass_is_seen_all_the_same(tmp_path: Path) -> None:
    require_engine()
    folder = tmp_path / "ledger"
    new_target.generate("ledger", folder)
    archive = "clang-19 -O2 -fPIC -c example_map.c -o example_map.o && ar rcs libexample.a example_map.o"
    link = "powercut cc -std=gnu17 -O2 -g -shared -fPIC ledger_target.c libexample.a -o libledger.so"
    assert run(f"{archive} && {link}", folder, "clang-19").returncode == 0
    plain = run("powercut run ./libledger.so", folder, "clang-19")
    assert plain.returncode == ExitCode.CLEAN, plain.stdout + plain.stderr
    # The library through the pass has the same crash points. Between them a copy of libc is seen move by move in the
    # first build. In the second build it is pieces of a mem* call in any order.
    archive = archive.replace("clang-19", "powercut cc")
    assert run(f"rm libexample.a && {archive} && {link}", folder, "clang-19").returncode == 0
    compiled = run("powercut run ./libledger.so", folder, "clang-19")
    assert compiled.returncode == ExitCode.CLEAN
    points = re.compile(r"([\d,]+) crash points")
    assert points.findall(plain.stdout) == points.findall(compiled.stdout) != []


@pytest.fixture
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    yield tmp_path
    targets.forget()
    catalog.forget()


@pytest.mark.parametrize("sizes", ["one", "mixed"])
def test_what_is_written(somewhere: Path, capsys: pytest.CaptureFixture[str], sizes: str) -> None:
    assert main(["new-target", "foo_2", "--sizes", sizes, "--json"]) == ExitCode.CLEAN
    told = json.loads(capsys.readouterr().out)
    files = {str(path.relative_to("foo_2")) for path in Path("foo_2").rglob("*") if path.is_file()}
    assert told == {"folder": "foo_2", "files": told["files"]} and set(told["files"]) == files
    assert files == {
        "foo_2_target.c", "example_map.h", "example_map.c", "scenarios/foo_2.toml", "test_foo_2.py",
        "Makefile", "README.md",
    }  # fmt: skip
    for name in files:
        text = Path("foo_2", name).read_text(encoding="utf-8")
        assert text.endswith("\n") and not re.search(r"\{\{|\{%|\t\t", text), name
        assert max(map(len, text.splitlines())) <= 120, name


@pytest.mark.parametrize(
    "name", ["", "Foo", "2foo", "foo-bar", "foo/bar", "../foo", "foo bar", "fö", "f" * 41, "foo\n"]
)
def test_bad_names_are_refused(somewhere: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-target", "--", name]) == ExitCode.USAGE
    assert "this cannot be a target's name. Take a letter, then" in capsys.readouterr().err
    assert not list(somewhere.iterdir())


def test_the_name_of_a_built_target_is_refused(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_engine()
    assert main(["new-target", "level"]) == ExitCode.USAGE
    assert "a target of this name comes with powercut" in capsys.readouterr().err
    assert not list(somewhere.iterdir())


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_what_exists_is_left_alone(somewhere: Path, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = somewhere / "foo"
    if kind == "folder":
        path.mkdir()
    elif kind == "file":
        path.write_text("mine")
    else:
        path.symlink_to("nowhere")
    assert main(["new-target", "foo"]) == ExitCode.USAGE
    assert "foo: this exists already, and is left as it is. Name another folder with --dir" in capsys.readouterr().err
    assert path.is_symlink() or not (path / "Makefile").exists()
    assert not Path("nowhere").exists()


def test_a_folder_that_cannot_be_made(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-target", "foo", "--dir", "no/such/place"]) == ExitCode.USAGE
    assert "no/such/place: cannot make this folder (No such file or directory)" in capsys.readouterr().err


def test_all_or_nothing(somewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    write = Path.write_text

    def full_disk(path: Path, *arguments: object, **named: object) -> int:
        if path.name == "Makefile":
            raise OSError(28, "No space left on device", str(path))
        return write(path, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "write_text", full_disk)
    assert main(["new-target", "foo"]) == ExitCode.USAGE
    assert "(No space left on device)" in capsys.readouterr().err
    assert not list(somewhere.iterdir())


def test_unknown_language(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-target", "foo", "--language", "c+"]) == ExitCode.USAGE
    assert "unknown language 'c+'" in capsys.readouterr().err
    assert main(["new-target", "foo", "--sizes", "any"]) == ExitCode.USAGE
    assert "unknown value of --sizes 'any'. There are mixed, one." in capsys.readouterr().err
    assert not list(somewhere.iterdir())
    assert set(new_target.LANGUAGES) == {"c", "c++"} and set(new_target.SIZES) == {"one", "mixed"}


# Libraries outside the build.

SCENARIO = """\
schema = 1
name = "{name}"
summary = "For a test."
targets = ["array-map"]
core = {core}
{config}
[data]
key_size = 8
value_size = 8

[[phase]]
name = "insert"
steps = [{{ op = "insert", from = 1, to = 2 }}]
"""


@pytest.fixture
def library(somewhere: Path) -> Path:
    """A target of the engine's own tests, as a library of somebody's, with scenarios beside it."""
    require_engine()
    return install(somewhere, "good")


def install(folder: Path, kind: str) -> Path:
    path = folder / "libmap.so"
    path.write_bytes((paths.library_dir() / "test" / f"libtest-array-map-{kind}.so").read_bytes())
    (folder / "scenarios").mkdir()
    for name, core in (("one", True), ("other", False)):
        text = SCENARIO.format(name=name, core=str(core).lower(), config="")
        (folder / "scenarios" / f"{name}.toml").write_text(text)
    return path


def scenarios_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [item["scenario"] for item in json.loads(capsys.readouterr().out)["runs"]]


def test_scenarios_beside_a_library(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "./libmap.so", "--json"]) == ExitCode.CLEAN
    assert scenarios_of(capsys) == ["one"]
    assert main(["run", "libmap.so:published", "--scenario", "o*", "--json"]) == ExitCode.CLEAN
    assert sorted(scenarios_of(capsys)) == ["one", "other"]
    assert main(["run", str(library), "--scenario", "map_insert", "--json"]) == ExitCode.CLEAN
    assert scenarios_of(capsys) == ["map_insert"]
    assert main(["record", "./libmap.so", "--scenario", "other", "-o", "t.pct"]) == ExitCode.CLEAN
    (record,) = Path(".powercut/runs").glob("*-one-*.json")
    assert "powercut run libmap.so:published --scenario scenarios/one.toml" in record.read_text()


def test_no_scenario_beside_a_library_fits(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("scenarios/one.toml").unlink()
    assert main(["run", "./libmap.so"]) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert f"{library.parent / 'scenarios'}: no scenario here is a core scenario of 'array-map'" in error
    assert 'targets = ["array-map"] and core = true' in error


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("plain", "no store of this library can be seen: it was not compiled through the tracing pass"),
        ("lacks_entry", "the library does not export powercut_target_entry: it is not a powercut target"),
        ("lacks_lookup", "the target lacks required functions: lookup"),
        ("old_abi", "the target has ABI version 7, this build speaks 2 to 5. Build it again with this version's"),
    ],
)
def test_libraries_that_are_refused(somewhere: Path, kind: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    require_engine()
    install(somewhere, kind)
    assert main(["run", "./libmap.so"]) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert said in error and "libmap.so" in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("./nowhere.so", "./nowhere.so: no such target library. Build it with 'powercut cc -shared -fPIC'."),
        (".", "unknown target '.'"),
        ("./", "./: this is a folder. Name the target library in it"),
        ("./text.so", "text.so: cannot load the target library: "),
        ("./undefined.so", "undefined symbol: somebody_elses"),
    ],
)
def test_files_that_are_no_target(somewhere: Path, name: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    require_engine()
    Path("text.so").write_text("not an ELF file")
    Path("undefined.c").write_text(
        "int somebody_elses(void);\nint powercut_target_entry(void) { return somebody_elses(); }"
    )
    assert main(["cc", "-w", "-shared", "-fPIC", "undefined.c", "-o", "undefined.so"]) == 0
    capsys.readouterr()
    assert main(["run", name]) == ExitCode.USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("constructor", "said"), [("exit(0)", "(exit status 0)"), ("abort()", "(signal SIGABRT)")], ids=["exit", "abort"]
)
def test_a_library_that_ends_the_process(
    somewhere: Path, constructor: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    require_engine()
    Path("leaves.c").write_text(
        f"#include <stdlib.h>\n__attribute__((constructor)) static void leave(void) {{ {constructor}; }}\n"
    )
    assert main(["cc", "-shared", "-fPIC", "leaves.c", "-o", "leaves.so"]) == 0
    capsys.readouterr()
    assert main(["run", "./leaves.so"]) == ExitCode.USAGE
    error = capsys.readouterr().err
    assert f"leaves.so: the library ends the process that loads it {said}. Look for an exit" in error
