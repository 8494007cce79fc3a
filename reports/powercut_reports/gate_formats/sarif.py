"""SARIF 2.1.0, for code scanning: a result for each finding and each place of a performance bug.

One SARIF run for a command, with an invocation for each exploration; `provenance.invocationIndex` of a result says
which one it is of. A finding's code flow is what happened to the lines that the failing recovery looked at (store,
flush, fence), then the cut. An invocation that could not judge has `executionSuccessful` false, and one that did not
cover everything a notification: a file without results alone says nothing.

A bug is one result: that of the finding which stands for it, with the others in `properties.symptoms`. It is placed at
the store that was lost, else at another store of the finding. Without stores it is placed where recovery died, else at
the last store before the cut.

Known limit: code without line numbers has no line; its place is the address in its file.
https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from powercut_records.files import FilesFinding
from powercut_records.finding import FindingRecord, TimelineEvent, TimelineLine
from powercut_records.places import own_frame
from powercut_records.run import PerformanceBug, RunRecord
from powercut_reports import files_view, story
from powercut_reports import format as fmt
from powercut_reports.bugs import Bug, bugs
from powercut_reports.format import printable
from powercut_reports.gate_formats import ci
from powercut_reports.gate_formats.ci import Accepted, Place, Results, Rule

Json = dict[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#: The page of the tool, as the schema asks for it.
INFORMATION = "https://github.com/powercut/powercut"
#: Raised when what a fingerprint is made of changes its meaning.
FINGERPRINT = "powercut/v2"
# A hot line can have thousands of events; the last ones before the cut decide.
_FLOW_STEPS, _RELATED = 24, 12
_LINE_BYTES = 64


def render(runs: Sequence[RunRecord], *, fail_on: frozenset[str] = frozenset(), errors: Sequence[str] = ()) -> str:
    """The file's text. `errors` are of requests that came to no run: each is a failed invocation."""
    # Without indentation: a thousand findings are written in C and stay small.
    return json.dumps(log(ci.results(runs, fail_on=fail_on, errors=errors))) + "\n"


def log(results: Results) -> Json:
    """The SARIF log as JSON's own types."""
    rules = {rule.id: rule for rule in ci.RULES}
    for run in results.runs:
        for row in run.performance_bugs:
            rules.setdefault(row.kind, ci.unknown_rule(row.kind, performance=True))
    for finding in (finding for run in results.runs for finding in run.findings):
        rules.setdefault(finding.invariant, ci.unknown_rule(finding.invariant, performance=False))
    for item in (item for items in results.accepted for item in items):
        rules.setdefault(item.finding.invariant, ci.unknown_rule(item.finding.invariant, performance=False))
    index = {name: number for number, name in enumerate(rules)}
    found: list[Json] = []
    owners = {id(finding): number for number, run in enumerate(results.runs) for finding in run.findings}
    of_run: dict[int, list[Json]] = defaultdict(list)
    for bug in bugs(finding for run in results.runs for finding in run.findings):
        number = owners[id(bug.told)]
        of_run[number].append(_bug(bug, results.runs[number]))
    for number, run in enumerate(results.runs):
        members = of_run[number]
        members += [_accepted(item, run) for item in results.accepted[number]]
        members += [_performance_bug(row, run, results) for row in run.performance_bugs]
        found += [
            {"ruleId": item["ruleId"], "ruleIndex": index[item["ruleId"]], **item, "provenance": _provenance(number)}
            for item in members
        ]
    invocations = [_invocation(run) for run in results.runs]
    invocations += [_failed(message) for message in results.errors]
    about = {"name": "powercut", "version": version("powercut"), "informationUri": INFORMATION}
    driver = {**about, "rules": [_rule(rule, results) for rule in rules.values()]}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "automationDetails": {"id": "powercut/"},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {"%SRCROOT%": {"description": _text("The project's folder.")}},
                "invocations": invocations,
                "results": found,
            }
        ],
    }


def _text(words: str) -> Json:
    return {"text": printable(words)}


def _rule(rule: Rule, results: Results) -> Json:
    return {
        "id": rule.id,
        "shortDescription": _text(rule.summary),
        "fullDescription": _text(rule.summary),
        "help": _text(rule.help),
        "defaultConfiguration": {
            "level": "warning" if rule.performance and rule.id not in results.fail_on else "error"
        },
        "properties": {"tags": ["persistent-memory", "performance" if rule.performance else "crash-consistency"]},
    }


