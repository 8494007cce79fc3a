"""The reports for a CI gate: SARIF against the schema of OASIS, JUnit's shape, workflow commands, job summaries.

`data/sarif-2.1.0-rtm.5.json` is the schema of SARIF 2.1.0 as the npm package @microsoft/jest-sarif 1.0.0-beta.0 has it.
"""

import cProfile
import json
import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from jsonschema import Draft4Validator

from powercut_records.run import RunRecord
from powercut_reports.gate_formats import ci, github, junit, markdown, sarif
from reports.tests.typed import runs_of

Raw = dict[str, Any]
HOSTILE = 'gone\x1b[2J\n::error::forged %0A ]]> </failure> | `x` ``` <script> "&\u202e\ud800,:'
RENDERERS = [github.render, junit.render, markdown.render, sarif.render]


@pytest.fixture(scope="module")
def validator(data: Path) -> Draft4Validator:
    schema = json.loads((data / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
    Draft4Validator.check_schema(schema)
    return Draft4Validator(schema)


@pytest.fixture
def hostile(sample_runs: list[Raw]) -> list[Raw]:
    run = sample_runs[3]
    for name in ("message", "found", "reproduce", "lost_site", "invariant"):
        run["findings"][0][name] = HOSTILE
    run["performance_bugs"][0]["message"] = run["target"] = run["scenario"] = HOSTILE
    return sample_runs


def many(sample_runs: list[Raw], count: int) -> list[Raw]:
    run = sample_runs[3]
    first = run["findings"][0]
    run["findings"] = [{**deepcopy(first), "fingerprint": f"{number:012x}"} for number in range(count)]
    return [run]


def assert_valid(validator: Draft4Validator, text: str) -> Raw:
    log: Raw = json.loads(text)
    assert [f"{list(error.absolute_path)}: {error.message}" for error in validator.iter_errors(log)] == []
    (run,) = log["runs"]
    return run


# Exit codes and gates.


def test_outcome_of_each_sample(sample_runs: list[Raw]) -> None:
    results = ci.results(runs_of(sample_runs))
    assert [ci.outcome(run, results) for run in results.runs] == [
        *("clean", "clean", "clean", "findings", "clean", "findings", "incomplete", "incomplete")
    ]
    strict = ci.results(runs_of(sample_runs), fail_on=frozenset({"redundant-fence"}))
    assert ci.outcome(strict.runs[2], strict) == "findings"


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        ("a/b.cc:81", ci.Place("a/b.cc", 81)),
        ("C:odd name.cc:7", ci.Place("C:odd name.cc", 7)),
        ("std::sort", None),
        ("", None),
        (":9", None),
        ("a.cc:99999999999999", None),
    ],
)
def test_place(site: str, expected: ci.Place | None) -> None:
    assert ci.place(site) == expected


# SARIF.


def test_sarif_is_valid_and_complete(sample_runs: list[Raw], validator: Draft4Validator) -> None:
    run = assert_valid(validator, sarif.render(runs_of(sample_runs)))
    results = run["results"]
    assert [item["ruleId"] for item in results] == [
        *("redundant-flush", "redundant-fence", "lost-item", "not-idempotent", "redundant-flush", "recovery-failed")
    ]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert all(rules[item["ruleIndex"]] == item["ruleId"] for item in results)
    assert all(rule["help"]["text"] for rule in run["tool"]["driver"]["rules"])
    assert {item["level"] for item in results} == {"error", "warning"}
    first = next(item for item in results if item["level"] == "error")
    (location,) = first["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "targets/level/update.cc", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 80},
    }
    assert first["partialFingerprints"] == {sarif.FINGERPRINT: "7f3a91c2"}
    assert first["properties"]["target"] == "level:published"
    assert [item["message"]["text"].split(":")[0] for item in first["relatedLocations"][:2]] == ["store A", "store B"]


def test_sarif_flow_goes_from_store_over_flush_to_the_crash(sample_runs: list[Raw]) -> None:
    run = json.loads(sarif.render(runs_of(sample_runs[3:4])))["runs"][0]
    (flow,) = run["results"][0]["codeFlows"]
    (thread,) = flow["threadFlows"]
    steps = thread["locations"]
    kinds = [step["kinds"][0] for step in steps]
    assert kinds[-1] == "crash" and kinds.index("store") < kinds.index("flush") < len(kinds) - 1
    assert [step["executionOrder"] for step in steps] == list(range(1, len(steps) + 1))
    assert all("physicalLocation" in step["location"] for step in steps)
    assert "before sfence" in steps[-1]["location"]["message"]["text"]
    lost = [step for step in steps if "lost at the cut" in step["location"]["message"]["text"]]
    assert [step["importance"] for step in lost] == ["essential"]


