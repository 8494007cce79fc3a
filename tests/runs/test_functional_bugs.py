"""A bug that needs no power cut is told once, first, and ends its run; `--keep-going` goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import powercut
from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.engine import engine, events
from powercut.testing.api import Session
from tests.real_engine import require_engine

pytestmark = pytest.mark.usefixtures("real_engine")

SCENARIO = """schema = 1
name = "inserts"
summary = "A few inserts and a look at them."
targets = ["pair"]
[data]
key_size = 8
value_size = 8
[[phase]]
name = "work"
steps = [{ op = "insert", from = 1, to = 5 }, { op = "lookup", from = 1, to = 5 }]
"""


def library(kind: str) -> str:
    """The pair whose third insert overwrites the second item, or its twin."""
    require_engine()
    return str(paths.library_dir() / "regression" / f"insert_overwrites-{kind}.so")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    Path("inserts.toml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


def run(kind: str, *more: str) -> tuple[int, dict[str, Any]]:
    arguments = ["run", library(kind), "--scenario", "inserts.toml", "--explain", "0", "--json", *more]
    code = main(arguments)
    return code, json.loads(next(Path(".powercut/runs").glob("*.json")).read_text(encoding="utf-8"))


def test_a_functional_bug_is_told_once_and_ends_its_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, record = run("bug")
    assert code == ExitCode.FINDINGS
    first, *others = record["findings"]
    assert first["needs_power_cut"] is False and "No power cut needed" in first["message"]
    assert all(finding["needs_power_cut"] for finding in others)
    assert record["functional"] is True and record["verdict"] == "inconsistent"
    assert record["coverage"]["kind"] == "sampled" and "--keep-going goes on" in record["coverage"]["reason"]
    told = json.loads(capsys.readouterr().out)
    assert told["runs"][0]["functional"] is True and told["runs"][0]["findings"][0]["needs_power_cut"] is False


def test_keep_going_goes_on_and_tells_it_first(folder: Path) -> None:
    _, stopped = run("bug")
    code, record = run("bug", "--keep-going")
    assert code == ExitCode.FINDINGS and record["functional"] is False
    assert record["coverage"]["kind"] == "complete"
    needs = [finding["needs_power_cut"] for finding in record["findings"]]
    assert needs == sorted(needs) and needs.count(False) > 1 and True in needs
    known = {finding["fingerprint"] for finding in record["findings"]}
    assert {finding["fingerprint"] for finding in stopped["findings"]} <= known


def test_a_twin_of_a_functional_bug_is_complete_and_clean(folder: Path) -> None:
    code, record = run("twin")
    assert code == ExitCode.CLEAN and record["functional"] is False and record["coverage"]["kind"] == "complete"


def test_a_functional_bug_is_explained_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", library("bug"), "--scenario", "inserts.toml"]) == ExitCode.FINDINGS
    record = json.loads(next(Path(".powercut/runs").glob("*.json")).read_text(encoding="utf-8"))
    causes = [finding["cause"] and finding["cause"]["kind"] for finding in record["findings"]]
    assert causes[0] == "functional" and set(causes[1:]) <= {None}
    text = capsys.readouterr().out
    assert text.index("No power cut needed") < text.index("Verdict: inconsistent, sampled")
    assert "Power cut: none needed" in text
    page = Path(".powercut/report.html").read_text(encoding="utf-8")
    assert "an answer is wrong without any power cut" in page


def test_the_same_functional_bug_ends_a_run_whatever_the_jobs(folder: Path) -> None:
    _, record = run("bug")
    seen = []
    for jobs in ("1", "2", "4"):
        arguments = ["explore", "--trace", record["trace"], "--stop-at-functional"]
        arguments += ["--jobs", jobs, "--chunk-events", "8"]
        raw = [item for _, item in engine.stream(paths.engine(), arguments)]
        found = {item["key"]: item for item in raw if item["event"] == "finding"}
        (result,) = (item for item in raw if item["event"] == "result")
        assert result["functional"] is True and result["coverage"]["kind"] == "sampled"
        assert [item["needs_power_cut"] for item in found.values()].count(False) == 1
        seen.append((sorted(found), result["executions"], result["coverage"]["covered"]))
    assert seen[0] == seen[1] == seen[2]


def test_a_run_that_stopped_is_resumed_with_keep_going(folder: Path) -> None:
    run("bug")
    code, record = run("bug", "--resume", "--keep-going")
    assert code == ExitCode.FINDINGS and record["coverage"]["kind"] == "complete"


def test_a_functional_bug_that_a_baseline_knows_does_not_end_its_run(folder: Path) -> None:
    run("bug", "--keep-going")
    assert main(["baseline", "update", "known.json"]) == ExitCode.CLEAN
    code, record = run("bug", "--baseline", "known.json", "--no-canary")
    assert code == ExitCode.CLEAN and record["coverage"]["kind"] == "complete"
    assert {finding["baseline"] for finding in record["findings"]} == {"known"}


def test_a_check_in_python_stops_as_well(folder: Path) -> None:
    heard: list[Any] = []
    with pytest.raises(powercut.InconsistentError, match="No power cut needed"):
        Session(out=folder / "out", heard=heard.append).check(library("bug"), [powercut.insert(1, 2, 3)])
    (result,) = heard
    assert result.runs[0]["functional"] is True


def test_the_engine_tells_the_steps_of_recovery(folder: Path) -> None:
    """Each load of the image has the bytes that the image has there, in the order of the program."""
    _, record = run("bug", "--keep-going")
    finding = next(finding for finding in record["findings"] if finding["needs_power_cut"])
    file = folder / "finding.json"
    file.write_text(json.dumps(finding), encoding="utf-8")
    arguments = ["reproduce", "--steps", "--trace", record["trace"], "--finding", str(file)]
    event, _ = engine.single(paths.engine(), arguments, events.Reproduced)
    assert isinstance(event, events.Reproduced) and event.steps is not None and event.held
    steps = event.steps["steps"]
    assert event.steps["all"] == len(steps) > 5
    assert [step["part"] for step in steps] == sorted((step["part"] for step in steps), reverse=True)
    image = {line["offset"]: bytes.fromhex(line["bytes"]) for line in finding["image"]}
    stored: set[int] = set()
    compared = 0
    for step in steps:
        reach = range(step["offset"], step["offset"] + step["size"])
        line = step["offset"] // 64 * 64
        assert step["pending"] == (line in image and step["kind"] != "fence")
        if step["kind"] == "load" and line in image and not stored & set(reach):
            at = step["offset"] - line
            assert bytes.fromhex(step["bytes"]) == image[line][at : at + step["size"]]
            compared += 1
        elif step["kind"] == "store":
            stored |= set(reach)
    assert compared > 0 and all(step["stack"] for step in steps)