def _provenance(number: int) -> Json:
    return {"invocationIndex": number}


def _properties(run: RunRecord) -> Json:
    return {
        "target": run.name,
        "scenario": run.scenario,
        "model": run.model,
        "verdict": run.verdict,
        "cached": any(note.startswith("cached") for note in run.origin),
        "coverage": story.coverage_sentence(run),
        **({"fileSystems": {row.profile: row.verdict for row in run.profiles}} if run.profiles else {}),
    }


def _invocation(run: RunRecord) -> Json:
    unknown = run.verdict == "unknown" or bool(run.error)
    told = []
    if unknown or run.coverage.kind != "complete":
        message = f"{ci.subject(run)}: {ci.verdict_words(run)}"
        told = [{"level": "error" if unknown else "warning", "message": _text(message)}]
    return {
        **({"commandLine": printable(run.command)} if run.command else {}),
        "executionSuccessful": not unknown,
        "toolExecutionNotifications": told,
        "properties": _properties(run),
    }


def _failed(message: str) -> Json:
    return {
        "executionSuccessful": False,
        "toolExecutionNotifications": [{"level": "error", "message": _text(message)}],
    }


def _uri(file: str) -> Json:
    path = PurePosixPath(file)
    if path.is_absolute():
        return {"uri": f"file://{quote(file)}"}
    return {"uri": quote(str(path)), "uriBaseId": "%SRCROOT%"}


def _physical(place: Place | None) -> Json:
    if place is None:
        return {}
    region = {"region": {"startLine": place.line}} if place.line else {}
    return {"physicalLocation": {"artifactLocation": _uri(place.file), **region}}


def _location(place: Place | None, run: RunRecord, site: str = "") -> Json:
    """`site` is of code without line numbers: "queue+0x12ab"."""
    named = {"fullyQualifiedName": printable(f"{run.name}/{run.scenario}")}
    module, plus, address = site.rpartition("+0x")
    if place is None and plus and all(digit in "0123456789abcdef" for digit in address):
        at = {"relativeAddress": int(address, 16), "fullyQualifiedName": printable(site)}
        return {"physicalLocation": {"artifactLocation": _uri(module), "address": at}}
    return _physical(place) or {"logicalLocations": [named]}


def _bug(bug: Bug, run: RunRecord) -> Json:
    """The finding that stands for the bug, and the bug's other symptoms."""
    result = _finding(bug.told, run)
    if bug.others:
        more = f" This bug also shows in {fmt.plural(len(bug.others), 'more finding')}."
        result["message"] = _text(result["message"]["text"] + more)
        result["occurrenceCount"] = len(bug.findings)
        result["properties"]["symptoms"] = [
            {
                "fingerprint": other.fingerprint,
                "invariant": other.invariant,
                "scenario": printable(other.scenario),
                "anchor": story.anchor(other),
            }
            for other in bug.others
        ]
    return result


def _finding(finding: FindingRecord, run: RunRecord) -> Json:
    message = [part for part in (story.headline(finding), story.story(finding), ci.remedy(finding)) if part]
    if finding.reproduce:
        message.append(f"Reproduce: {finding.reproduce}")
    # In the HTML report of the same command, where it made one.
    anchor = story.anchor(finding)
    return {
        "ruleId": finding.invariant,
        "level": "error",
        "message": _text(" ".join(message)),
        "locations": [_location(ci.finding_place(finding), run, story.summary_site(finding))],
        "partialFingerprints": {FINGERPRINT: finding.known_as or finding.fingerprint},
        "codeFlows": [_flow(finding)],
        "relatedLocations": _related(finding),
        "properties": {
            **_properties(run),
            "operation": str(finding.operation),
            "reproduce": finding.reproduce,
            "anchor": anchor,
        },
    }


def _accepted(item: Accepted, run: RunRecord) -> Json:
    """With the suppression that keeps a viewer from raising an alert."""
    state = {"baselineState": "unchanged"} if item.known else {}
    held = {"kind": "external", "status": "accepted", "justification": printable(item.reason)}
    return {**_finding(item.finding, run), **state, "suppressions": [held]}


def _performance_bug(row: PerformanceBug, run: RunRecord, results: Results) -> Json:
    # By source line: two runs of one target that meet the same flush tell of the same thing.
    name = sha256("\0".join((run.name, row.kind, row.place)).encode("utf-8", "replace")).hexdigest()[:12]
    return {
        "ruleId": row.kind,
        "level": "error" if ci.counts(row, results) else "warning",
        "message": _text(f"{row.message} ({fmt.plural(row.count, 'time')} in {ci.subject(run)})"),
        "locations": [_location(ci.place(row.place), run)],
        "partialFingerprints": {FINGERPRINT: name},
        "occurrenceCount": max(row.count, 1),
        "properties": _properties(run),
    }