def test_sarif_says_what_was_not_judged(sample_runs: list[Raw], validator: Draft4Validator) -> None:
    run = assert_valid(validator, sarif.render(runs_of(sample_runs), errors=["engine: it died. Report it."]))
    told = [[note["level"] for note in item["toolExecutionNotifications"]] for item in run["invocations"]]
    assert told == [[]] * 6 + [["warning"], ["error"], ["error"]]
    assert [item["executionSuccessful"] for item in run["invocations"]] == [True] * 7 + [False] * 2
    assert all(item["provenance"]["invocationIndex"] in (2, 3, 5) for item in run["results"])


def test_sarif_of_odd_findings_is_valid(hostile: list[Raw], validator: Draft4Validator) -> None:
    hostile[5]["findings"][0].update(lost_site="/elsewhere/a b#.cc:9", invariant="newer-rule", stores=[], timeline={})
    hostile[3]["findings"][1].update(lost_site=None, store_site=None, stores=[], timeline={}, fault=None)
    run = assert_valid(validator, sarif.render(runs_of(hostile)))
    found = {item["ruleId"]: item for item in run["results"]}
    place = found["newer-rule"]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "file:///elsewhere/a%20b%23.cc"}
    assert_valid(validator, sarif.render(runs_of([])))
    assert_valid(validator, sarif.render(runs_of([{"findings": [{}], "performance_bugs": [{}]}])))


def test_sarif_shortens_the_flow_of_a_hot_line(sample_runs: list[Raw], validator: Draft4Validator) -> None:
    line = sample_runs[3]["findings"][0]["timeline"]["lines"][-1]
    line["events"] = [{**line["events"][1], "event": number} for number in range(5000)]
    run = assert_valid(validator, sarif.render(runs_of(sample_runs)))
    flow = next(item for item in run["results"] if item["level"] == "error")["codeFlows"][0]["threadFlows"][0]
    assert len(flow["locations"]) == 25 and flow["message"]["text"].endswith("before these left out")


# JUnit.


def assert_junit_shape(text: str) -> Xml.Element:
    """Checks the rules that the schemas in use share: names, required attributes, order of children, and right
    counts."""
    root = Xml.fromstring(text)
    assert root.tag == "testsuites"
    for element in (root, *root):
        cases = list(element.iter("testcase"))
        assert element.get("tests") == str(len(cases))
        for tag, count in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
            assert element.get(count) == str(sum(case.find(tag) is not None for case in cases))
    for suite in root:
        assert suite.tag == "testsuite" and suite.get("name") and len(suite)
        for case in suite:
            assert case.tag == "testcase" and case.get("name") and case.get("classname")
            assert re.fullmatch(r"\d+\.\d{3}", case.get("time", ""))
            tags = [child.tag for child in case]
            assert tags in (["system-out"], ["failure", "system-out"], ["error", "system-out"], ["error"])
            assert all(child.get("type") and child.get("message") for child in case if child.tag != "system-out")
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert len(names) == len(set(names))
    return root


def test_junit_has_a_case_for_each_run(sample_runs: list[Raw]) -> None:
    root = assert_junit_shape(junit.render(runs_of(sample_runs)))
    cases = {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}
    assert len(cases) == len(sample_runs)
    failed = cases["level:published:adr", "update_full_bucket"]
    failure = failed.find("failure")
    assert failure is not None and failure.text is not None
    assert failure.get("type") == "lost-item" and failure.text.startswith("ERROR: powercut: lost-item")
    clean = cases["level:hardened:adr", "insert"]
    assert [child.tag for child in clean] == ["system-out"]
    assert "consistent, complete" in (clean.findtext("system-out") or "")


def test_junit_never_passes_what_was_not_covered(sample_runs: list[Raw]) -> None:
    root = assert_junit_shape(junit.render(runs_of(sample_runs), errors=["engine: it died."]))
    kinds = {case.get("name"): error.get("type") for case in root.iter("testcase") for error in case.findall("error")}
    assert kinds == {"ycsb_a": "incomplete", "shrink": "unknown", "error 1": "error"}


def test_junit_fails_for_performance_bugs_that_count(sample_runs: list[Raw]) -> None:
    root = assert_junit_shape(junit.render(runs_of(sample_runs[2:3]), fail_on=frozenset({"redundant-flush"})))
    (failure,) = root.iter("failure")
    assert failure.get("type") == "redundant-flush" and "targets/level/update.cc:86" in (failure.text or "")


def test_junit_of_a_hostile_target(hostile: list[Raw]) -> None:
    root = assert_junit_shape(junit.render(runs_of(hostile)))
    assert len(list(root.iter("failure"))) == 2


