"""Claims that fail, where people and gates read of them: the text report, and the formats for CI."""

import json
from typing import Any

import pytest

from powercut_reports import json_report, text
from powercut_reports.gate_formats import ci, github, junit, markdown, sarif
from reports.tests.typed import run_of, runs_of

SITE = "targets/level/insert.cc:88"
FAILS = {
    "claim": "insert.fences <= 2", "cites": "OSDI'18, section 3.3", "place": "targets/level/claims.toml:12",
    "holds": False,
    "measured": 3, "operation": "insert(17)", "site": SITE, "note": "",
}  # fmt: skip
SENTENCE = f"insert.fences <= 2 (OSDI'18, section 3.3): measured 3 in insert(17) at {SITE}"


def _run(*claims: dict[str, Any]) -> dict[str, Any]:
    return {
        "target": "level", "variant": "published", "scenario": "insert", "model": "adr", "nested": 1,
        "verdict": "consistent", "coverage": {"kind": "complete", "covered": "1", "total": "1", "nested_complete": 1},
        "findings": [], "performance_bugs": [], "claims": list(claims), "error": None,
    }  # fmt: skip


HOLDS = {**FAILS, "claim": "duplicates <= 2", "holds": True, "measured": 2}
SILENT = {**FAILS, "claim": "leaks == 0", "holds": None, "measured": None}


def test_the_text_counts_and_names_those_that_fail() -> None:
    shown = text.render_run(run_of(_run(FAILS, HOLDS, HOLDS, SILENT)), color=False)
    assert f"  Claims: 2 hold, 1 fails\n    {SENTENCE}" in shown
    assert "  Claims: 1 holds" in text.render_run(run_of(_run(HOLDS)), color=False)
    assert "Claims" not in text.render_run(run_of(_run(SILENT)), color=False)
    assert "Claims" not in text.render_run(run_of(_run()), color=False)


@pytest.mark.parametrize(
    ("fail_on", "outcome"), [(frozenset(), ci.CLEAN), (frozenset({"claims"}), ci.FINDINGS)], ids=["quiet", "red"]
)
def test_a_gate_is_red_only_when_it_asks(fail_on: frozenset[str], outcome: str) -> None:
    results = ci.results(runs_of([_run(FAILS, HOLDS)]), fail_on=fail_on)
    assert ci.outcome(results.runs[0], results) == outcome
    red = outcome == ci.FINDINGS
    (result,) = json.loads(sarif.render(runs_of([_run(FAILS, HOLDS)]), fail_on=fail_on))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert (result["ruleId"], result["level"]) == ("claims", "error" if red else "warning")
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("targets/level/insert.cc", 88)
    assert ("<failure" in junit.render(runs_of([_run(FAILS)]), fail_on=fail_on)) == red
    line = next(line for line in github.render(runs_of([_run(FAILS)]), fail_on=fail_on).splitlines() if "claim" in line)
    assert line.startswith("::error" if red else "::warning")
    assert "insert.fences" in markdown.render(runs_of([_run(FAILS)]), fail_on=fail_on)


def test_the_json_has_every_claim_with_what_it_measured() -> None:
    (run,) = json_report.runs_object(runs_of([_run(FAILS, SILENT)]))["runs"]
    assert [(row["claim"], row["holds"], row["measured"], row["site"]) for row in run["claims"]] == [
        ("insert.fences <= 2", False, 3, SITE),
        ("leaks == 0", None, None, SITE),
    ]


def test_a_claim_without_a_line_is_placed_where_it_is_written_down() -> None:
    (run,) = ci.results(runs_of([_run({**FAILS, "site": None})])).runs
    assert [row.site for row in run.performance_bugs] == [FAILS["place"]]
