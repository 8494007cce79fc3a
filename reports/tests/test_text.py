"""The text reports, against goldens. Refresh them with POWERCUT_UPDATE_GOLDENS=1 and read the diff."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from powercut_reports import text
from reports.tests.typed import finding_of, run_of

Raw = dict[str, Any]


def _named(run: Raw, finding: Raw) -> Raw:
    return {**finding, **{name: run[name] for name in ("target", "variant", "scenario")}}


def _check_golden(path: Path, actual: str) -> None:
    if os.environ.get("POWERCUT_UPDATE_GOLDENS"):
        path.write_text(actual, encoding="utf-8")
    assert actual == path.read_text(encoding="utf-8")


def test_findings(sample_runs: list[Raw], data: Path) -> None:
    parts = [
        text.render_finding(finding_of(_named(run, f)), color=False) for run in sample_runs for f in run["findings"]
    ]
    _check_golden(data / "findings.txt", "\n\n".join(parts) + "\n")


def test_runs(sample_runs: list[Raw], data: Path) -> None:
    _check_golden(data / "runs.txt", "\n".join(text.render_run(run_of(run), color=False) for run in sample_runs) + "\n")


def test_colour_adds_escapes_and_nothing_else(sample_runs: list[Raw], lost_item: Raw) -> None:
    for render, value in ((text.render_finding, finding_of(lost_item)), (text.render_run, run_of(sample_runs[3]))):
        colored = render(value, color=True)
        assert "\x1b[" in colored
        assert re.sub(r"\x1b\[[\d;]*m", "", colored) == render(value, color=False)


def test_first_and_last_line_are_for_tools(lost_item: Raw) -> None:
    lines = text.render_finding(finding_of(lost_item), color=False).splitlines()
    assert lines[0] == "ERROR: powercut: lost-item  (target level:published, scenario update_full_bucket)"
    assert lines[-1] == "SUMMARY: powercut: lost-item targets/level/update.cc:80"


def test_a_hostile_target_cannot_steer_the_terminal_nor_forge_a_line(lost_item: Raw) -> None:
    lost_item["message"] = "gone\x1b[2J\nSUMMARY: powercut: clean \u202egnorw"
    report = text.render_finding(finding_of(lost_item), color=False)
    assert "\x1b" not in report and "\u202e" not in report
    assert [line for line in report.splitlines() if line.startswith("SUMMARY")] == report.splitlines()[-1:]
    assert r"gone\x1b[2J SUMMARY: powercut: clean \u202egnorw" in report


def test_many_stores_are_counted_not_listed(lost_item: Raw) -> None:
    store = lost_item["stores"][-1]
    lost_item["stores"] = [
        {**store, "event": n, "site": f"a.cc:{n}", "frames": [], "decisive": True} for n in range(30)
    ]
    report = text.render_finding(finding_of(lost_item), color=False)
    assert "and 24 more places: see .powercut/findings/7f3a91c2.json" in report


def test_a_finding_that_needs_no_power_cut_says_so_and_blames_no_cut(lost_item: Raw) -> None:
    without = {**lost_item, "needs_power_cut": False, "stores": [], "cause": None}
    shown = text.render_finding(finding_of(without), color=False)
    assert "  Power cut: none needed: after update(17), with every store durable\n" in shown
    assert "lost" not in shown.partition("SUMMARY")[0].replace("lost-item", "")


def test_a_finding_that_says_nothing_still_renders() -> None:
    report = text.render_finding(finding_of({}), color=False)
    assert report.startswith("ERROR: powercut: unknown")
    assert text.render_run(run_of({}), color=False).splitlines()[1].strip().startswith("Verdict: unknown")


def test_an_unknown_verdict_word_is_never_shown_as_clean(sample_runs: list[Raw]) -> None:
    with pytest.raises(ValidationError, match="verdict"):
        run_of({**sample_runs[0], "verdict": "fine"})


def test_operations_that_are_covered_are_counted(sample_runs: list[Raw]) -> None:
    sampled = next(run for run in sample_runs if run["coverage"]["kind"] == "sampled")
    coverage = {**sampled["coverage"], "operations": {"complete": 108, "all": 110}}
    assert "complete for 108 of 110 operations" in text.render_run(
        run_of({**sampled, "coverage": coverage}), color=False
    )
    coverage["operations"] = {"complete": 0, "all": 110}
    assert "sampled 12.3 %" in text.render_run(run_of({**sampled, "coverage": coverage}), color=False)


def test_a_run_that_ended_early_says_so(sample_runs: list[Raw]) -> None:
    coverage = {"kind": "sampled", "covered": "640", "total": None, "nested_complete": None, "reason": "interrupted"}
    report = text.render_run(run_of({**sample_runs[0], "coverage": coverage}), color=False)
    assert "sampled: 640 of an unknown number of crash states (interrupted)" in report
