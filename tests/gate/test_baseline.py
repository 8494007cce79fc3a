"""`--baseline` and `powercut baseline update`: new, known and fixed findings, and what the file says."""

import json
from pathlib import Path
from typing import Any

import pytest

from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.gate import baseline
from powercut.scenarios import catalog, toml_text
from powercut_records.finding import Suppression
from powercut_records.run import RunRecord
from reports.tests.typed import run_of
from tests.real_engine import require_engine

FILE = "base.json"


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["run", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def accept(*arguments: str) -> None:
    main(["run", *arguments])
    assert main(["baseline", "update", FILE]) == ExitCode.CLEAN


def states(answer: dict[str, Any]) -> list[str]:
    return [finding["baseline"] for run in answer["runs"] for finding in run["findings"]]


def test_known_findings_do_not_fail(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost_one")
    accept("level:published")
    capsys.readouterr()
    assert main(["run", "level:published", "--baseline", FILE]) == ExitCode.CLEAN
    shown = capsys.readouterr().out
    assert "ERROR:" not in shown  # one line of the summary instead
    assert "  known  " in shown
    assert "Baseline base.json: 0 new, 1 known, 0 fixed" in shown
    record = json.loads((house.root / ".powercut" / "runs" / "level-published-lost_one-adr.json").read_text())
    assert [finding["baseline"] for finding in record["findings"]] == ["known"]
    assert "<strong>known</strong>" in (house.root / ".powercut" / "report.html").read_text()
    assert main(["report", ".powercut"]) == ExitCode.CLEAN  # what the run was


def test_new_findings_fail(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean_one")
    accept("level:published")
    house.scenario("lost_one")
    catalog.forget()
    capsys.readouterr()
    code, answer = run_json(capsys, "level:published", "--baseline", FILE, "--format", "json")
    assert code == ExitCode.FINDINGS
    assert states(answer) == ["new"]
    assert answer["baseline"] == {"file": FILE, "new": 1, "known": 0, "fixed": []}
    assert json.loads((house.root / ".powercut" / "report.json").read_text())["baseline"] == answer["baseline"]


def test_a_bug_is_known_by_its_variant_and_model(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost_one")
    accept("level:published")
    capsys.readouterr()
    for arguments in (["level:hardened"], ["level:published", "--model", "eadr"]):
        code, answer = run_json(capsys, *arguments, "--baseline", FILE)
        assert (code, states(answer)) == (ExitCode.FINDINGS, ["new"])


def entry(run: str = "lost_one", **fields: Any) -> baseline.Entry:
    given = {"fingerprint": "0123456789ab", "target": "level", "variant": "published", "scenario": run}
    return baseline.Entry(**{**given, "model": "adr", "invariant": "lost-item", "atoms": "any", "seed": 1, **fields})


def record(run: str = "lost_one", *names: str, **fields: Any) -> RunRecord:
    made = {"target": "level", "variant": "published", "scenario": run, "model": "adr", "atoms": "any", "seed": 1}
    coverage = {"kind": "complete", "nested_complete": 1}
    stores = [{"decisive": True, "fate": "lost", "function": "f", "site": "a.cc:1"}]
    findings = [{"fingerprint": name, "invariant": "lost-item", "stores": stores} for name in names]
    verdict = "inconsistent" if names else "consistent"
    judged = {"nested": 1, "verdict": verdict, "error": None, "coverage": coverage, "findings": findings}
    return run_of({**made, **judged, **fields})


def test_only_with_a_site_is_a_bug_known_in_other_scenarios() -> None:
    run = record("other", "0123456789ab")
    baseline.Baseline(path=Path(FILE), entries=(entry(sites=("lost f a.cc:1",)),)).mark(run)
    assert run["findings"][0]["baseline"] == "known"
    run.findings[0].stores[0].site = ""
    nowhere = entry(sites=("lost f ?",))
    baseline.Baseline(path=Path(FILE), entries=(nowhere,)).mark(run)
    assert run["findings"][0]["baseline"] == "new"
    assert str(nowhere) == "lost-item  (level:published, scenario lost_one, adr)"


@pytest.mark.parametrize(
    ("runs", "fixed"),
    [
        ([record()], True),
        ([record("other")], False),
        ([record(coverage={"kind": "sampled"})], False),
        ([record(verdict="unknown")], False),
        ([record(nested=0)], False),
        ([record(seed=2)], False),
        ([record(atoms="ascending")], False),
        ([record(variant="hardened")], False),
        ([record("lost_one", "0123456789ab")], False),
        ([record(), record("other", "0123456789ab")], False),
        ([record(), record(coverage={"kind": "sampled"})], False),
    ],
)
def test_fixed_is_said_only_of_what_was_looked_at(runs: list[RunRecord], *, fixed: bool) -> None:
    known = baseline.Baseline(path=Path(FILE), entries=(entry(sites=("lost f a.cc:1",), depth=1),))
    assert bool(known.fixed(runs)) is fixed


def test_update_replaces_what_was_looked_at_and_keeps_the_rest() -> None:
    known = baseline.Baseline(path=Path(FILE), entries=(entry("here"), entry("sampled"), entry("not_run")))
    runs = [record("here", "ffffffffffff"), record("sampled", coverage={"kind": "sampled"})]
    after = known.updated(runs)
    assert [(item.scenario, item.fingerprint[0]) for item in after.entries] == [
        ("here", "f"),
        ("not_run", "0"),
        ("sampled", "0"),
    ]
    assert after.updated(runs) == after


def test_suppressed_findings_stay_out_of_the_baseline() -> None:
    run = record("here", "ffffffffffff")
    run.findings[0].suppressed = Suppression(reason="r", expires="2027-01-31", expired=False, rule="s:1")
    assert baseline.Baseline(path=Path(FILE)).updated([run]).entries == ()


def test_all_known_but_incomplete_is_incomplete(house: Any) -> None:
    house.scenario("lost_one")
    accept("level:published")
    house.scenario("sampled_one")
    catalog.forget()
    assert main(["run", "level:published", "--baseline", FILE]) == ExitCode.INCOMPLETE


def test_file_has_a_finding_a_line_and_comes_back(tmp_path: Path) -> None:
    entries = (entry("a", message='Key "ä" is\ngone.'), entry("b", sites=("lost f a.cc:1",), depth=1))
    path = tmp_path / FILE
    baseline.Baseline(path=path, entries=entries[::-1]).write()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4
    assert baseline.load(path).entries == entries
    assert baseline.render(entries[:0]) == '{"powercut_baseline": 2, "findings": []}\n'


def test_version_1_is_written_anew_and_never_read_as_it_is(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Its fingerprints held line numbers: every finding would be new, and every entry fixed."""
    house.scenario("lost_one")
    main(["run", "level:published"])
    old = json.dumps({"powercut_baseline": 1, "findings": [entry().model_dump(exclude={"named_by"})]})
    Path(FILE).write_text(old)
    assert main(["run", "level:published", "--baseline", FILE]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "base.json: this baseline is of version 1, whose fingerprints changed with every line above" in said
    assert "powercut baseline update base.json" in said
    assert main(["baseline", "update", FILE]) == ExitCode.CLEAN
    assert main(["run", "level:published", "--baseline", FILE]) == ExitCode.CLEAN
    # Entries for which the present runs do not answer are not forgotten in silence.
    Path(FILE).write_text(old.replace("lost_one", "another"))
    assert main(["baseline", "update", FILE]) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "no run of the folder answers for lost-item" in said
    assert "scenario another" in said
    assert "the baseline of version 1 would lose it" in said
    assert json.loads(Path(FILE).read_text())["powercut_baseline"] == 1


def test_update_says_what_is_named_without_its_source(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = record("here", "ffffffffffff")
    run.findings[0].stores[0].identity = {"by": "code"}
    (written,) = baseline.entries_of(run)
    assert written.named_by == "code"
    house.scenario("lost_one")
    main(["run", "level:published"])
    path = house.root / ".powercut" / "runs" / "level-published-lost_one-adr.json"
    made = json.loads(path.read_text())
    made["findings"][0]["stores"] = run.as_json()["findings"][0]["stores"]
    path.write_text(json.dumps(made))
    capsys.readouterr()
    assert main(["baseline", "update", FILE]) == ExitCode.CLEAN
    assert "1 named without their source text: an edit of their functions makes them new" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("<<<<<<< ours\n", "base.json:1: malformed baseline"),
        ('{"powercut_baseline": 2, "findings": [\n{},\n]}', "base.json:3: malformed baseline"),
        ("[]", "base.json: this is no baseline"),
        ('{"powercut_baseline": 2}', "base.json: this is no baseline"),
        ('{"powercut_baseline": 3, "findings": []}', "base.json: baseline version 3, this build reads 2"),
        ('{"powercut_baseline": 2, "findings": [{}]}', "finding 1: fingerprint: Field required"),
        ('{"powercut_baseline": 2, "findings": [7]}', "malformed baseline: finding 1: it: "),
    ],
)
def test_malformed_files_are_refused_and_left_alone(
    text: str, what: str, house: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    house.scenario("clean_one")
    main(["run", "level:published"])
    (house.root / FILE).write_text(text)
    for command in (["run", "level", "--baseline", FILE], ["report", ".powercut", "--baseline", FILE]):
        assert main(command) == ExitCode.USAGE
        assert what in capsys.readouterr().err
    assert main(["baseline", "update", FILE]) == ExitCode.USAGE
    assert (house.root / FILE).read_text() == text


def test_missing_baseline_says_how_to_write_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no such baseline.*powercut baseline update"):
        baseline.load(tmp_path / FILE)


def test_a_planted_bug_is_new_and_then_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The real engine: published Level hashing with its known findings, then with a bug, then without it."""
    require_engine()
    monkeypatch.chdir(tmp_path)
    catalog.forget()
    (known,) = catalog.matching("known_bugs/level/insert-top-token-first")
    text = toml_text.render(known.content.model_copy(update={"name": "planted"}))
    buggy, _, table = text.partition("[known_bug]\n")
    scenario = tmp_path / "planted.toml"
    judged = ["level:published", "--scenario", "duplicates_*", "--scenario", "./planted.toml", "--explain", "0"]

    scenario.write_text(buggy)
    assert run_json(capsys, *judged)[0] == ExitCode.FINDINGS
    assert main(["baseline", "update", FILE]) == ExitCode.CLEAN
    assert " 0 removed" in capsys.readouterr().out
    code, answer = run_json(capsys, *judged, "--baseline", FILE)
    assert code == ExitCode.CLEAN
    assert set(states(answer)) == {"known"}

    scenario.write_text(f'{buggy}[known_bug]\nvariant = "published"\n{table}')
    catalog.forget()
    code, answer = run_json(capsys, *judged, "--baseline", FILE)
    assert code == ExitCode.FINDINGS
    assert set(states(answer)) == {"known", "new"}
    new = answer["baseline"]["new"]
    assert main(["baseline", "update", FILE]) == ExitCode.CLEAN
    assert f"{new} added, 0 removed" in capsys.readouterr().out

    scenario.write_text(buggy)
    catalog.forget()
    code, answer = run_json(capsys, *judged, "--baseline", FILE)
    assert code == ExitCode.CLEAN
    assert {item["scenario"] for item in answer["baseline"]["fixed"]} == {"planted"}
    assert len(answer["baseline"]["fixed"]) == new
    assert main(["baseline", "update", FILE]) == ExitCode.CLEAN
    assert f"0 added, {new} removed" in capsys.readouterr().out
