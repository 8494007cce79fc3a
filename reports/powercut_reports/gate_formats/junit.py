"""JUnit XML: one test case a target, model and scenario, in the shape that Jenkins, GitLab and GitHub actions read.

A case fails for findings (and performance bugs that --fail-on names). It has an error, and so is never green, when the
run was not judged or did not cover all crash states: where a command exits with 3, no case passes in silence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree as Xml

from powercut_records.run import RunRecord
from powercut_reports import format as fmt
from powercut_reports import text
from powercut_reports.bugs import bugs, counted
from powercut_reports.format import printable
from powercut_reports.gate_formats import ci
from powercut_reports.gate_formats.ci import Results

# A case with more bugs names the others in one line each: viewers load all of a failure's text at once.
_REPORTS_SHOWN = 20


def render(runs: Sequence[RunRecord], *, fail_on: frozenset[str] = frozenset(), errors: Sequence[str] = ()) -> str:
    """The file's text. `errors` are of requests that came to no run: each is a case of its own."""
    results = ci.results(runs, fail_on=fail_on, errors=errors)
    root = Xml.Element("testsuites", name="powercut")
    pairs = sorted(zip(results.runs, results.whole, strict=True), key=lambda pair: _classname(pair[0]))
    for name, members in groupby(pairs, key=lambda pair: _classname(pair[0])):
        suite = Xml.SubElement(root, "testsuite", name=name)
        for run, whole in members:
            _case(suite, run, whole, results)
    if errors:
        suite = Xml.SubElement(root, "testsuite", name="powercut")
        for number, message in enumerate(errors, 1):
            case = Xml.SubElement(suite, "testcase", classname="powercut", name=f"error {number}", time="0.000")
            Xml.SubElement(case, "error", type="error", message=printable(message)).text = printable(message)
    for suite in root:
        _count(suite, suite)
    _count(root, root)
    Xml.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{Xml.tostring(root, encoding="unicode")}\n'


def _classname(run: RunRecord) -> str:
    return printable(":".join(part for part in (run.name, run.model) if part)) or "unknown"


def _count(element: Xml.Element, within: Xml.Element) -> None:
    cases = list(within.iter("testcase"))
    kinds = Counter(child.tag for case in cases for child in case)
    seconds = sum(float(case.get("time", "0")) for case in cases)
    element.set("tests", str(len(cases)))
    element.set("failures", str(kinds["failure"]))
    element.set("errors", str(kinds["error"]))
    element.set("skipped", "0")
    element.set("time", f"{seconds:.3f}")


def _case(suite: Xml.Element, run: RunRecord, whole: RunRecord, results: Results) -> None:
    name, seconds = printable(run.scenario) or "unknown", f"{run.seconds or 0:.3f}"
    case = Xml.SubElement(suite, "testcase", classname=_classname(run), name=name, time=seconds)
    outcome = ci.outcome(run, results)
    if outcome == ci.FINDINGS:
        names = [f.invariant for f in run.findings] + [h.kind for h in run.performance_bugs if ci.counts(h, results)]
        failure = Xml.SubElement(case, "failure", type=printable(names[0]), message=_message(run, names))
        failure.text = _reports(run, results)
    elif outcome == ci.INCOMPLETE:
        kind = "unknown" if run.verdict == "unknown" or run.error else "incomplete"
        Xml.SubElement(case, "error", type=kind, message=ci.verdict_words(run)).text = ci.verdict_words(run)
    Xml.SubElement(case, "system-out").text = text.render_run(whole, color=False)


def _message(run: RunRecord, names: list[str]) -> str:
    if len(names) == 1 and run.findings:
        return printable(f"{names[0]}: {run.findings[0].message}")
    kinds = ", ".join(f"{count} {name}" for name, count in Counter(names).items())
    found = counted(bugs(run.findings)) if run.findings else fmt.plural(len(names), "finding")
    return printable(f"{found}: {kinds}")


def _reports(run: RunRecord, results: Results) -> str:
    """The text report of each bug."""
    shown = text.render_bugs(run.findings, color=False)
    rest = [
        f"{printable(bug.told.invariant)}  {printable(bug.told.file or bug.told.reproduce)}"
        for bug in bugs(run.findings)[_REPORTS_SHOWN:]
    ]
    del shown[_REPORTS_SHOWN:]
    rows = [
        printable(f"{row.kind}  {row.place}  {row.message}") for row in run.performance_bugs if ci.counts(row, results)
    ]
    return "\n\n".join([*shown, *("\n".join(part) for part in (rest, rows) if part)])
