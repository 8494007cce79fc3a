"""Bad input: one paragraph with the next step, exit code 2, no traceback, nothing overwritten."""

import json
from pathlib import Path
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.scenarios import plan


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Runs a command that must be refused; returns its one paragraph."""
    code = main(list(arguments))
    captured = capsys.readouterr()
    assert code == ExitCode.USAGE, captured.err
    assert "Traceback" not in captured.err
    assert captured.out == ""
    assert len(captured.err.strip().splitlines()) == 1
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "levle"], "unknown target 'levle'. Did you mean 'level'?"),
        (["run", "level:hardend"], "Did you mean 'hardened'?"),
        (["run", "level", "--scenario", "claen"], "Did you mean 'clean'?"),
        (["run", "level", "--scenario", "zzz"], "There is clean."),
        (["run", "level", "--model", "eard"], "Did you mean 'eadr' or 'adr'?"),
        (["run", "level", "--strategy", "exhaustiv"], "Did you mean 'exhaustive'?"),
        (["run", "level", "--budget", "sixty"], "is not a budget"),
        (["run", "level", "--format", "pdf"], "unknown format 'pdf'"),
        (["run", "level", "--fail-on", "redundant-flsh"], "Did you mean 'redundant-flush'"),
        (["run", "level", "--timeout", "banana"], "--timeout: TARGET has no use for it"),
        (["run", "level", "--images", "5"], "--images: TARGET has no use for it"),
        (["run", "level", "--atoms", "none"], "unknown atom policy"),
        (["run", "missing/libpowercut-x.so"], "no such target library"),
        (["run", "scenarios/clean.toml"], "TARGET --scenario scenarios/clean.toml"),
        (["list", "target"], "Did you mean 'targets'?"),
        (["known-bugs", "cceh"], "unknown scheme 'cceh'"),
        (["explore", "none.pct"], "none.pct: no such trace"),
        (["report", "none"], "there are no run records here"),
        (["reproduce", "none.json"], "none.json: cannot read this finding"),
        (["fidelity"], "no fidelity program was built"),
    ],
)
def test_wrong_names(house: Any, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str) -> None:
    house.scenario("clean")
    house.known_bug("buggy")
    assert expected in refused(capsys, *arguments)
    assert not (house.root / ".powercut").exists()


def test_a_request_that_is_refused_is_an_object_where_objects_are_read(
    house: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    house.scenario("clean")
    assert main(["run", "levle", "--json"]) == ExitCode.USAGE
    said = capsys.readouterr()
    error = json.loads(said.out)["error"]
    assert (error["kind"], error["what"]) == ("usage", "unknown target 'levle'")
    assert "Did you mean 'level'?" in error["next"] and error["next"] in said.err


def test_usage_of_the_command_line_itself(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["run", "--no-such-option"], ["frobnicate"], ["run", "--nested", "-1"], ["record", "level"]):
        assert main(arguments) == ExitCode.USAGE
        assert "Traceback" not in capsys.readouterr().err


def test_library_of_another_abi_is_the_engines_words(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    library = house.library("abi7")
    house.scenario("clean")
    message = refused(capsys, "run", "abi7")
    assert f"{library}: the library has target ABI 7, this build has 1. Build it again" in message


def test_trace_of_another_build(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("refused")
    message = refused(capsys, "run", "level:published", "--out", "out")
    assert "x.pct: the trace is of another build. Record it again." in message
    assert not (house.out / "runs").exists()


def test_other_runs_of_the_command_are_kept(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost")
    house.scenario("refused")
    assert main(["run", "level:published", "--json"]) == ExitCode.USAGE
    captured = capsys.readouterr()
    assert [run["scenario"] for run in json.loads(captured.out)["runs"]] == ["lost"]
    assert "another build" in captured.err


def test_mark_that_is_never_reached(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("marks")
    assert "scenario marks: the explored phases never reach move.top" in refused(capsys, "run", "level:published")


def test_missing_engine(house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    house.scenario("clean")
    monkeypatch.delenv("POWERCUT_ENGINE")
    assert "powercut-engine: not built yet. Run 'make build'" in refused(capsys, "run", "level")
    monkeypatch.setenv("POWERCUT_ENGINE", str(house.root))
    assert "not an executable file" in refused(capsys, "run", "level")


def test_engine_that_cannot_be_started(
    house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = house.root / "engine"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    monkeypatch.setenv("POWERCUT_ENGINE", str(broken))
    house.scenario("clean")
    assert "the engine does not start" in refused(capsys, "run", "level")


def test_unwritable_output_folder(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean")
    (house.root / "file").write_text("keep me")
    assert "file/out: cannot write here" in refused(capsys, "run", "level:published", "--out", "file/out")
    assert (house.root / "file").read_text() == "keep me"
    assert "cannot write here" in refused(capsys, "record", "level", "--scenario", "clean", "-o", "file/x.pct")


def test_a_failed_recording_leaves_the_old_trace(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("marks")
    (house.root / "x.pct").write_text("old")
    refused(capsys, "record", "level", "--scenario", "marks", "-o", "x.pct")
    assert (house.root / "x.pct").read_text() == "old"
    assert [path.name for path in house.root.iterdir() if path.name.startswith(".")] == []


def test_pool_larger_than_memory(
    house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = house.scenario("clean")
    path.write_text(path.read_text().replace("256KiB", "900GiB"))
    monkeypatch.setattr(plan, "available_memory", lambda: 1 << 30)
    message = refused(capsys, "run", "level")
    assert "a pool of 921600 MiB" in message
    assert "1024 MiB are available" in message


def test_scenario_for_another_target(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean", targets='["cceh"]')
    assert "'level' has no core scenario" in refused(capsys, "run", "level")
    assert "none of these scenarios fits 'level'" in refused(capsys, "run", "level", "--scenario", "clean")
    assert "the scenario is for cceh" in refused(capsys, "record", "level", "--scenario", "clean", "-o", "x.pct")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "not JSON"),
        ("[1]", "not a finding"),
        ("{}", "not a finding (finding: the number of its version is missing)"),
        ("\udcff", "not UTF-8"),
    ],
)
def test_bad_finding_file(house: Any, capsys: pytest.CaptureFixture[str], content: str, expected: str) -> None:
    (house.root / "f.json").write_bytes(content.encode(errors="surrogateescape"))
    assert expected in refused(capsys, "reproduce", "f.json")


def test_finding_of_another_version_or_without_trace(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    record: dict[str, Any] = {
        "finding": 9, "fingerprint": "f", "invariant": "leak", "target": "level", "scenario": "s",
        "crash_point": {}, "image": [], "stores": [],
    }  # fmt: skip
    (house.root / "f.json").write_text(json.dumps(record))
    assert "finding record version 9, this build reads 1" in refused(capsys, "reproduce", "f.json")
    (house.root / "f.json").write_text(json.dumps({**record, "finding": 1, "trace": "gone.pct"}))
    assert "its trace is gone (gone.pct)" in refused(capsys, "reproduce", "f.json")


@pytest.mark.parametrize("content", ["", "{}", '{"run": 2}', '{"run": 1}', "[]"])
def test_bad_run_record(house: Any, capsys: pytest.CaptureFixture[str], content: str) -> None:
    folder = house.root / "out" / "runs"
    folder.mkdir(parents=True)
    (folder / "x.json").write_text(content)
    assert "runs/x.json" in refused(capsys, "report", "out")
    assert sorted(path.name for path in Path("out").iterdir()) == ["runs"]
