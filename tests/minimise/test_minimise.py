"""The minimiser on known bugs of different schemes, through the engine and through the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.minimise import Limits, Minimal, choose, examine, minimise, shrink
from powercut.minimise.same_bug import same_bug
from powercut.runs import runner
from powercut.scenarios import scenario
from powercut_records.finding import FindingRecord
from reports.tests.typed import finding_of
from tests.minimise.minimising import case, findings_of, phase

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("real_engine")]

#: A table that fills up, a resize that another operation triggers, an update with a log, a deliberate cut before.
BUGS = ["bch/rehash-clear-first", "cceh/leaked-segment", "level/undo-log-cleared-early", "stash/update-first-copy"]
#: Operations that the minimal case of a bug may have.
FEW = 5


def minimised(finding: FindingRecord, folder: Path, *, limits: Limits | None = None) -> Minimal | None:
    with runner.open_context(paths.engine(), folder) as context:
        return minimise(finding, context=context, folder=folder / "minimal", limits=limits)


@pytest.fixture(scope="module")
def finding_file(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of the first finding of a known bug's run; each bug is run once."""
    known: dict[str, Path] = {}

    def file(bug: str) -> Path:
        if bug not in known:
            out = tmp_path_factory.mktemp("run")
            known[bug] = Path(findings_of(bug, out)[0]["file"])
        return known[bug]

    return file


