"""The canary of a gate: found again on every way, and a gate in which it is not is never green."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.engine.options import MODELS, STRATEGIES, ExploreOptions
from powercut.gate import canary
from powercut.program.options import ProgramOptions
from powercut.program.program import Program
from powercut.program.recording import recording as recording_of
from powercut.program.recovery import recovery as recovery_of
from powercut.runs.run_request import Request
from powercut_records.media import MEMORY
from powercut_reports.gate_formats import RENDERERS
from tests.real_engine import require_engine

GATE = "text,sarif,junit,github,markdown,json,html"


def beside(**options: Any) -> Request:
    return Request(name="a run", slug="a", options=ExploreOptions(**options))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("nested", [0, 2])
def test_it_is_found_whatever_the_options(model: str, strategy: str, nested: int) -> None:
    require_engine()
    formats = frozenset(RENDERERS)
    request = beside(model=model, strategy=strategy, nested=nested)
    found = canary.check(request, engine_path=paths.engine(), formats=formats)
    assert found.found, found.why


@pytest.mark.parametrize("seed", range(1, 8))
def test_a_random_sample_finds_it_whatever_the_seed(seed: int) -> None:
    require_engine()
    found = canary.check(beside(strategy="random", seed=seed), engine_path=paths.engine())
    assert found.found, found.why


@pytest.mark.parametrize("model", MODELS)
def test_a_program_is_accompanied_by_a_program(tmp_path: Path, model: str) -> None:
    require_engine()
    binary, pool = paths.tool(canary.PROGRAM), tmp_path / "pool"
    given = ProgramOptions(
        record=f"{binary} pair {pool}", recover=f"{binary} check {pool}", pool=[str(pool)], cwd=tmp_path, tracer="llvm",
        record_timeout="5s", images=99,
    )  # fmt: skip
    recording, recovery = recording_of(given), recovery_of(given)
    made = Program(name="p", recording=recording, recovery=replace(recovery, pools=recording.pools))
    found = canary.check(replace(beside(model=model), program=made), engine_path=paths.engine())
    assert found.found, found.why
    assert found.bug.startswith(canary.PROGRAM)
    assert not pool.exists(), "the pool of the user is not touched"


def test_a_gate_says_that_it_was_found(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean")
    assert main(["run", "level:published", "--out", "out", "--format", GATE]) == ExitCode.CLEAN
    assert "Canary: the planted lost-item was found again (patterns/canary_order, adr)" in capsys.readouterr().out
    report = json.loads((house.out / "report.json").read_text())
    assert report["canary"]["found"] is True
    assert [run["scenario"] for run in report["runs"]] == ["clean"]
    assert "canary) was found again" in (house.out / "summary.md").read_text()
    assert not (house.out / "findings").exists(), "its finding is no finding of the project"


@pytest.mark.parametrize("model", sorted(MEMORY.models))
def test_a_blind_engine_is_never_green(
    house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    """An engine that reports everything clean: exit code 3, `unknown`, and every format says so."""
    house.scenario("lost_one")
    monkeypatch.setenv("FAKE_BLIND", "1")
    arguments = ["run", "level:published", "--model", model, "--out", "out"]
    assert main([*arguments, "--format", "text"]) == ExitCode.CLEAN, "nobody gates on it"
    capsys.readouterr()
    assert main([*arguments, "--format", GATE]) == ExitCode.INCOMPLETE
    captured = capsys.readouterr()
    words = "a planted bug was not found again"
    assert "Verdict: unknown" in captured.out and "Canary: NOT FOUND" in captured.out and words in captured.err
    assert "powercut judged it consistent" in captured.err
    assert "::error title=powercut::" in captured.out and "::error title=powercut%3A unknown::" in captured.out
    (run,) = json.loads((house.out / "report.sarif").read_text())["runs"]
    assert not any(item["executionSuccessful"] for item in run["invocations"])
    assert words in json.dumps(run["invocations"])
    root = Xml.parse(house.out / "report.junit.xml").getroot()
    assert (root.get("failures"), root.get("errors")) == ("0", "2")
    summary = (house.out / "summary.md").read_text()
    assert words in summary and "✅" not in summary
    report = json.loads((house.out / "report.json").read_text())
    assert report["canary"]["found"] is False and report["runs"][0]["verdict"] == "unknown"
    assert words in (house.out / "report.html").read_text()
    assert main(["report", "out", "--format", "text"]) == ExitCode.INCOMPLETE, "the records keep it"
    assert not list((house.out / "cache").rglob("*.json")), "nothing that a blind engine says is kept"


def test_a_finding_beside_a_lost_canary_stays_one(
    house: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    house.scenario("lost_one")
    monkeypatch.setattr(canary, "_missing", lambda *_, **__: "a test hides it")
    assert main(["run", "level:published", "--canary", "--format", "text"]) == ExitCode.FINDINGS
    assert "ERROR: powercut: lost-item" in capsys.readouterr().out


def test_a_canary_that_cannot_be_sent_is_a_lost_one(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean")
    (house.root / "build/lib/libpowercut-patterns.so").unlink()
    assert main(["run", "level:published", "--canary", "--format", "text"]) == ExitCode.INCOMPLETE
    assert "unknown target 'patterns'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ((), False),
        (("--format", "junit"), True),
        (("--format", "junit", "--no-canary"), False),
        (("--canary",), True),
        (("--baseline", "known.json"), True),
    ],
)
def test_who_gates_sends_it(
    house: Any, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sent: bool
) -> None:
    house.scenario("clean")
    Path("known.json").write_text('{"powercut_baseline": 2, "findings": []}\n')
    assert main(["run", "level:published", "--json", *arguments]) == ExitCode.CLEAN
    assert ("canary" in json.loads(capsys.readouterr().out)) is sent
