"""The object of `powercut run --json`: exact fields, exact types, nothing else."""

import json
from typing import Any

from powercut_reports import json_report
from reports.tests.typed import runs_of

RUN = {
    "target": str, "variant": str, "scenario": str, "model": str, "strategy": str, "seed": int, "events": int,
    "crash_points": int, "crash_states": str, "executions": int, "leaves": int, "verdict": str, "coverage": dict,
    "assumptions": list, "not_checked": dict, "seconds": float, "findings": list, "performance_bugs": list,
    "claims": list,
}  # fmt: skip
COVERAGE = ["kind", "covered", "total", "nested_complete", "reason"]
FINDING = ["fingerprint", "invariant", "operation", "query", "store_site", "lost_site", "message", "file"]


def test_fields_and_types(sample_runs: list[dict[str, Any]]) -> None:
    report = json_report.runs_object(runs_of(sample_runs))
    assert list(report) == ["runs", "bugs", "total"] and len(report["runs"]) == len(sample_runs)
    for run in report["runs"]:
        assert list(run) == list(RUN)
        assert {name: type(run[name]) for name in RUN} == RUN
        assert list(run["coverage"]) == COVERAGE
        assert all(list(finding) == [*FINDING, "explain"] for finding in run["findings"])
    assert json.loads(json.dumps(report)) == report


def test_values(sample_runs: list[dict[str, Any]]) -> None:
    run = json_report.runs_object(runs_of(sample_runs))["runs"][3]
    assert run["findings"][0] == {
        "fingerprint": "7f3a91c2",
        "invariant": "lost-item",
        "operation": "update(17)",
        "query": "lookup(17)",
        "store_site": "targets/level/update.cc:85",
        "lost_site": "targets/level/update.cc:80",
        "message": "An acknowledged update of key 17 is gone.",
        "file": ".powercut/findings/7f3a91c2.json",
        "explain": "powercut explain .powercut/findings/7f3a91c2.json",
    }
    assert run["performance_bugs"][0]["site"] == "targets/level/update.cc:86"


def test_a_cause_in_short(sample_runs: list[dict[str, Any]]) -> None:
    finding = sample_runs[3]["findings"][0]
    place = {"role": "store", "text": "s = 1;", "event": 4, "function": "f", "stack": []}
    finding["cause"] = {
        "kind": "order",
        "first": {**place, "site": "a.cc:1"},
        "second": {**place, "site": "a.cc:2"},
        "sentence": "Missing order: B before A.",
        "explanation": "Why.",
        "fix": {"kind": "fence", "sentence": "Fence before A.", "site": "a.cc:1", "steps": 1},
        "recheck": {"held": True, "verdict": "consistent", "coverage": {"kind": "complete"}, "executions": 3},
    }
    answer = json_report.runs_object(runs_of(sample_runs))["runs"][3]["findings"][0]
    assert list(answer) == [*FINDING, "cause"]
    assert answer["cause"] == {
        "kind": "order",
        "first": "a.cc:1",
        "second": "a.cc:2",
        "sentence": "Missing order: B before A.",
        "fix": "Fence before A.",
        "fix_site": "a.cc:1",
        "held": True,
    }
    finding["cause"] |= {"kind": "atomicity", "second": None, "fix": None, "recheck": None}
    answer = json_report.runs_object(runs_of(sample_runs))["runs"][3]["findings"][0]["cause"]
    assert (answer["second"], answer["fix"], answer["held"]) == (None, None, None)


def test_counts_of_states_are_text_even_when_the_caller_has_integers(sample_runs: list[dict[str, Any]]) -> None:
    sample_runs[0]["crash_states"] = sample_runs[0]["coverage"]["total"] = 2**70
    run = json_report.runs_object(runs_of(sample_runs))["runs"][0]
    assert run["crash_states"] == run["coverage"]["total"] == str(2**70)


def test_the_input_is_left_alone(sample_runs: list[dict[str, Any]]) -> None:
    before = json.dumps(sample_runs)
    json_report.runs_object(runs_of(sample_runs))["runs"][0]["not_checked"]["notes"] = "changed"
    assert json.dumps(sample_runs) == before
