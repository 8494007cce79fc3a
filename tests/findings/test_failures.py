"""The failure database: the entries that it keeps and leaves out, and a run's conclusions from the replays."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.findings import failures
from powercut.findings.failures import Failure, Failures
from powercut.runs import replays
from reports.tests.typed import finding_of, run_of
from tests.conftest import House

SHRINK = "level-published-shrink-adr"
SHRINKING = ("level:published", "--scenario", "shrink", "--explain", "0")


def sample(fingerprint: str = "0123456789ab", **changes: Any) -> Failure:
    return Failure.model_validate(
        {
            "failure": 1,
            "fingerprint": fingerprint,
            "invariant": "lost-item",
            "underlying": None,
            "operation": "insert",
            "sites": ["lost level::insert targets/level/insert.cc:17"],
            "target": "level",
            "variant": "hardened",
            "scenario": "s",
            "engine": {"model": "adr", "atoms": "any"},
            "plan": {"plan": 1, "target": {"name": "level", "library": "/a.so"}, "seed": 1},
            "crash_point": {"index": 4, "event": 40, "when": "before sfence", "depth": 0},
            "query": {"kind": "lookup", "text": "lookup(17)"},
            "image": [{"offset": 64, "bytes": "00" * 64, "decided": True}],
            "nested_image": [],
            **changes,
        }
    )


def run_once(*arguments: str, out: Path = Path("out")) -> ExitCode:
    return ExitCode(main(["run", *arguments, "--out", str(out), "--format", "text"]))


def run_record(name: str, out: Path = Path("out")) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "runs" / f"{name}.json").read_text())
    return content


def entries(name: str, out: Path = Path("out")) -> list[Path]:
    return sorted((out / "failures" / name).glob("*.json"))


def rewrite(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


# The database alone.


def test_newest_first_and_bounded(tmp_path: Path) -> None:
    database = Failures(folder=tmp_path)
    for number in range(failures.KEPT + 5):
        database.keep("run", sample(f"{number:012x}"))
        os.utime(tmp_path / "run" / f"{number:012x}.json", ns=(number, number))
    loaded = database.load("run")
    assert len(loaded.failures) == failures.KEPT and not loaded.warnings
    numbers = [int(failure.fingerprint, 16) for failure in loaded.failures]
    assert numbers == sorted(numbers, reverse=True) and numbers[0] == failures.KEPT + 4


def test_prune_removes_the_oldest_of_all_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "KEPT_IN_ALL", 3)
    database = Failures(folder=tmp_path / "failures")
    for number in range(5):
        database.keep(f"run{number}", sample())
        os.utime(database.folder / f"run{number}" / "0123456789ab.json", ns=(number, number))
    failures.of_folder(tmp_path)
    assert sorted(path.name for path in database.folder.iterdir()) == ["run2", "run3", "run4"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "no entry (the whole file"),
        ("{}", "no entry (failure"),
        ('{"failure": "1"}', "no entry (failure"),
        ("[" * 100_000, "cannot be read"),
        ("\ud800", "cannot be read"),
        ('{"failure": 7}', "entries of version 7 are left out, this build reads 1"),
        (sample().model_dump_json().replace('"offset":64', '"offset":"64"'), "no entry (image.0.offset"),
        (sample().model_dump_json().replace("0123456789ab", "../../escaped"), "no entry (fingerprint"),
        (" " * (3 << 20), "too long"),
    ],
)
def test_damaged_entries_are_left_out_with_a_sentence(tmp_path: Path, content: str, said: str) -> None:
    database = Failures(folder=tmp_path)
    database.keep("run", sample())
    (tmp_path / "run" / "bad.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    (tmp_path / "run" / "folder.json").mkdir()
    loaded = database.load("run")
    assert [failure.fingerprint for failure in loaded.failures] == ["0123456789ab"]
    assert any(said in warning for warning in loaded.warnings), loaded.warnings
    assert any("folder.json" in warning for warning in loaded.warnings)


def test_a_database_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    (tmp_path / "failures").write_text("a file where the folder belongs")
    database = failures.of_folder(tmp_path)
    database.keep("run", sample())
    database.forget("run", "0123456789ab")
    assert database.load("run") == failures.Loaded(failures=(), warnings=())


def test_writers_at_once_leave_whole_entries(tmp_path: Path) -> None:
    database = Failures(folder=tmp_path)

    def write() -> None:
        for number in range(40):
            database.keep("run", sample(f"{number % 7:012x}"))
            database.forget("run", f"{number % 5:012x}")
            assert not database.load("run").warnings

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not database.load("run").warnings
    assert not list(tmp_path.rglob(".entry.*"))


def test_an_entry_is_of_one_plan_and_depth() -> None:
    moved = {"plan": 1, "target": {"name": "level", "library": "/elsewhere/a.so"}, "seed": 1}
    assert sample().is_of(moved, atoms="any", nested=0)
    assert not sample().is_of({**moved, "seed": 2}, atoms="any", nested=0)
    assert not sample().is_of(moved, atoms="byte", nested=0)
    deep = sample(crash_point={"index": 4, "event": 40, "when": "before sfence", "depth": 1})
    assert deep.is_of(moved, atoms="any", nested=1) and not deep.is_of(moved, atoms="any", nested=0)


def test_identity_survives_moved_lines() -> None:
    assert sample().identity == sample(sites=["lost level::insert targets/level/insert.cc:99"]).identity
    assert sample().identity != sample(sites=["lost level::insert targets/level/update.cc:17"]).identity


def test_a_finding_that_the_engine_cannot_replay_has_no_entry() -> None:
    assert failures.entry(finding_of({"fingerprint": "0123456789ab"}), {}) is None


# A run's conclusions from it, with canned answers of the engine.


@pytest.fixture
def replaying(house: House) -> House:
    for name in ("clean", "lost", "haunted", "gone", "sampled_gone"):
        house.scenario(name, core=name == "clean")
    return house


def plant(name: str, out: Path = Path("out")) -> Path:
    """An entry for the next run of the scenario `name`."""
    plan = json.loads((out / "traces" / f"level-published-{name}.pct").read_text())
    Failures(folder=out / "failures").keep(f"level-published-{name}-adr", sample(plan=plan))
    return out / "failures" / f"level-published-{name}-adr" / "0123456789ab.json"


def test_what_is_still_there_is_announced_first(replaying: House, capfd: pytest.CaptureFixture[str]) -> None:
    assert run_once("level", "--scenario", "lost") == ExitCode.FINDINGS
    first = run_record("level-published-lost-adr")
    assert "earlier finding" not in capfd.readouterr().err and first["replayed"] is None
    assert run_once("level", "--scenario", "lost") == ExitCode.FINDINGS
    said = capfd.readouterr()
    assert "level:published lost: an earlier finding holds: lost-item" in said.err
    assert "Earlier findings: replayed 1 earlier finding: 1 still there" in said.out
    second = run_record("level-published-lost-adr")
    (row,) = second.pop("replayed")
    assert (row["state"], row["replay"], row["note"]) == ("still there", "held", "")
    first.pop("replayed")
    assert first == second, "what is replayed changes nothing of a complete run"


def test_no_replay(replaying: House, capfd: pytest.CaptureFixture[str]) -> None:
    run_once("level", "--scenario", "lost")
    run_once("level", "--scenario", "lost", "--no-replay")
    assert "earlier" not in "".join(capfd.readouterr())
    assert entries("level-published-lost-adr")


def test_what_is_gone_is_forgotten(replaying: House, capfd: pytest.CaptureFixture[str]) -> None:
    run_once("level", "--scenario", "gone")
    planted = plant("gone")
    assert run_once("level", "--scenario", "gone") == ExitCode.CLEAN
    assert "replayed 1 earlier finding: 1 gone" in capfd.readouterr().out
    assert not planted.exists()


def test_a_sampled_run_decides_nothing_of_what_did_not_hold(
    replaying: House, capfd: pytest.CaptureFixture[str]
) -> None:
    run_once("level", "--scenario", "sampled_gone")
    planted = plant("sampled_gone")
    assert run_once("level", "--scenario", "sampled_gone") == ExitCode.INCOMPLETE
    said = capfd.readouterr().out
    assert "1 undecided" in said and "its crash image is clean now" in said
    assert planted.exists()


def test_a_replay_that_contradicts_a_clean_run_makes_it_unknown(
    replaying: House, capfd: pytest.CaptureFixture[str]
) -> None:
    run_once("level", "--scenario", "haunted")
    plant("haunted")
    assert run_once("level", "--scenario", "haunted") == ExitCode.INCOMPLETE
    assert "exploration is clean, but an earlier finding holds" in capfd.readouterr().out
    assert run_record("level-published-haunted-adr")["verdict"] == "unknown"


def test_damaged_entries_are_said_and_change_nothing(replaying: House, capfd: pytest.CaptureFixture[str]) -> None:
    run_once("level", "--scenario", "clean")
    plant("clean").write_text("{")
    assert run_once("level", "--scenario", "clean") == ExitCode.CLEAN
    assert "0123456789ab.json: left out, since it cannot be read" in capfd.readouterr().err


def test_entries_of_another_plan_are_not_replayed(replaying: House, capfd: pytest.CaptureFixture[str]) -> None:
    run_once("level", "--scenario", "lost")
    run_once("level", "--scenario", "lost", "--seed", "2")
    assert "earlier" not in "".join(capfd.readouterr())


# These conclusions with the engine. Looking for causes would take most of the time, and no test here reads one.


@pytest.mark.slow
def test_a_replayed_finding_stands_where_the_budget_ran_out(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = SHRINKING
    assert run_once(*command, "--budget", "1x") == ExitCode.INCOMPLETE, "the budget is too small to find anything"
    assert run_once(*command) == ExitCode.FINDINGS
    complete = {item["fingerprint"]: item for item in run_record(SHRINK)["findings"]}
    kept = {path.stem for path in entries(SHRINK)}
    assert kept == set(complete), "every finding has its entry"
    assert all(path.stat().st_size < 8192 for path in entries(SHRINK)), "an entry is a choice and no artefact"

    assert run_once(*command, "--budget", "1x") == ExitCode.FINDINGS
    run = run_record(SHRINK)
    assert (run["verdict"], run["coverage"]["kind"]) == ("inconsistent", "sampled")
    assert {item["fingerprint"] for item in run["findings"]} == kept
    for item in run["findings"]:
        assert (item["message"], item["store_site"]) == (
            complete[item["fingerprint"]]["message"],
            complete[item["fingerprint"]]["store_site"],
        )
        assert Path(item["file"]).is_file()
    assert "replayed 2 earlier findings: 2 still there" in capfd.readouterr().out


@pytest.mark.slow
def test_rounds_of_a_budget_in_seconds_replay_as_well(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run_once(*SHRINKING)
    kept = {path.stem for path in entries(SHRINK)}
    capfd.readouterr()
    assert run_once(*SHRINKING, "--budget", "1ms") == ExitCode.FINDINGS
    assert kept <= {item["fingerprint"] for item in run_record(SHRINK)["findings"]}
    said = capfd.readouterr().err
    assert all(said.count(f"{name}.json") == 1 for name in kept), "each is announced once"


@pytest.mark.slow
def test_a_crash_state_that_the_trace_has_not_is_left_to_the_exploration(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_once(*SHRINKING)
    for path in entries(SHRINK):
        point = json.loads(path.read_text())["crash_point"]
        rewrite(path, crash_point={**point, "event": point["event"] + 1})
    run_once(*SHRINKING)
    assert "2 still there" in capfd.readouterr().out
    assert {row["replay"] for row in run_record(SHRINK)["replayed"]} == {"not replayed"}


@pytest.mark.slow
def test_a_finding_whose_lines_moved_goes_on_under_its_new_name(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run_once(*SHRINKING)
    (path, *_) = entries(SHRINK)
    content = json.loads(path.read_text())
    moved = [f"{site.rpartition(':')[0]}:9999" for site in content["sites"]]
    point = {**content["crash_point"], "event": content["crash_point"]["event"] + 1}
    rewrite(path, fingerprint="0123456789ab", sites=moved, crash_point=point)
    path.rename(path.with_stem("0123456789ab"))
    run_once(*SHRINKING)
    assert "replayed 2 earlier findings: 2 still there" in capfd.readouterr().out
    row = next(row for row in run_record(SHRINK)["replayed"] if row["fingerprint"] == "0123456789ab")
    assert row["now"] == path.stem
    assert "0123456789ab" not in {path.stem for path in entries(SHRINK)}


def test_sentence_counts_the_states() -> None:
    rows = [{"state": replays.STILL_THERE}, {"state": replays.GONE}, {"state": replays.STILL_THERE}]
    assert replays.sentence(run_of({"replayed": rows})) == "replayed 3 earlier findings: 2 still there, 1 gone"
    assert replays.sentence(run_of({"replayed": None})) == replays.sentence(run_of({})) == ""