# GitHub.

COMMAND = re.compile(r"::(error|warning) ((?:\w+=[^,:\r\n]*,?)+)::([^\r\n]+)")


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    found = []
    for line in text.splitlines():
        match = COMMAND.fullmatch(line)
        assert match is not None, line
        level, properties, message = match.groups()
        found.append((level, dict(part.split("=", 1) for part in properties.split(",")), message))
    return found


def test_github_annotates_the_lines(sample_runs: list[Raw]) -> None:
    found = commands(github.render(runs_of(sample_runs)))
    assert [(level, properties["title"].removeprefix("powercut%3A ")) for level, properties, _ in found] == [
        ("error", "lost-item"),
        ("error", "not-idempotent"),
        ("error", "recovery-failed"),
        ("error", "unknown"),
        ("warning", "sampled"),
        ("warning", "redundant-flush"),
        ("warning", "redundant-fence"),
    ]
    level, properties, message = found[0]
    assert (level, properties["file"], properties["line"]) == ("error", "targets/level/update.cc", "80")
    assert message.startswith("An acknowledged update of key 17 is gone.%0A")
    assert message.endswith("%0AReproduce: powercut reproduce .powercut/findings/7f3a91c2.json")
    assert "and 1 more run" in next(text for _, p, text in found if p["title"].endswith("redundant-flush"))


def test_github_annotates_a_finding_of_several_runs_once(sample_runs: list[Raw]) -> None:
    again = {**deepcopy(sample_runs[3]), "scenario": "another"}
    found = [item for item in commands(github.render(runs_of([sample_runs[3], again]))) if item[0] == "error"]
    assert len(found) == 2
    assert all("update_full_bucket (adr) and 1 more run%0A" in message for _, _, message in found)


def test_github_escapes(hostile: list[Raw]) -> None:
    found = commands(github.render(runs_of(hostile), errors=[HOSTILE]))
    assert all("\x1b" not in message and "\u202e" not in message for _, _, message in found)
    assert any("forged %250A" in message for _, _, message in found)


def test_github_counts_performance_bugs_that_fail(sample_runs: list[Raw]) -> None:
    found = commands(github.render(runs_of(sample_runs[2:3]), fail_on=frozenset({"redundant-fence"})))
    assert [(level, properties["title"]) for level, properties, _ in found] == [
        ("error", "powercut%3A redundant-fence"),
        ("warning", "powercut%3A redundant-flush"),
    ]


def test_github_says_nothing_of_a_clean_run(sample_runs: list[Raw]) -> None:
    assert github.render(runs_of(sample_runs[:2])) == ""


# Markdown.


def test_markdown_says_verdict_runs_and_findings(sample_runs: list[Raw]) -> None:
    text = markdown.render(runs_of(sample_runs))
    lines = text.splitlines()
    assert lines[2] == "**❌ 3 bugs, 3 symptoms** in 8 runs: 2 with findings, 2 unknown or not complete, 4 clean."
    rows = [line for line in lines if line.startswith("| level")]
    assert len(rows) == 8 and all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)
    assert "inconsistent" in rows[0] and "consistent" in rows[-1]
    assert "### lost-item `targets/level/update.cc:80`" in text
    assert "```sh\npowercut reproduce .powercut/findings/7f3a91c2.json\n```" in text
    assert "at `targets/level/update.cc:85`: persisted" in text
    assert text.count("| redundant-flush | 48 |") == 1


@pytest.mark.parametrize(
    ("chosen", "verdict"),
    [
        (slice(0, 2), "✅ Consistent, every crash state covered"),
        (slice(6, 7), "⚠️ No finding, but not everything was judged"),
        (slice(7, 8), "⚠️ No finding, but not everything was judged"),
        (slice(0, 0), "⚠️ No finding, but not everything was judged"),
    ],
)
def test_markdown_verdict(sample_runs: list[Raw], chosen: slice, verdict: str) -> None:
    assert f"**{verdict}**" in markdown.render(runs_of(sample_runs[chosen]))


def test_markdown_has_no_row_that_is_inconsistent_without_findings(sample_runs: list[Raw]) -> None:
    """Under a green tick stood "inconsistent" and 0 findings."""
    run = sample_runs[3]
    run["findings"] = [{**finding, "baseline": "known"} for finding in run["findings"]]
    standing = ["Baseline base.json: 0 new, 2 known, 1 fixed", "  Fixed: lost-item a.cc:1  (level, scenario x, adr)"]
    text = markdown.render(runs_of([run]), standing=standing)
    assert "**✅ No new finding, every crash state covered**" in text
    assert "\nBaseline base.json: 0 new, 2 known, 1 fixed\n" in text
    assert "\n- Fixed: lost-item a.cc:1  (level, scenario x, adr)\n" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| level")]
    assert "inconsistent" not in row
    assert row.endswith("| 0 new, 2 known |")


