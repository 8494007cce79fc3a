"""`powercut run`: JSON shape, exit codes, findings on disk, order, and what an engine that fails leaves."""

import json
from typing import Any

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main

RUN_KEYS = [
    "target",
    "variant",
    "scenario",
    "model",
    "strategy",
    "seed",
    "events",
    "crash_points",
    "crash_states",
    "executions",
    "leaves",
    "verdict",
    "coverage",
    "assumptions",
    "not_checked",
    "seconds",
    "findings",
    "performance_bugs",
    "claims",
]
FINDING_KEYS = ["fingerprint", "invariant", "operation", "query", "store_site", "lost_site", "message", "file", "cause"]
CAUSE_KEYS = ["kind", "first", "second", "sentence", "fix", "fix_site", "held"]
COVERAGE_KEYS = ["kind", "covered", "total", "nested_complete", "reason"]


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    code = main(["run", *arguments, "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == ["runs", "bugs", "total"]
    return code, printed["runs"]


def test_json_has_exactly_the_promised_shape(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost_one")
    code, runs = run_json(capsys, "level:published")
    assert code == ExitCode.FINDINGS
    (run,) = runs
    assert sorted(run) == sorted(RUN_KEYS)
    assert sorted(run["coverage"]) == sorted(COVERAGE_KEYS)
    (finding,) = run["findings"]
    assert sorted(finding) == sorted(FINDING_KEYS)
    assert list(finding["cause"]) == CAUSE_KEYS
    assert run["crash_states"] == str(2**70)
    assert (run["target"], run["variant"], run["scenario"], run["model"]) == ("level", "published", "lost_one", "adr")
    assert finding["invariant"] == "lost-item"
    assert isinstance(finding["operation"], str)


def test_a_total_is_said_where_no_text_was_asked_for(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean")
    house.scenario("lost_one")
    assert main(["run", "level:published", "--out", "out", "--format", "json"]) == ExitCode.FINDINGS
    said = capsys.readouterr()
    assert said.out == ""
    assert "1 target, 2 runs: 1 consistent, 1 inconsistent; 1 bug, 1 finding; " in said.err


def test_clean_run_leaves_records_trace_and_html(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean_one")
    assert main(["run", "level:hardened", "--out", "out", "--format", "text,html,json"]) == ExitCode.CLEAN
    captured = capsys.readouterr()
    assert "level:hardened  clean_one" in captured.out
    assert "Report: out/report.html" in captured.err
    record = json.loads((house.out / "runs" / "level-hardened-clean_one-adr.json").read_text())
    assert record["recorded"]["operations"] == 12
    assert (house.out / "traces" / "level-hardened-clean_one.pct").is_file()
    assert len(json.loads((house.out / "report.json").read_text())["runs"]) == 1


def test_finding_record_holds_what_reproduce_needs(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost_one")
    _, runs = run_json(capsys, "level:published", "--out", "out")
    record = json.loads((house.root / runs[0]["findings"][0]["file"]).read_text())
    assert record["plan"]["scenario"]["name"] == "lost_one"
    assert record["plan"]["target"]["options"] == {"top": "4", "auto_expand": "on"}
    assert record["engine"] == {"model": "adr", "strategy": "read-driven", "atoms": "any", "nested": 1, "seed": 1}
    assert record["image"] and record["event"] == "finding"
    assert main(["reproduce", runs[0]["findings"][0]["file"]]) == ExitCode.FINDINGS
    assert "ERROR: powercut: lost-item" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "code", "verdict", "kind"),
    [
        ("clean", ExitCode.CLEAN, "consistent", "complete"),
        ("sampled", ExitCode.INCOMPLETE, "consistent", "sampled"),
        ("dies", ExitCode.FINDINGS, "inconsistent", "sampled"),
        ("garbage", ExitCode.INCOMPLETE, "unknown", "sampled"),
        ("broken", ExitCode.INCOMPLETE, "unknown", "sampled"),
        ("silent", ExitCode.INCOMPLETE, "unknown", "sampled"),
        ("redundant", ExitCode.CLEAN, "consistent", "complete"),
    ],
)
def test_verdicts_and_exit_codes(
    house: Any, capsys: pytest.CaptureFixture[str], name: str, code: ExitCode, verdict: str, kind: str
) -> None:
    house.scenario(name)
    got, runs = run_json(capsys, "level:published")
    assert (got, runs[0]["verdict"], runs[0]["coverage"]["kind"]) == (code, verdict, kind)


def test_engine_that_dies_says_what_it_said(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("dies")
    main(["run", "level:published", "--out", "out"])
    assert "signal SIGKILL" in capsys.readouterr().out
    record = json.loads((house.out / "runs" / "level-published-dies-adr.json").read_text())
    assert "assertion failed: floor <= visible" in record["error"]["what"]
    assert len(record["findings"]) == 1
    assert (house.root / record["findings"][0]["file"]).is_file()


def test_fail_on_performance_bugs(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("redundant")
    code, runs = run_json(capsys, "level:published", "--fail-on", "never-persisted,redundant-flush")
    assert code == ExitCode.FINDINGS
    assert runs[0]["performance_bugs"][0]["kind"] == "redundant-flush"
    assert main(["run", "level:published", "--fail-on", "redundant-fence"]) == ExitCode.CLEAN


def test_a_finding_that_is_replaced_keeps_one_file(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("twice")
    _, runs = run_json(capsys, "level:published", "--out", "out")
    assert len(runs[0]["findings"]) == 1
    assert [str(path.relative_to(house.root)) for path in (house.out / "findings").iterdir()] == [
        runs[0]["findings"][0]["file"]
    ]


def test_default_targets_variants_and_order_do_not_depend_on_jobs(
    house: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a_clean", "b_lost", "c_clean"):
        house.scenario(name)
    house.scenario("not_core", core=False)
    house.scenario("self_test", targets='["patterns"]')
    seen = []
    for jobs in ("1", "4"):
        code, runs = run_json(capsys, "--all", "--jobs", jobs, "--out", f"out{jobs}")
        assert code == ExitCode.FINDINGS
        seen.append([(run["variant"], run["scenario"], run["verdict"]) for run in runs])
        (finding,) = (house.root / f"out{jobs}" / "findings").iterdir()
        assert json.loads(finding.read_text())["variant"] == "hardened"
    assert seen[0] == seen[1]
    assert [item[:2] for item in seen[0]] == [
        (variant, name) for variant in ("hardened", "published") for name in ("a_clean", "b_lost", "c_clean")
    ]


def test_scenarios_by_glob_path_and_file(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean_a")
    file = house.scenario("clean_b", folder="other", core=False)
    house.known_bug("buggy_clean")
    house.scenario("fits_others", targets='["patterns"]')

    def names(*patterns: str) -> list[str]:
        words = [word for pattern in patterns for word in ("--scenario", pattern)]
        _, runs = run_json(capsys, "level", *words)
        return [run["scenario"] for run in runs]

    assert names("clean_*") == ["clean_a", "clean_b"]
    assert names("other/*") == ["clean_b"]
    assert names(str(file)) == ["clean_b"]
    assert names("*", "clean_a") == ["clean_a", "clean_b"]
    assert names("known_bugs/level/*") == ["buggy_clean"]


def test_scenarios_of_one_name_get_files_of_their_own(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean", folder="one")
    house.scenario("clean", folder="two")
    _, runs = run_json(capsys, "level", "--out", "out")
    assert len(runs) == 2
    assert len(list((house.out / "runs").iterdir())) == 2


def test_explore_and_report_of_a_recorded_trace(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost")
    assert main(["record", "level:hardened", "--scenario", "lost", "-o", "x.pct"]) == ExitCode.CLEAN
    assert "120 events" in capsys.readouterr().err
    assert main(["explore", "x.pct", "--out", "out", "--json"]) == ExitCode.FINDINGS
    explored = json.loads(capsys.readouterr().out)
    record = json.loads((house.root / explored["runs"][0]["findings"][0]["file"]).read_text())
    assert record["plan"]["scenario"]["name"] == "lost"
    before = sorted((house.out / "runs").iterdir())
    assert [path.name for path in before] == ["level-hardened-lost-adr.json"]
    assert main(["report", "out", "--json"]) == ExitCode.FINDINGS
    assert json.loads(capsys.readouterr().out) == explored
    assert (house.out / "report.html").is_file()


def test_reproduce_after_a_rebuild_records_again(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost_gone")
    _, runs = run_json(capsys, "level:published", "--out", "out")
    trace = house.out / "traces" / "level-published-lost_gone.pct"
    stale = {**json.loads(trace.read_text()), "stale": True}
    trace.write_text(json.dumps(stale))
    assert main(["reproduce", runs[0]["findings"][0]["file"], "--json"]) == ExitCode.CLEAN
    printed = json.loads(capsys.readouterr().out)
    assert (printed["held"], printed["fresh_trace"]) == (False, True)
    trace.unlink()
    assert main(["reproduce", runs[0]["findings"][0]["file"], "--json"]) == ExitCode.CLEAN