@pytest.mark.parametrize("bug", BUGS)
def test_a_known_bug_comes_to_a_few_operations_that_a_run_finds_again(
    bug: str, finding_file: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    original = finding_of(json.loads(finding_file(bug).read_text()))
    minimal = minimised(original, tmp_path)
    assert minimal is not None
    value = minimal.record().as_json()
    assert value["complete"], value["note"]
    assert len(value["operations"]) <= FEW
    assert len(value["operations"]) <= value["operations_before"]
    assert same_bug(minimal.finding, original)
    assert minimal.trace.is_file()
    assert not {"plan", "minimal", "cause"} & value["finding"].keys()
    assert value["finding"]["fingerprint"]

    # The saved scenario is a regression test by itself.
    file = tmp_path / "regression.toml"
    file.write_text(minimal.scenario.replace(f"minimal-{original['fingerprint']}", "regression"))
    assert scenario.load(file).content.known_bug is None
    words = [
        "run",
        f"{original['target']}:{original['variant']}",
        "--scenario",
        str(file),
        "--out",
        str(tmp_path / "o"),
    ]
    assert main([*words, "--explain", "0", "--format", "json", "--json", "--jobs", "1"]) == ExitCode.FINDINGS
    assert json.loads(capsys.readouterr().out)["runs"][0]["coverage"]["kind"] == "complete"
    records = [finding_of(json.loads(path.read_text())) for path in (tmp_path / "o" / "findings").glob("*.json")]
    assert any(same_bug(found, original) for found in records)


def test_the_same_finding_gives_the_same_bytes(finding_file: Callable[[str], Path], tmp_path: Path) -> None:
    original = finding_of(json.loads(finding_file(BUGS[0]).read_text()))
    results = []
    for name in ("first", "second"):
        minimal = minimised(original, tmp_path / name)
        assert minimal is not None
        value = {**minimal.record().as_json(), "seconds": 0}
        results.append(json.dumps(value).replace(str(tmp_path / name), ""))
    assert results[0] == results[1]


def test_a_rule_of_sameness_that_is_too_weak_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two findings of one run violate one invariant at different stores. By the invariant alone the search slips from
    one to the other; by the rule it does not."""
    both = [item for item in findings_of("cmap/log-unordered", tmp_path) if item["invariant"] == "torn-value"]
    assert len(both) == 2
    assert not same_bug(*both)
    for finding in both:
        kept = minimised(finding, tmp_path / finding["fingerprint"], limits=Limits(considered=150))
        assert kept is not None
        assert same_bug(kept.finding, finding)

    def by_invariant(found: FindingRecord, original: FindingRecord) -> bool:
        return bool(found["invariant"] == original["invariant"])

    monkeypatch.setattr(examine, "same_bug", by_invariant)
    monkeypatch.setattr(choose, "same_bug", by_invariant)
    slipped = {item["fingerprint"]: minimised(item, tmp_path / "weak", limits=Limits(considered=150)) for item in both}
    assert any(not same_bug(slipped[item["fingerprint"]].finding, item) for item in both)


def test_a_limit_leaves_a_case_that_still_shows_the_bug(finding_file: Callable[[str], Path], tmp_path: Path) -> None:
    original = finding_of(json.loads(finding_file("level/undo-log-cleared-early").read_text()))
    minimal = minimised(original, tmp_path, limits=Limits(considered=4))
    assert minimal is not None
    value = minimal.record().as_json()
    assert not value["complete"]
    assert value["considered"] == 4
    assert value["note"] == "the search ended after 4 candidates, its limit"
    assert same_bug(minimal.finding, original)


def test_a_plan_that_does_not_show_the_bug_any_more_has_no_minimal_case(
    finding_file: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fixed = finding_of(json.loads(finding_file(BUGS[0]).read_text()))
    del fixed["plan"]["target"]["options"]["bug"]
    assert minimised(fixed, tmp_path) is None
    file = tmp_path / "fixed.json"
    file.write_text(json.dumps(fixed.as_json()))
    assert main(["minimise", str(file)]) == ExitCode.CLEAN
    assert "does not show it any more" in capsys.readouterr().err


def test_the_command_tells_people_keeps_the_case_and_saves_it(
    finding_file: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, kept, saved = finding_file(BUGS[0]), tmp_path / "kept", tmp_path / "saved.toml"
    words = ["minimise", str(file), "--out", str(kept), "--save-scenario", str(saved)]
    assert main(words) == ExitCode.FINDINGS
    said = capsys.readouterr()
    assert f"Minimised {file.stem}: " in said.out
    assert "1. insert(" in said.out
    assert "ERROR: powercut: " in said.out
    assert f"Scenario: {saved}" in said.err
    (record,) = (kept / "findings").glob("*.json")
    assert main(["reproduce", str(record)]) == ExitCode.FINDINGS
    assert len(list((kept / "scenarios").glob("minimal-*.toml"))) == 1

    # `reproduce` writes the same, whether it looks for the case or the record has it.
    other = tmp_path / "other" / "saved.toml"
    assert main(["reproduce", str(file), "--save-scenario", str(other)]) == ExitCode.FINDINGS
    assert other.read_text() == saved.read_text()
    known = tmp_path / "known.json"
    known.write_text(json.dumps({**json.loads(file.read_text()), "minimal": {"scenario": 'name = "x"\n'}}))
    assert main(["reproduce", str(known), "--save-scenario", str(other)]) == ExitCode.FINDINGS
    assert other.read_text() == 'name = "saved"\n'


def test_json_is_the_field_of_the_record(
    finding_file: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    file = finding_file(BUGS[0])
    assert main(["minimise", str(file), "--json", "--limit", "10"]) == ExitCode.FINDINGS
    answer = json.loads(capsys.readouterr().out)
    assert answer["fingerprint"] == file.stem
    assert {"operations", "operations_before", "config", "config_before", "crash_point", "lost", "lost_before"} | {
        "considered", "seconds", "complete", "note", "scenario", "finding",
    } == answer["minimal"].keys()  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--limit", "soon"], "--limit: 'soon' is not a limit. Write a number of candidates"),
        (["--limit", "0"], "--limit: '0' is not a limit"),
        (["--limit", "50x"], "--limit: '50x' is not a limit"),
        (["--limit", "1", "--save-scenario", "case.txt"], "case.txt: a scenario is a .toml file. Write case.toml"),
    ],
)
def test_what_cannot_be_is_said_in_one_paragraph(
    words: list[str], said: str, finding_file: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["minimise", str(finding_file(BUGS[0])), *words]) == ExitCode.USAGE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"plan": None}, "it holds no plan to record it again, smaller"),
        ({"program": {"name": "x"}}, "give the --record command less to do"),
    ],
)
def test_a_finding_without_a_plan_is_refused(
    changes: dict[str, Any],
    said: str,
    finding_file: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "finding.json"
    file.write_text(json.dumps({**json.loads(finding_file(BUGS[0]).read_text()), **changes}))
    assert main(["minimise", str(file)]) == ExitCode.USAGE
    assert said in capsys.readouterr().err


def test_a_workload_that_is_too_long_is_refused(
    finding_file: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = finding_of(json.loads(finding_file(BUGS[0]).read_text()))
    monkeypatch.setattr(shrink, "MOST_OPERATIONS", 3)
    with pytest.raises(UsageError, match=r"a workload of \d+ operations is too long.*at most 3"):
        minimised(original, tmp_path)


def test_an_engine_that_does_not_start_is_no_answer(
    finding_file: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A candidate is not called clean because the engine is being built anew."""
    original = finding_of(json.loads(finding_file(BUGS[0]).read_text()))
    with runner.open_context(tmp_path / "no-engine", tmp_path) as context:
        examiner = examine.Examiner(original, context=context, folder=tmp_path, executions=None)
        with pytest.raises(UsageError, match="the engine does not start"):
            examiner(case(phase("insert 1")))