def _related(finding: FindingRecord) -> list[Json]:
    """Where the stores are that the finding is about."""
    groups = story.involved(finding)
    placed = [(group, found) for group in groups if (found := ci.place(group.site))]
    return [
        {
            "id": number,
            "message": _text(f"{group.noun} {group.label}: {group.extent}, {group.fate_words}"),
            **_physical(found),
        }
        for number, (group, found) in enumerate(placed[:_RELATED], 1)
    ]


def _flow(finding: FindingRecord) -> Json:
    """From the first store to the cut, and to where recovery died of it."""
    if finding.files:
        return _flow_of_calls(finding, finding.files)
    steps = _steps(finding)
    shown = steps[-_FLOW_STEPS:]
    decisive = {store.event for store in finding.stores if store.decisive}
    fates = {store.event: store.fate for store in finding.stores}
    locations: list[Json] = [
        {
            "location": {"message": _text(_words(event, line, fates)), **_physical(ci.place(event.place))},
            "kinds": [event.kind],
            "state": {fmt.offset(line.offset): _text(event.state)},
            "importance": "essential" if event.event in decisive else "important",
        }
        for event, line in shown
    ]
    last = next((found for event, _ in reversed(shown) if (found := ci.place(event.place))), None)
    cut = ", ".join(part for part in (story.cut_sentence(finding.crash_point), story.nested_sentence(finding)) if part)
    locations.append(
        {
            "location": {
                "message": _text(f"power cut {story.without_cut(finding) or cut}"),
                **_physical(last or ci.finding_place(finding)),
            },
            "kinds": ["crash"],
            "importance": "essential",
        }
    )
    fault = own_frame(finding.fault.stack, finding.fault.site) if finding.fault else None
    if fault:
        locations.append(
            {
                "location": {"message": _text(story.answer_sentence(finding)), **_physical(ci.place(fault.site))},
                "kinds": ["fault"],
                "importance": "essential",
            }
        )
    for number, location in enumerate(locations, 1):
        location["executionOrder"] = number
    left_out = len(steps) - len(shown)
    before = {"message": _text(f"{fmt.plural(left_out, 'event')} before these left out")} if left_out else {}
    return {"threadFlows": [{**before, "locations": locations}]}


def _flow_of_calls(finding: FindingRecord, files: FilesFinding) -> Json:
    """The calls whose changes were not durable, and the cut."""
    calls = files.calls[-_FLOW_STEPS:]
    locations: list[Json] = [
        {
            "location": {
                "message": _text(f"call {call.call}: {call.text}: {files_view.FATES.get(call.fate, call.fate)}"),
                **_physical(ci.place(call.site)),
            },
            "kinds": ["call"],
            "importance": "essential" if call.decisive else "important",
        }
        for call in calls
    ]
    cut = f"power cut {story.without_cut(finding) or story.cut_sentence(finding.crash_point)}"
    where = _physical(ci.finding_place(finding))
    locations.append({"location": {"message": _text(cut), **where}, "kinds": ["crash"], "importance": "essential"})
    for number, location in enumerate(locations, 1):
        location["executionOrder"] = number
    return {"threadFlows": [{"locations": locations}]}


def _steps(finding: FindingRecord) -> list[tuple[TimelineEvent, TimelineLine]]:
    """Events of the lines with decisive stores, in the order of the trace; a fence of several lines is one."""
    decisive = {store.offset // _LINE_BYTES for store in finding.stores if store.decisive}
    lines = [line for line in finding.timeline.lines if line.offset // _LINE_BYTES in decisive] or list(
        finding.timeline.lines
    )
    steps: dict[tuple[int, str], tuple[TimelineEvent, TimelineLine]] = {}
    for line in lines:
        for event in line.events:
            steps.setdefault((event.event, event.kind), (event, line))
    return [steps[key] for key in sorted(steps)]


def _words(event: TimelineEvent, line: TimelineLine, fates: dict[int, str]) -> str:
    fate = f", {fates[event.event]} at the cut" if event.kind in ("store", "nt-store") and event.event in fates else ""
    return f"{event.kind} ({event.detail}): line {fmt.offset(line.offset)} is {event.state}{fate}"
