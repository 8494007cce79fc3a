"""One bug is one report: findings with one cause, or that blame one store, are told of once, everywhere."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from powercut_reports import html, json_report, text
from powercut_reports.bugs import bugs, counted
from powercut_reports.gate_formats import github, junit, markdown, sarif
from reports.tests.typed import finding_of, findings_of, run_of, runs_of

Raw = dict[str, Any]


def finding(name: str, cause: str | None = None, store: str = "s", **fields: Any) -> Raw:
    return {"fingerprint": name, "invariant": "lost-item", "bug": {"cause": cause, "store": store}, **fields}


def groups(*raw: Raw) -> list[list[str]]:
    return [[member.fingerprint for member in bug.findings] for bug in bugs(map(finding_of, raw))]


def test_findings_with_one_cause_are_one_bug() -> None:
    assert groups(finding("a", "c", "s"), finding("b", "d", "s"), finding("e", "c", "t")) == [["a", "e"], ["b"]]


def test_a_finding_without_a_cause_goes_with_those_that_blame_the_same_store() -> None:
    assert groups(finding("a"), finding("b", "c"), finding("d", store="t")) == [["a", "b"], ["d"]]
    # Two causes: whose it is, nobody knows.
    assert groups(finding("a"), finding("b", "c"), finding("d", "e"), finding("f")) == [["a", "f"], ["b"], ["d"]]


def test_a_record_that_says_nothing_stands_alone() -> None:
    assert groups({"fingerprint": "a"}, {"fingerprint": "b"}, {"fingerprint": "a"}) == [["a", "a"], ["b"]]


def test_the_explained_finding_stands_for_its_bug() -> None:
    shared = {**finding("b", "k"), "cause": {"kind": "order", "shared_with": "c"}}
    looked_for = {**finding("c", "k"), "cause": {"kind": "order", "sentence": "Missing order: B before A."}}
    assert groups(finding("a", "k"), shared, looked_for) == [["c", "a", "b"]]


@pytest.fixture
def runs(sample_runs: list[Raw]) -> list[Raw]:
    """The runs with findings; the first has two more symptoms of its first bug, the second the first bug again."""
    made = [deepcopy(run) for run in sample_runs if run["findings"]]
    first = made[0]["findings"][0]
    first["bug"] = {"cause": None, "store": "one store"}
    for number in (1, 2):
        again = {**deepcopy(first), "fingerprint": f"{number:012x}", "message": f"Symptom {number}."}
        made[0]["findings"].append(again)
    return made


def test_text_tells_of_each_bug_once(runs: list[Raw]) -> None:
    told = text.render_bugs(findings_of(runs[0]["findings"]), color=False)
    assert len(told) == 2
    assert "This bug also shows in 2 more findings:\n    lost-item: Symptom 1. (during update(17))" in told[0]
    linked = text.render_bugs(findings_of(runs[0]["findings"]), color=False, page="out/report.html")[0]
    assert "  Report: out/report.html#finding-7f3a91c2\n" in linked
    assert re.search(r"lost-item: Symptom 1\. .* #finding-0{11}1\n", linked), "each symptom has its anchor"
    assert "Findings: 2 bugs, 4 symptoms" in text.render_run(run_of(runs[0]), color=False)
    assert counted(bugs(map(finding_of, runs[0]["findings"]))) == "2 bugs, 4 symptoms"


def test_markdown_tells_of_each_bug_once(runs: list[Raw]) -> None:
    told = markdown.render(runs_of(runs))
    assert "**❌ 3 bugs, 5 symptoms**" in told
    assert told.count("\n### ") - told.count("\n### Performance bugs") == 3
    assert "This bug also shows in 2 more findings:" in told
    assert "- lost-item: Symptom 2. " in told


def test_github_annotates_each_bug_once(runs: list[Raw]) -> None:
    """A bug that showed in six findings had six annotations, of which GitHub shows ten in all."""
    told = github.render(runs_of(runs)).splitlines()
    assert sum(line.startswith("::error") for line in told) == 3
    assert "This bug also shows in 2 more findings: lost-item." in told[0]


def test_github_says_what_a_and_b_are(runs: list[Raw]) -> None:
    first = {"role": "store", "site": "a.cc:7", "source": "  slot->value = v;"}
    second = {"role": "acknowledgement", "text": "update(17) returns", "site": None}
    cause = {"kind": "order", "sentence": "Missing order: B before A.", "first": first, "second": second}
    runs[0]["findings"][0]["cause"] = cause
    told = github.render(runs_of(runs)).splitlines()[0]
    assert "Missing order: B before A." in told
    assert "%0AA is update(17) returns.%0AB is slot->value = v; at a.cc:7." in told


def test_junit_tells_of_each_bug_once(runs: list[Raw]) -> None:
    failure = Xml.fromstring(junit.render(runs_of(runs))).find(".//failure")
    assert failure is not None
    assert failure.get("message", "").startswith("2 bugs, 4 symptoms: ")
    assert (failure.text or "").count("ERROR: powercut:") == 2


def test_html_tells_of_each_bug_once(runs: list[Raw]) -> None:
    page = html.render(runs_of(runs), title="t")
    assert page.count('<div class="bug">') == 3
    assert "2 more symptoms of the same bug" in page
    assert re.search(r">bugs</span></dt><dd>3</dd>", page)
    assert "<h4>2 bugs, 4 symptoms</h4>" in page


def test_json_has_the_bugs(runs: list[Raw]) -> None:
    told = json_report.runs_object(runs_of(runs))["bugs"]
    assert [(bug["symptoms"], len(bug["findings"])) for bug in told] == [(3, 3), (1, 1), (1, 1)]
    assert told[0]["invariants"] == ["lost-item"]


def results(runs: list[Raw]) -> list[Raw]:
    log = json.loads(sarif.render(runs_of(runs)))
    assert log["runs"][0]["tool"]["driver"]["informationUri"].startswith("https://")
    return [result for result in log["runs"][0]["results"] if result["level"] == "error"]


def test_sarif_has_a_result_for_each_bug(runs: list[Raw]) -> None:
    first, *_ = found = results(runs)
    assert len(found) == 3
    assert first["occurrenceCount"] == 3
    assert [symptom["fingerprint"] for symptom in first["properties"]["symptoms"]] == [f"{n:012x}" for n in (1, 2)]
    page = html.render(runs_of(runs), title="x")
    for anchor in (first["properties"]["anchor"], *(symptom["anchor"] for symptom in first["properties"]["symptoms"])):
        assert f'id="{anchor}"' in page


@pytest.mark.parametrize(
    ("left", "uri"),
    [
        ({"last_store": {"stack": [], "site": "src/map.cc:17", "function": "Insert"}}, "src/map.cc"),
        ({"lost_site": "queue+0x12ab"}, "queue"),
    ],
)
def test_every_result_of_sarif_has_a_physical_location(runs: list[Raw], left: Raw, uri: str) -> None:
    """One of code that stores the wrong thing, whose image has lost nothing, had none; nor one of a binary."""
    bare = {**runs[0]["findings"][0], "stores": [], "store_site": None, "lost_site": None, "cause": None, "fault": None}
    runs[0]["findings"] = [{**bare, **left}]
    place = results(runs)[0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == uri
    assert place.get("region") == {"startLine": 17} or place["address"]["relativeAddress"] == 0x12AB
    everywhere = json.loads(sarif.render(runs_of(runs)))["runs"][0]["results"]
    assert all("physicalLocation" in result["locations"][0] for result in everywhere)
