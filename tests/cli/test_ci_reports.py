"""`--format sarif,junit,github,markdown`: the options, and a run of the real engine end to end."""

import itertools
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.runs.runner import exit_code
from powercut_reports.gate_formats import ci
from reports.tests.typed import runs_of
from tests.real_engine import require_engine

GATE = "sarif,junit,github,markdown"
FILES = ("report.sarif", "report.junit.xml", "summary.md")


def test_unknown_format_lists_the_choices(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("clean_one")
    assert main(["run", "level", "--format", "text,pdf"]) == ExitCode.USAGE
    told = capsys.readouterr().err
    assert "unknown format 'pdf'" in told
    assert "There are text, html, pages, json, csv, latex, svg, sarif, junit, github, markdown." in told


def test_formats_are_only_made_where_they_are_named(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost_one")
    assert main(["run", "level:published", "--out", "out", "--format", "junit"]) == ExitCode.FINDINGS
    assert (house.out / "report.junit.xml").is_file()
    assert not [name for name in ("report.sarif", "summary.md", "report.html") if (house.out / name).exists()]
    assert capsys.readouterr().out == ""


def test_tables_and_charts_lie_in_folders(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost_one")
    assert main(["run", "level:published", "--out", "out", "--format", "csv,latex,svg"]) == ExitCode.FINDINGS
    names = {path.name for path in (house.out / "tables").iterdir()}
    tables = ("verdicts", "bugs", "findings", "performance-bugs", "claims")
    assert names == {f"{table}{suffix}" for table in tables for suffix in (".csv", ".tex")}
    assert "lost_one" in (house.out / "tables" / "findings.csv").read_text()
    assert not (house.out / "charts").exists(), "one run is no chart"
    captured = capsys.readouterr()
    assert captured.out == "" and "Report: out/tables\n" in captured.err
    before = {path: path.read_bytes() for path in (house.out / "tables").iterdir()}
    assert main(["report", "out", "--format", "csv,latex"]) == ExitCode.FINDINGS
    assert before == {path: path.read_bytes() for path in (house.out / "tables").iterdir()}


def test_fidelity_needs_a_folder_for_files(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fidelity", "--format", "csv"]) == ExitCode.USAGE
    assert "Name the folder: --out DIR." in capsys.readouterr().err


def test_annotations_leave_stdout_to_json(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    house.scenario("lost_one")
    assert main(["run", "level:published", "--json", "--format", "github"]) == ExitCode.FINDINGS
    captured = capsys.readouterr()
    assert len(json.loads(captured.out)["runs"]) == 1
    assert "::error " in captured.err


def test_gate_goes_by_the_exit_codes() -> None:
    """The reports do not import the runner; this holds their rules together."""
    names = {ExitCode.CLEAN: ci.CLEAN, ExitCode.INCOMPLETE: ci.INCOMPLETE, ExitCode.FINDINGS: ci.FINDINGS}
    every = itertools.product(
        ("consistent", "inconsistent", "unknown"),
        ("complete", "sampled"),
        (None, True, False, 0, 1, 2),
        (None, {"kind": "harness", "what": "it died", "where": "engine", "next": "Report it."}),
        ([], [{}], [{"baseline": "known"}, {"suppressed": {"expired": False}}], [{"suppressed": {"expired": True}}]),
        ([], [{"kind": "redundant-flush"}], [{"kind": "redundant-fence"}]),
    )
    fail_on = frozenset({"redundant-fence"})
    for verdict, kind, depth, error, findings, performance_bugs in every:
        run = {"verdict": verdict, "coverage": {"kind": kind, "nested_complete": depth}, "error": error, "nested": 1}
        run |= {"findings": findings, "performance_bugs": performance_bugs}
        results = ci.results(runs_of([run]), fail_on=fail_on)
        assert ci.outcome(results.runs[0], results) == names[exit_code(results.whole[0], fail_on=fail_on)], run


def test_a_finding_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_engine()
    out = tmp_path / "out"
    arguments = ["cceh:published", "--scenario", "cceh_insert", "--out", str(out), "--format", GATE]
    assert main(["run", *arguments]) == ExitCode.FINDINGS
    printed = capsys.readouterr().out
    (record,) = (json.loads(path.read_text()) for path in (out / "runs").glob("*.json"))
    finding = record["findings"][0]
    file, _, line = (finding["lost_site"] or finding["store_site"]).rpartition(":")
    assert f"::error file={file},line={line},title=powercut%3A {finding['invariant']}::" in printed

    (run,) = json.loads((out / "report.sarif").read_text())["runs"]
    result = next(item for item in run["results"] if item["ruleId"] == finding["invariant"])
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (file, int(line))
    assert finding["fingerprint"] in result["partialFingerprints"].values()
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    kinds = [step["kinds"][0] for step in steps]
    assert "store" in kinds and "crash" in kinds
    assert run["invocations"][0]["commandLine"] == record["command"]

    case = Xml.parse(out / "report.junit.xml").getroot().find(".//testcase")
    assert case is not None
    assert (case.get("classname"), case.get("name")) == ("cceh:published:adr", "cceh_insert")
    assert finding["message"] in (case.findtext("failure") or "")
    assert f"{file}:{line}" in (out / "summary.md").read_text()

    before = {name: (out / name).read_bytes() for name in FILES}
    assert main(["report", str(out), "--format", GATE]) == ExitCode.FINDINGS
    assert capsys.readouterr().out == printed
    assert {name: (out / name).read_bytes() for name in FILES} == before


def test_a_clean_run_end_to_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_engine()
    out = tmp_path / "out"
    arguments = ["cceh:hardened", "--scenario", "cceh_insert", "--out", str(out), "--format", GATE]
    assert main(["run", *arguments]) == ExitCode.CLEAN
    assert "::error" not in capsys.readouterr().out
    assert Xml.parse(out / "report.junit.xml").getroot().attrib["failures"] == "0"
    assert "✅ Consistent, every crash state covered" in (out / "summary.md").read_text()
