"""Variants of a scenario's file on command lines, in lists, claims and tests."""

import json
import shutil
from pathlib import Path

import pytest

from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.claims import sheet
from powercut.cli.main import main
from powercut.scenarios import catalog, scenario
from powercut.testing import cases
from tests.conftest import House
from tests.scenarios.test_variants import EIGHT, FILE, PAGE, write


def names(pattern: str) -> list[str]:
    return [item.name for item in catalog.matching(pattern)]


@pytest.fixture
def file(house: House) -> Path:
    house.scenario("clean_first")
    return write(house.root / "scenarios" / "core")


def test_variants_are_listed_like_files(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert [item.name for item in catalog.everything()] == ["clean", "clean_eight", "clean_first", "clean_page"]
    assert [item.name for item in catalog.core("level")] == ["clean", "clean_first", "clean_page"]
    assert main(["list", "scenarios", "--json"]) == ExitCode.CLEAN
    rows = json.loads(capsys.readouterr().out)["scenarios"]
    assert [row["line"] for row in rows] == [1, 19, 1, 27]
    assert {row["file"] for row in rows} == {"scenarios/core/clean.toml", "scenarios/core/clean_first.toml"}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("clean", ["clean"]),
        ("clean_eight", ["clean_eight"]),
        ("clean_[pf]*", ["clean_first", "clean_page"]),
        ("core/clean", ["clean"]),
        ("core/clean_eight", ["clean_eight"]),
        ("core/clean_eight.toml", ["clean_eight"]),
        ("scenarios/core/clean.toml", ["clean", "clean_eight", "clean_page"]),
        ("core/clean.toml", ["clean", "clean_eight", "clean_page"]),
        ("scenarios/core/clean.toml:clean", ["clean"]),
        ("scenarios/core/clean.toml:clean_page", ["clean_page"]),
        ("core", None),
    ],
)
def test_how_a_variant_is_named(file: Path, pattern: str, expected: list[str] | None) -> None:
    if expected is None:
        with pytest.raises(UsageError, match="unknown scenario"):
            names(pattern)
    else:
        assert names(pattern) == sorted(expected)


def test_a_name_that_the_file_does_not_have(file: Path) -> None:
    with pytest.raises(UsageError) as caught:
        names("scenarios/core/clean.toml:clean_first")
    assert str(caught.value) == (
        "scenarios/core/clean.toml: this file has no scenario 'clean_first'. It has clean, clean_eight, clean_page."
    )


def test_two_of_a_folder_cannot_share_a_name(house: House, file: Path) -> None:
    house.scenario("clean_eight", folder="other")
    catalog.forget()
    assert len(names("clean_eight")) == 2
    house.scenario("clean_eight")
    catalog.forget()
    with pytest.raises(UsageError) as caught:
        catalog.everything()
    assert str(caught.value) == (
        "scenarios/core/clean_eight.toml: there is another scenario 'clean_eight' in this folder. "
        "Give one of the two another name; the other is scenarios/core/clean.toml:19."
    )


def test_claims_stand_where_they_are_written(tmp_path: Path) -> None:
    own = '\n[[claim]]\nclaim = "insert.fences <= 2"\ncites = "us"\n'
    path = write(tmp_path, FILE + own + EIGHT + PAGE + own.replace("[[claim", "[[variant.claim").replace("2", "3"))
    for item, line, text in zip(scenario.load_all(path), (20, 20, 43), ("2", "2", "3"), strict=True):
        (claim,) = sheet.of_scenario(item, known={}, commands=[]).claims
        assert claim.place.rpartition(":")[2] == str(line), item.name
        assert claim.table.claim.endswith(text)


# ---- running ---------------------------------------------------------------------------------------


def run(house: House, *scenarios: str) -> dict[str, str]:
    """How the command that repeats each run of a command line names its scenario."""
    words = [word for pattern in scenarios for word in ("--scenario", pattern)]
    shutil.rmtree(house.out, ignore_errors=True)
    assert main(["run", "level:published", *words, "--out", str(house.out)]) == ExitCode.CLEAN
    runs = [json.loads(file.read_text()) for file in (house.out / "runs").glob("*.json")]
    return {item["scenario"]: item["command"].partition("--scenario ")[2].split()[0] for item in runs}


def test_a_users_file_runs_whole_or_in_part(house: House) -> None:
    write(house.root, name="clean_mine")
    expected = {name: f"clean_mine.toml:{name}" for name in ("clean_mine", "clean_eight", "clean_page")}
    assert run(house, "clean_mine.toml") == expected
    assert run(house, "./clean_mine.toml:clean_page") == {"clean_page": expected["clean_page"]}
    assert run(house, expected["clean_mine"]) == {"clean_mine": expected["clean_mine"]}
    write(house.root, FILE + PAGE, name="clean_other")
    assert len(run(house, "clean_mine.toml", "clean_other.toml")) == 4


def test_a_good_pattern_is_repeated_by_its_folder_and_name(house: House) -> None:
    (house.root / "scenarios" / "known_good").mkdir(parents=True)
    write(house.root / "scenarios" / "known_good")
    expected = {name: f"known_good/{name}" for name in ("clean", "clean_eight", "clean_page")}
    assert run(house, "known_good/*") == expected
    assert run(house, expected["clean"]) == {"clean": expected["clean"]}


def test_one_scenario_is_recorded(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["record", "level", "-o", "eight.pct", "--scenario", "scenarios/core/clean.toml"]
    assert main(given) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "names 3 scenarios: scenarios/core/clean.toml:1, scenarios/core/clean.toml:19" in said
    assert "FILE.toml:NAME" in said
    assert main([*given[:-1], f"{given[-1]}:clean_eight"]) == ExitCode.CLEAN


def test_pytest_collects_each_variant(file: Path) -> None:
    found = cases.cases([], {"target": "level:published", "scenario": "scenarios/core/clean.toml"})
    assert [(case.name, case.scenario) for case in found] == [
        ("clean", "clean"), ("clean_eight", "clean_eight"), ("clean_page", "clean_page"),
    ]  # fmt: skip


def test_a_variant_for_every_map_that_was_named_has_to_fit(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean_one")
    (house.root / "scenarios" / "core").mkdir(exist_ok=True)
    unfit = (FILE + EIGHT).replace('["level"]', '["*"]').replace("clean_eight", "unfit_eight")
    write(house.root / "scenarios" / "core", unfit)
    assert main(["run", "level:published", "--scenario", "*"]) == ExitCode.CLEAN
    capsys.readouterr()
    for pattern in ("unfit_eight", "scenarios/core/clean.toml", "scenarios/core/clean.toml:unfit_eight"):
        assert main(["run", "level:published", "--scenario", pattern]) == ExitCode.USAGE, pattern
        assert "does not support update" in capsys.readouterr().err
