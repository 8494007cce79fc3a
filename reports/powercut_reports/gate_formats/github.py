"""Workflow commands of GitHub Actions, one a line: annotations on the lines of a pull request.

    ::error file=targets/level/update.cc,line=81,title=powercut%3A lost-item::An acknowledged item is gone. …

GitHub shows ten errors and ten warnings of a step and drops the others. Findings therefore come first, a bug has one
annotation however many ways it shows, and what several runs share comes once.
https://docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from powercut_records.run import PerformanceBug, RunRecord
from powercut_reports import format as fmt
from powercut_reports import story
from powercut_reports.bugs import bugs
from powercut_reports.format import printable
from powercut_reports.gate_formats import ci
from powercut_reports.gate_formats.ci import Place, Results


def render(runs: Sequence[RunRecord], *, fail_on: frozenset[str] = frozenset(), errors: Sequence[str] = ()) -> str:
    """The commands, each with its newline; empty when there is nothing to annotate."""
    results = ci.results(runs, fail_on=fail_on, errors=errors)
    return "".join(f"{line}\n" for line in _lines(results))


def _lines(results: Results) -> Iterator[str]:
    yield from _findings(results)
    yield from (_command("error", "powercut", printable(message)) for message in results.errors)
    warnings: list[str] = []
    for run in results.runs:
        if run.verdict == "unknown" or run.error:
            yield _command("error", "powercut: unknown", f"{ci.subject(run)}: {ci.verdict_words(run)}")
        elif run.coverage.kind != "complete" or ci.outcome(run, results) == ci.INCOMPLETE:
            warnings.append(_command("warning", "powercut: sampled", f"{ci.subject(run)}: {ci.verdict_words(run)}"))
    rows = list(_performance_bugs(results))
    yield from (line for counted, line in rows if counted)
    yield from warnings
    yield from (line for counted, line in rows if not counted)


def _findings(results: Results) -> Iterator[str]:
    runs = {id(finding): run for run in results.runs for finding in run.findings}
    for bug in bugs(finding for run in results.runs for finding in run.findings):
        finding = bug.told
        seen = len({id(runs[id(member)]) for member in bug.findings})
        parts = [story.headline(finding), _seen_in(runs[id(finding)], seen), story.story(finding)]
        parts += [ci.remedy(finding), *ci.letters(finding)]
        if bug.symptoms > 1:
            also = ", ".join(dict.fromkeys(other.invariant for other in bug.others))
            parts.append(f"This bug also shows in {fmt.plural(bug.symptoms - 1, 'more finding')}: {also}.")
        if finding.reproduce:
            parts.append(f"Reproduce: {finding.reproduce}")
        message = "\n".join(printable(part) for part in parts if part)
        yield _command("error", f"powercut: {finding.invariant}", message, ci.finding_place(finding))


def _seen_in(run: RunRecord, times: int) -> str:
    return ci.subject(run) + (f" and {fmt.plural(times - 1, 'more run')}" if times > 1 else "")


def _performance_bugs(results: Results) -> Iterator[tuple[bool, str]]:
    first: dict[tuple[str, str, str], tuple[RunRecord, PerformanceBug]] = {}
    seen = Counter[tuple[str, str, str]]()
    for run in results.runs:
        for row in run.performance_bugs:
            key = (row.kind, row.place, row.message)
            first.setdefault(key, (run, row))
            seen[key] += 1
    for key, (run, row) in first.items():
        message = f"{printable(row.message)} ({fmt.plural(row.count, 'time')}, {_seen_in(run, seen[key])})"
        counted = ci.counts(row, results)
        yield (
            counted,
            _command("error" if counted else "warning", f"powercut: {row.kind}", message, ci.place(row.place)),
        )


def _command(level: str, title: str, message: str, place: Place | None = None) -> str:
    properties = {"title": title}
    if place:
        properties = {"file": place.file, **({"line": str(place.line)} if place.line else {}), "title": title}
    listed = ",".join(f"{name}={_property(printable(value))}" for name, value in properties.items())
    return f"::{level} {listed}::{_data(message)}"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(value).replace(":", "%3A").replace(",", "%2C")