def test_markdown_counts_new_and_known_findings_of_a_run(sample_runs: list[Raw]) -> None:
    run = sample_runs[3]
    run["findings"][0]["baseline"], run["findings"][1]["baseline"] = "new", "known"
    (row,) = [line for line in markdown.render(runs_of([run])).splitlines() if line.startswith("| level")]
    assert "| inconsistent |" in row
    assert row.endswith("| 1 new, 1 known |")


def test_markdown_of_a_hostile_target(hostile: list[Raw]) -> None:
    text = markdown.render(runs_of(hostile), errors=[HOSTILE])
    assert "<script>" not in re.sub(r"\\.|(`+).*?\1", "", text, flags=re.S)  # escaped characters, code spans
    assert "\x1b" not in text and "\u202e" not in text
    assert not [line for line in text.splitlines() if line.startswith("::")]
    rows = [line for line in text.splitlines() if line.startswith("| gone")]
    assert rows and all(len(re.findall(r"(?<!\\)\|", row)) == 7 for row in rows)


@pytest.fixture(scope="module")
def two_thousand(data: Path) -> list[RunRecord]:
    """A thousand findings of one run, and a thousand clean runs."""
    sample_runs = json.loads((data / "sample_runs.json").read_text(encoding="utf-8"))
    return runs_of(many(sample_runs, 1000) + [deepcopy(sample_runs[0]) for _ in range(1000)])


@pytest.mark.parametrize("limit", [4_000, 20_000, 200_000])
def test_markdown_keeps_its_limit_and_counts_what_it_leaves_out(two_thousand: list[RunRecord], limit: int) -> None:
    text = markdown.render(two_thousand, limit=limit)
    assert len(text.encode()) <= limit
    left = re.search(r"^([\d,]+) more bugs left out", text, re.M)
    assert left and text.count("\n### lost-item") + int(left[1].replace(",", "")) == 1000
    assert "more runs left out" in text


# All of them.


@pytest.mark.parametrize("accepted", [{"baseline": "known"}, {"suppressed": {"reason": "later", "expired": False}}])
def test_accepted_findings_do_not_fail(sample_runs: list[Raw], accepted: Raw, validator: Draft4Validator) -> None:
    run = sample_runs[3]
    run["findings"] = [{**finding, **accepted} for finding in run["findings"]]
    assert "::error" not in github.render(runs_of([run]))
    assert not list(assert_junit_shape(junit.render(runs_of([run]))).iter("failure"))
    assert "✅ No new finding" in markdown.render(
        runs_of([run])
    ) and "2 findings known or suppressed" in markdown.render(runs_of([run]))
    shown = assert_valid(validator, sarif.render(runs_of([run])))["results"]
    assert [bool(item.get("suppressions")) for item in shown] == [True, True, False]


def test_expired_suppressions_fail(sample_runs: list[Raw]) -> None:
    run = sample_runs[3]
    run["findings"][0]["suppressed"] = {"reason": "later", "expired": True}
    assert github.render(runs_of([run])).count("::error") == 2


@pytest.mark.parametrize("render", RENDERERS)
def test_the_work_grows_as_the_findings_do(sample_runs: list[Raw], render: Callable[..., str]) -> None:
    calls = {}
    for count in (50, 500):
        runs = runs_of(many(deepcopy(sample_runs), count))
        profile = cProfile.Profile()
        text = profile.runcall(render, runs)
        calls[count] = sum(entry.callcount for entry in profile.getstats())
    assert calls[500] < 12 * calls[50]  # the square of it would be a hundred times
    assert len(text.encode()) < 12_500_000


@pytest.mark.parametrize("render", RENDERERS)
def test_the_input_is_left_alone_and_the_same_input_gives_the_same_bytes(
    sample_runs: list[Raw], render: Callable[..., str]
) -> None:
    before = deepcopy(sample_runs)
    assert render(runs_of(sample_runs)) == render(runs_of(sample_runs))
    assert sample_runs == before


# The root cause, where it was looked for.


@pytest.mark.parametrize("render", [github.render, markdown.render, sarif.render])
def test_the_fix_and_its_re_check_are_said_where_people_read(
    render: Callable[[list[Raw]], str], sample_runs: list[Raw], explained: Raw
) -> None:
    run = sample_runs[3]
    run["findings"] = [explained]
    text = render(runs_of([run]))
    assert "Missing order: B before A." in text
    assert "Re-checked with the fix: consistent" in text
    run["findings"] = [{**explained, "cause": None}]
    assert "Missing order" not in render(runs_of([run]))
