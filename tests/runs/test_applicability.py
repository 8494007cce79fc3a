"""Scenarios that do not fit a target: what is set aside, what stays an error, and what no gate runs by default."""

import json
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.runs.applicability import SetAside, sentences

EVERY = '["*"]'
LINE = "2 built-in scenarios do not apply to level:published: unfit_one, unfit_two need update."


def test_a_target_without_update_is_no_error(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean_one", targets=EVERY)
    house.scenario("unfit_one", targets=EVERY)
    house.scenario("unfit_two", targets=EVERY)
    for arguments in ([], ["--budget", "20s"], ["--scenario", "*"], ["--jobs", "1"]):
        assert main(["run", "level:published", *arguments]) == ExitCode.CLEAN, arguments
        told = capsys.readouterr()
        assert (told.out + told.err).count(LINE) == 1, told


def test_targets_that_lack_the_same_share_a_line() -> None:
    aside = [SetAside(target=f"t{n}", variant="default", scenario="sizes", needs="mixed sizes") for n in range(30)]
    aside.append(SetAside(target="t0", variant="default", scenario="churn", needs="update"))
    assert sentences(aside) == [
        "2 built-in scenarios do not apply to t0:default: sizes needs mixed sizes; churn needs update.",
        f"1 built-in scenario does not apply to {', '.join(f't{n}:default' for n in range(1, 13))} and 17 more: "
        "sizes needs mixed sizes.",
    ]


def test_json_names_what_does_not_apply(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean_one", targets=EVERY)
    house.scenario("unfit_one", targets=EVERY)
    assert main(["run", "level:published", "--json"]) == ExitCode.CLEAN
    printed = json.loads(capsys.readouterr().out)
    assert [run["scenario"] for run in printed["runs"]] == ["clean_one"]
    assert printed["not_applicable"] == [
        {"target": "level", "variant": "published", "scenario": "unfit_one", "needs": "update"}
    ]


@pytest.mark.parametrize("arguments", [["--scenario", "unfit_one"], ["--scenario", "scenarios/core/unfit_one.toml"]])
def test_a_scenario_that_was_named_stays_an_error(
    house: Any, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    house.scenario("clean_one", targets=EVERY)
    house.scenario("unfit_one", targets=EVERY)
    assert main(["run", "level:published", "--scenario", "clean*", *arguments]) == ExitCode.USAGE
    assert "the target does not support update of key 1. Correct it." in capsys.readouterr().err


def test_a_scenario_of_the_scheme_stays_an_error(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean_one")
    house.scenario("unfit_one")
    assert main(["run", "level:published"]) == ExitCode.USAGE
    assert "does not support update" in capsys.readouterr().err


def test_nothing_that_applies_is_not_clean(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("unfit_one", targets=EVERY)
    house.scenario("clean_one", targets='["patterns"]')
    for command in (["run"], ["audit"], ["faults"]):
        assert main([*command, "level:published", "patterns"]) == ExitCode.USAGE, command
        assert (
            "level:published: no built-in scenario applies to this target, so nothing was judged: unfit_one needs up"
            in capsys.readouterr().err
        )


def test_findings_count_beside_what_does_not_apply(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost_one", targets=EVERY)
    house.scenario("unfit_one", targets=EVERY)
    assert main(["run", "level:published"]) == ExitCode.FINDINGS
    assert main(["audit", "level:published", "--images", "2"]) == ExitCode.FINDINGS
    assert "1 built-in scenario does not apply to level:published: unfit_one needs update." in capsys.readouterr().err


def runs(capsys: pytest.CaptureFixture[str], pattern: str) -> list[str]:
    assert main(["run", "level:published", "--scenario", pattern, "--json"]) == ExitCode.CLEAN
    return [run["scenario"] for run in json.loads(capsys.readouterr().out)["runs"]]


def test_measurements_are_no_part_of_a_glob(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("map_clean", targets=EVERY)
    path = house.scenario("map_clean_costs", targets=EVERY, core=False)
    path.write_text(path.read_text().replace("core = false", 'purpose = "measurement"'))
    assert runs(capsys, "map_*") == ["map_clean"]
    assert runs(capsys, "map_clean_costs") == ["map_clean_costs"]
    assert runs(capsys, "*_costs") == ["map_clean_costs"]


def test_a_measurement_is_not_core(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = house.scenario("map_clean_costs", targets=EVERY)
    path.write_text(path.read_text().replace("core = true", 'core = true\npurpose = "measurement"'))
    assert main(["run", "level:published"]) == ExitCode.USAGE
    assert "a measurement is no core scenario" in capsys.readouterr().err
