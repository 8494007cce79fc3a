"""`powercut run` without anything to run asks, and names what the folder has.

It judged 44 targets of powercut itself.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from tests.cli.test_cli_bad_input import refused


@pytest.fixture
def own(house: Any, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's own folder."""
    house.scenario("clean_one")
    folder = tmp_path_factory.mktemp("own")
    monkeypatch.chdir(folder)
    return folder


def test_a_bare_run_asks_what_to_run(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "run")
    assert "nothing says what to run. Name a target ('powercut list targets'), a library of yours, or a program" in said
    assert "'powercut run --all' judges the targets of powercut itself." in said
    assert list(own.iterdir()) == []


def test_a_bare_run_names_what_the_folder_has(house: Any, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own / "crash").mkdir()
    (own / "crash" / "libledger.so").write_bytes(b"\x7fELF powercut_target_entry")
    (own / "libother.so").write_bytes(b"\x7fELF")
    (own / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (own / "scenarios").mkdir()
    shutil.copy(house.scenario("clean_two"), own / "scenarios" / "mine.toml")
    said = refused(capsys, "run")
    assert "Here is the target crash/libledger.so: 'powercut run ./crash/libledger.so' judges it." in said
    assert "Here is the scenario scenarios/mine.toml: '--scenario scenarios/mine.toml' chooses it." in said
    (own / "scenarios" / "mine.toml").write_text('schema = 5\n[scenario.one]\nsummary = "One."\ntargets = ["level"]\n')
    assert "Here is the scenario scenarios/mine.toml:" in refused(capsys, "run"), "a file of entries is one as well"
    assert "libother" not in said
    assert "pyproject" not in said


def test_all_is_every_target(house: Any, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--all"]) == ExitCode.CLEAN
    assert "level:hardened" in capsys.readouterr().out
    assert "--all is every target" in refused(capsys, "run", "level", "--all")
    assert "--all cannot be combined with --record" in refused(
        capsys, "run", "--all", "--record", "x", "--recover", "y"
    )


def test_a_scenario_is_enough(house: Any, own: Path) -> None:
    assert main(["run", "--scenario", "clean_one"]) == ExitCode.CLEAN
