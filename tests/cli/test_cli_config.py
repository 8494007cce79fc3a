"""`powercut run --config KEY=VALUE`: options of the target that go before those of the scenarios."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.scenarios.config import title, without_options
from tests.conftest import House


def run(*words: str) -> int:
    return main(["run", *words, "--out", "out", "--format", "text,json"])


def options_of(house: House, slug: str) -> dict[str, str]:
    plan = json.loads((house.out / "traces" / f"{slug}.pct").read_text())
    options: dict[str, str] = plan["target"]["options"]
    return options


def record_of(house: House, slug: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((house.out / "runs" / f"{slug}-adr.json").read_text())
    return record


def test_it_goes_before_what_the_scenario_says(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean")
    assert run("level:published", "--config", "top=8", "--config", "bug=swap") == ExitCode.CLEAN
    assert options_of(house, "level-published-clean_top_8_bug_swap") == {
        "top": "8",
        "auto_expand": "on",
        "bug": "swap",
    }
    assert "level:published  clean top=8 bug=swap  (" in capsys.readouterr().out


def test_runs_with_several_values_keep_their_records_apart(house: House) -> None:
    house.scenario("clean")
    for top in ("2", "8"):
        assert run("level:published", "--config", f"top={top}") == ExitCode.CLEAN
        assert record_of(house, f"level-published-clean_top_{top}")["scenario"] == f"clean top={top}"
    assert run("level:published") == ExitCode.CLEAN
    assert record_of(house, "level-published-clean")["scenario"] == "clean"


def test_the_command_of_a_run_and_a_finding_carry_it(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost")
    assert run("level:published", "--config", "top=2", "--explain", "0") == ExitCode.FINDINGS
    record = record_of(house, "level-published-lost_top_2")
    (finding,) = (json.loads(path.read_text()) for path in (house.out / "findings").glob("*.json"))
    assert finding["scenario"] == "lost top=2"
    assert finding["plan"]["target"]["options"]["top"] == "2"
    capsys.readouterr()
    assert main([*shlex.split(finding["reproduce"])[1:]]) == ExitCode.FINDINGS
    first = options_of(house, "level-published-lost_top_2")
    (house.out / "traces" / "level-published-lost_top_2.pct").unlink()
    assert main([*shlex.split(record["command"])[1:], "--out", "out", "--explain", "0"]) == ExitCode.FINDINGS
    assert options_of(house, "level-published-lost_top_2") == first


def test_a_known_bug_can_be_switched_off(house: House) -> None:
    house.known_bug("buggy")
    place = "known_bugs/level/buggy"
    assert run("level:hardened", "--scenario", place, "--explain", "0") == ExitCode.FINDINGS
    assert run("level:hardened", "--scenario", place, "--config", "bug=none") == ExitCode.CLEAN
    assert options_of(house, "level-hardened-buggy_bug_none")["bug"] == "none"


def test_clients_have_it(house: House) -> None:
    house.library("threads")
    words = ["--client", "2x1", "--scenario", "client_2x1_u1_l2", "--config", "top=8"]
    assert run("threads:published", *words) == ExitCode.CLEAN
    slug = "threads-published-client_2x1_u1_l2_top_8"
    first = options_of(house, slug)
    assert first == {"concurrency": "concurrent", "top": "8"}
    command = shlex.split(record_of(house, slug)["command"])
    assert command[2:9] == ["threads:published", *words]
    assert main([*command[1:], "--out", "out"]) == ExitCode.CLEAN
    assert options_of(house, slug) == first


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["tpo=4"],
            "--config: unknown option of 'level' 'tpo'. Did you mean 'top'? There are top, auto_expand, bug.",
        ),
        (["top=5"], "--config: '5' is no value of the option 'top'. There are 4, 2, 8."),
        (["bug=swp"], "--config: 'swp' is no value of the option 'bug'. Did you mean 'swap'? There are none, swap."),
        (["top"], "--config: 'top' is no option with a value. Write KEY=VALUE, such as top=4."),
        (["=4"], "--config: '=4' is no option with a value."),
        (["top="], "--config: 'top=' is no option with a value."),
        (["top=4", "top=8"], "--config: the option 'top' is given twice, as '4' and as '8'."),
    ],
)
def test_what_is_wrong_is_told(
    house: House, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    house.scenario("clean")
    given = [part for word in words for part in ("--config", word)]
    for more in ([], ["--client", "2x1"]):
        assert run("level:published", *given, *more) == ExitCode.USAGE
        said = capsys.readouterr().err
        assert message in said and "Traceback" not in said


def test_targets_without_the_option_are_skipped_unless_named(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.library("threads")
    house.scenario("clean", targets='["*"]')
    assert run("--all", "--config", "concurrency=concurrent") == ExitCode.CLEAN
    said = capsys.readouterr()
    assert "level:published is left out: unknown option of 'level' 'concurrency'." in said.err
    assert "threads:published  clean concurrency=concurrent" in said.out and "level" not in said.out
    assert run("--all", "--config", "colour=red") == ExitCode.USAGE
    assert "unknown option of 'level' 'colour'. There are top, auto_expand, bug." in capsys.readouterr().err
    assert run("level", "threads", "--config", "concurrency=concurrent") == ExitCode.USAGE


def test_program_mode_has_no_options(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--record", "true", "--recover", "true", "--config", "top=4"]) == ExitCode.USAGE
    assert "--config cannot be combined with --record or --recover" in capsys.readouterr().err


def test_claims_of_a_scenario_are_found_by_its_own_name() -> None:
    assert without_options(title("insert", {"top": "4", "bug": "none"})) == "insert"
    assert without_options("client_2x1_i2_i2") == "client_2x1_i2_i2"


@pytest.mark.slow
def test_a_finding_of_a_client_with_options_is_reproduced(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The engine compares the names of the finding and of the trace, also of one that is recorded again."""
    words = ["--client", "2x1", "--scenario", "client_2x1_i2_i2", "--explain", "0"]
    chosen = ["--config", "construction=link_and_persist", "--config", "bug=mark_ignored"]
    assert main(["run", "constructions:hardened", *words, *chosen]) == ExitCode.FINDINGS
    (finding,) = (folder / ".powercut" / "findings").glob("*.json")
    assert main(["reproduce", str(finding)]) == ExitCode.FINDINGS
    (trace,) = (folder / ".powercut" / "traces").glob("*.pct")
    capsys.readouterr()
    assert main(["explore", str(trace)]) == ExitCode.FINDINGS
    name = "client_2x1_i2_i2 construction=link_and_persist bug=mark_ignored"
    assert f"constructions:hardened  {name}  (" in capsys.readouterr().out
    trace.unlink()
    assert main(["reproduce", str(finding)]) == ExitCode.FINDINGS
