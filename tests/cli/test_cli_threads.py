"""Threads on the command line: `--search`, `--preemptions`, `--schedules`, `--client`, and what the verdict says."""

import json
import shlex
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.commands.run import Command
from powercut.cli.main import main
from powercut.engine.options import Budget, ExploreOptions, Schedules
from tests.conftest import House

RACE = """
[[phase]]
name = "race"
threads = [[{ op = "update", keys = [1] }, { op = "lookup", keys = [1] }], [{ op = "lookup", keys = [1] }]]
"""


def race(house: House, name: str = "race", extra: str = "") -> None:
    path = house.scenario(name)
    path.write_text(path.read_text().replace("schema = 1", "schema = 2") + RACE + extra)


def plan_of(house: House, name: str, target: str = "level-published") -> dict[str, Any]:
    plan: dict[str, Any] = json.loads((house.out / "traces" / f"{target}-{name}.pct").read_text())
    return plan


def run(*words: str) -> int:
    return main(["run", *words, "--out", "out", "--format", "text,json,markdown,html"])


@pytest.mark.parametrize(
    ("words", "search", "coverage"),
    [
        (
            [],
            ("bounded", None, 0, "adr"),
            "crash states of all schedules of 2 threads × 2 operations",
        ),
        (
            ["--preemptions", "2", "--schedules", "500", "--model", "eadr"],
            ("bounded", 2, 500, "eadr"),
            "crash states of all schedules of 2 threads × 2 operations with at most 2 preemptions",
        ),
        (
            ["--search", "random", "--schedules", "7"],
            ("random", None, 7, "adr"),
            "crash states of 7 random schedules of 2 threads × 2 operations",
        ),
        (
            ["--search", "recorded"],
            ("recorded", None, 1, "adr"),
            "crash states of the recorded schedule of 2 threads × 2 operations",
        ),
        (
            ["--search", "pct"],
            ("pct", None, 1000, "adr"),
            "crash states of 1,000 pct schedules of 2 threads × 2 operations",
        ),
    ],
)
def test_schedules_are_in_the_plan_and_in_every_report(
    house: House,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    search: tuple[str, int | None, int, str],
    coverage: str,
) -> None:
    race(house)
    code = run("level:published", *words)
    assert code == (ExitCode.CLEAN if search[0] == "bounded" else ExitCode.INCOMPLETE)
    assert plan_of(house, "race")["search"] == dict(
        zip(("kind", "preemptions", "schedules", "model"), search, strict=True)
    )
    kind = "complete: all" if search[0] == "bounded" else "sampled: 10 of"
    for text in (
        capsys.readouterr().out,
        (house.out / "report.html").read_text(),
        (house.out / "summary.md").read_text(),
    ):
        assert kind in text and coverage in text
    (reported,) = json.loads((house.out / "report.json").read_text())["runs"]
    told = reported["coverage"]["schedules"]
    assert (told["search"], told["threads"], told["operations"]) == (search[0], 2, 2)
    record = json.loads((house.out / "runs" / f"level-published-race-{search[3]}.json").read_text())
    assert record["coverage"]["schedules"] == told
    assert record["command"].endswith(shlex.join(words[: words.index("--model")] if "--model" in words else words))


def test_a_run_of_one_thread_says_nothing_of_schedules(house: House) -> None:
    house.scenario("clean")
    assert run("level:published") == ExitCode.CLEAN
    (reported,) = json.loads((house.out / "report.json").read_text())["runs"]
    assert "schedules" not in reported["coverage"]
    assert "search" not in plan_of(house, "clean")


