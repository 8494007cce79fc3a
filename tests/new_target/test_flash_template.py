"""`powercut new-target --flash nor`: what its README says is done, in both languages, and options that are wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.new_target import new_target
from powercut.scenarios import catalog, targets
from tests.new_target.test_new_target import run, shell_blocks
from tests.real_engine import require_engine


@pytest.fixture
def somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    yield tmp_path
    targets.forget()
    catalog.forget()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "suffix", "clang"),
    [("c", "c", "clang-19"), pytest.param("c++", "cc", "clang-16", marks=pytest.mark.long)],
)
def test_the_readme_holds(somewhere: Path, language: str, suffix: str, clang: str) -> None:
    require_engine()
    folder = somewhere / "ledger"
    assert main(["new-target", "ledger", "--flash", "nor", "--language", language]) == ExitCode.CLEAN
    clean, planted = shell_blocks(folder / "README.md")
    assert [line.split()[0] for line in clean] == ["make", "powercut", "pytest"]
    for line in clean:
        done = run(line, folder, clang)
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        assert "warning" not in done.stderr
        if line.startswith("powercut"):
            assert "(model nor," in done.stdout and "Verdict: consistent, complete: all" in done.stdout
        if line.startswith("pytest"):
            assert "2 passed" in done.stdout

    *change, judge = planted
    for line in change:
        assert run(line, folder, clang).returncode == 0
    found = run(judge, folder, clang)
    assert found.returncode == ExitCode.FINDINGS, found.stdout + found.stderr
    # The call of the driver, in the library: neither the driver's header nor the adapter that hands the driver over.
    source = folder / f"example_store.{suffix}"
    text = source.read_text(encoding="utf-8").splitlines()
    called = 1 + next(i for i, line in enumerate(text) if "self->driver.prog(" in line)
    assert re.search(rf"program A  if \(self->driver\.prog.* {source.name}:{called} ", found.stdout)
    assert "ERROR: powercut: phantom-item  (target ledger:default, scenario ledger)" in found.stdout
    assert "Findings: 1 bug" in found.stdout
    again = re.search(r"Reproduce: (powercut reproduce \S+)", found.stdout)
    assert again and run(again[1], folder, clang).returncode == ExitCode.FINDINGS


CHECKED = """import itertools
import powercut

for again, torn, erase, ecc in itertools.product(("once", "bits"), ("unit", "byte"), ("prefix", "mix"), ("off", "on")):
    config = {"again": again, "torn": torn, "erase": erase, "ecc": ecc, "sector": 256, "unit": 8}
    steps = [powercut.insert(1), *[powercut.update(1)] * 6, powercut.erase(1), powercut.insert(2)]
    powercut.check("./libledger.so", steps, config=config, pool="16KiB", complete=True)
print("clean")
"""

BAD = {
    'sector = "10x"': "ledger: '10x' is no value of the option 'sector', which is a number of bytes, of whole units",
    "sector = 0": "ledger: '0' is no value of the option 'sector', which is",
    "sector = -512": "ledger: '-512' is no value of the option 'sector', which is",
    "sector = 99999999999": "ledger: '99999999999' is no value of the option 'sector', which is",
    "sector = 514": "ledger: a sector of 514 bytes is not of whole units of 4 bytes. Give the option",
    "sector = 32": "ledger has keys up to 32 bytes, values up to 128 bytes, and sectors that have room for a record",
    "unit = 3": "ledger: '3' is no value of the option 'unit', which is 1, 2, 4, 8, 16 or 32 bytes",
    'torn = "nibble"': "ledger: 'nibble' is no value of the option 'torn', which is unit, byte or bit",
    'again = "thrice"': "ledger: 'thrice' is no value of the option 'again', which is once, twice, twice-zero or bits",
    'erase = "half"': "ledger: 'half' is no value of the option 'erase', which is prefix or mix",
    'ecc = "yes"': "ledger: 'yes' is no value of the option 'ecc', which is off or on",
    "page = 256": "ledger: no option is called 'page'. The options are sector, unit, again, torn, erase, ecc",
}


@pytest.mark.slow
def test_parts_by_name(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The stand-in is right on many parts; a part that does not exist is refused in a paragraph."""
    require_engine()
    folder = somewhere / "ledger"
    new_target.generate("ledger", folder, flash="nor")
    scenario = folder / "scenarios" / "ledger.toml"
    text = scenario.read_text(encoding="utf-8")
    assert text.count('torn = "byte"') == 1
    assert run("make", folder, "clang-19").returncode == 0
    for line, said in BAD.items():
        scenario.write_text(text.replace('torn = "byte"', line), encoding="utf-8")
        catalog.forget()
        assert main(["run", str(folder / "libledger.so")]) == ExitCode.USAGE, line
        error = capsys.readouterr().err
        assert said in error and "Traceback" not in error, line
    (folder / "checked.py").write_text(CHECKED, encoding="utf-8")
    done = run("python checked.py", folder, "clang-19")
    assert (done.returncode, done.stdout.strip()) == (0, "clean"), done.stdout + done.stderr


@pytest.mark.parametrize("language", ["c", "c++"])
def test_what_is_written(somewhere: Path, language: str) -> None:
    assert main(["new-target", "foo", "--flash", "nor", "--language", language]) == ExitCode.CLEAN
    suffix = "c" if language == "c" else "cc"
    files = {str(path.relative_to("foo")) for path in Path("foo").rglob("*") if path.is_file()}
    assert files == {
        f"foo_target.{suffix}", "example_store.h", f"example_store.{suffix}", "scenarios/foo.toml", "test_foo.py",
        "Makefile", "README.md",
    }  # fmt: skip
    for name in files:
        text = Path("foo", name).read_text(encoding="utf-8")
        assert text.endswith("\n") and not re.search(r"\{\{|\{%|example_map", text), name
        assert max(map(len, text.splitlines())) <= 120, name


def test_other_flash_is_refused(somewhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-target", "foo", "--flash", "nand"]) == ExitCode.USAGE
    assert "unknown value of --flash 'nand'. There is nor." in capsys.readouterr().err
    assert main(["new-target", "foo", "--flash", "nor", "--sizes", "mixed"]) == ExitCode.USAGE
    assert "--flash nor --sizes mixed: the template for flash has items of one size." in capsys.readouterr().err
    assert not list(somewhere.iterdir())