@pytest.mark.parametrize("words", [["--search", "pct"], ["--preemptions", "none"], ["--schedules", "5"]])
def test_schedules_of_a_scenario_without_threads_are_refused(
    house: House, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    house.scenario("clean")
    race(house)
    assert run("level:published", "--scenario", "clean", *words) == ExitCode.USAGE
    assert (
        f"clean: {words[0]} chooses schedules of threads, and this scenario has no threads." in capsys.readouterr().err
    )
    assert main(["record", "level", "--scenario", "clean", "-o", "x.pct", *words]) == ExitCode.USAGE
    assert "this scenario has no threads" in capsys.readouterr().err
    assert run("level:published", "--scenario", "*", *words) in (ExitCode.CLEAN, ExitCode.INCOMPLETE)
    assert run("level:published", *words) in (ExitCode.CLEAN, ExitCode.INCOMPLETE)
    (house.root / "scenarios" / "core" / "race.toml").unlink()


def test_schedules_where_nothing_has_threads_are_refused(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean")
    assert run("level:published", "--preemptions", "2") == ExitCode.USAGE
    assert "--preemptions: --preemptions chooses schedules of threads, and no scenario" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--search", "rendom"], "unknown search 'rendom'. Did you mean 'random'?"),
        (["--preemptions", "many"], "--preemptions: 'many' is no number of preemptions."),
        (["--search", "recorded", "--schedules", "2"], "--schedules: the search 'recorded' is of one schedule."),
        (["--search", "random", "--preemptions", "2"], "preemptions are a bound of the search 'bounded'"),
        (["--keys", "1,2"], "--keys: these are the keys of no client. Add --client 2x2."),
        (["--client", "two"], "--client: 'two' is no client."),
        (["--client", "2x1"], "level:published: this target does not say that threads may call it at the same time"),
    ],
)
def test_wrong_choices_are_told(
    house: House, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    race(house)
    assert run("level:published", *words) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_program_mode_has_no_schedules(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--search", "pct"], ["--client", "2x2"], ["--schedules", "3"]):
        assert main(["run", "--record", "true", "--recover", "true", *words]) == ExitCode.USAGE
        assert f"{words[0]} cannot be combined with --record or --recover" in capsys.readouterr().err


def test_record_has_the_model_of_a_race(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    race(house)
    house.scenario("clean")
    words = ["--model", "eadr", "--preemptions", "1"]
    assert main(["record", "level", "--scenario", "race", "-o", "race.pct", *words]) == ExitCode.CLEAN
    plan = json.loads((house.root / "race.pct").read_text())
    assert plan["search"] == {"kind": "bounded", "preemptions": 1, "schedules": 0, "model": "eadr"}
    assert main(["record", "level", "--scenario", "clean", "-o", "x.pct", "--model", "adr"]) == ExitCode.USAGE
    assert "--model: a recording without threads is the same for every model." in capsys.readouterr().err
    assert main(["record", "level", "--scenario", "race", "-o", "x.pct", "--model", "cxl"]) == ExitCode.USAGE
    assert "unknown model 'cxl'" in capsys.readouterr().err


def test_clients_run_as_a_batch(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.library("threads")
    assert run("threads:published", "--client", "2x1", "--preemptions", "1") == ExitCode.CLEAN
    said = capsys.readouterr()
    assert "9 of 36 clients are left out for threads:published: in some order an insert meets a present" in said.err
    assert "1 target, 7 runs: 7 consistent; 0 bugs, 0 findings" in said.out
    assert sorted((house.out / "traces").iterdir())[0].name == "threads-published-clients_2x1_e1.pct"
    plan = plan_of(house, "clients_2x1_u1", "threads-published")
    assert plan["target"]["options"] == {"concurrency": "concurrent"}
    assert plan["search"]["preemptions"] == 1


def test_some_of_a_batch_are_chosen_by_name(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.library("threads")
    assert run("threads:published", "--client", "2x1", "--scenario", "clients_2x1_e*") == ExitCode.CLEAN
    assert "1 target, 2 runs: 2 consistent" in capsys.readouterr().out
    assert run("threads:published", "--client", "2x1", "--scenario", "client_2x1_e1_*") == ExitCode.CLEAN
    assert "1 target, 4 runs: 4 consistent" in capsys.readouterr().out
    # A sample is one of each client.
    assert run("threads:published", "--client", "2x1", "--search", "pct", "--schedules", "2") == ExitCode.INCOMPLETE
    assert "1 target, 27 runs" in capsys.readouterr().out


def test_the_command_of_a_client_runs_it_again(house: House, capsys: pytest.CaptureFixture[str]) -> None:
    house.library("threads")
    words = ["--client", "2x1", "--keys", "3,5,8", "--scenario", "client_2x1_i5_l3", "--search", "pct"]
    assert run("threads:published", *words) == ExitCode.INCOMPLETE
    first = plan_of(house, "client_2x1_i5_l3", "threads-published")
    (record,) = (house.out / "runs").iterdir()
    command = shlex.split(json.loads(record.read_text())["command"])
    assert main([*command[1:], "--out", "out"]) == ExitCode.INCOMPLETE
    assert plan_of(house, "client_2x1_i5_l3", "threads-published") == first
    assert first["scenario"]["phases"][0]["steps"] == [{"op": "insert", "keys": [3]}]


def test_targets_that_are_not_for_threads_are_skipped_unless_named(
    house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    house.library("threads-exists")
    assert run("--client", "2x1", "--scenario", "client_2x1_u1_*") == ExitCode.CLEAN
    said = capsys.readouterr()
    assert "level:published is left out: this target does not say" in said.err
    assert "1 target" not in said.out and "threads-exists:published" in said.out


def test_a_shard_knows_its_clients() -> None:
    command = Command(
        targets=("threads",),
        scenarios=("client_*",),
        client="2x2",
        keys="1,2",
        config={"construction": "flit"},
        options=ExploreOptions(schedules=Schedules(preemptions=2), budget=Budget(executions=5)),
        tracer=None,
    )
    assert Command.from_json(json.loads(json.dumps(command.as_json()))) == command


def test_claims_about_operations_are_not_measured_in_a_tree_of_schedules(house: House) -> None:
    race(house, extra='\n[[claim]]\nclaim = "update.stores <= 1"\ncites = "section 3"\n')
    assert run("level:published") == ExitCode.CLEAN
    (reported,) = json.loads((house.out / "report.json").read_text())["runs"]
    (claim,) = reported["claims"]
    assert claim["holds"] is None and claim["measured"] is None
    assert "operations of threads are not measured" in claim["note"]
