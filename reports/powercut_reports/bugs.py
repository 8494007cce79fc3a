"""Findings put together by what is wrong: one bug is one report, however many ways it shows.

A record says in `bug` which cause it has, and which store it blames (checker/RUN.md). Findings with one cause are one
bug. A finding without a cause belongs to the bug of those that blame the same store, where these have one cause between
them; else it stands with the others that blame this store and have none. A record that says neither stands alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord
from powercut_reports import format as fmt

#: The verdicts, in the order in which they are told.
_ORDER = ("consistent", "inconsistent", "unknown")


@dataclass(frozen=True)
class Bug:
    """`findings` in their order, but the one to tell of first: the first with a cause that was looked for in it."""

    id: str
    findings: tuple[FindingRecord, ...]

    @property
    def anchor(self) -> str:
        """Its name in an HTML report, which stays when others come and go."""
        return f"bug-{sha256(self.id.encode('utf-8', 'replace')).hexdigest()[:12]}"

    @property
    def told(self) -> FindingRecord:
        return self.findings[0]

    @property
    def others(self) -> tuple[FindingRecord, ...]:
        return self.findings[1:]

    @property
    def symptoms(self) -> int:
        """Its findings, those that several runs show counted once."""
        return len({finding.counted_as for finding in self.findings})


def bugs(findings: Iterable[FindingRecord]) -> tuple[Bug, ...]:
    """The bugs, in the order of their first findings."""
    every = list(findings)
    causes: dict[str, set[str]] = defaultdict(set)
    for finding in every:
        if finding.bug.cause and finding.bug.store:
            causes[finding.bug.store].add(finding.bug.cause)
    groups: dict[str, list[FindingRecord]] = {}
    for finding in every:
        groups.setdefault(_bug_of(finding, causes.get(finding.bug.store, set())), []).append(finding)
    return tuple(Bug(name, _told_first(members)) for name, members in groups.items())


def _bug_of(finding: FindingRecord, causes: set[str]) -> str:
    if finding.bug.cause:
        return finding.bug.cause
    if finding.bug.store:
        return next(iter(causes)) if len(causes) == 1 else finding.bug.store
    return f"{finding.target}:{finding.variant}:{finding.fingerprint}"


def _told_first(members: Sequence[FindingRecord]) -> tuple[FindingRecord, ...]:
    first = next((f for f in members if f.cause and not f.cause.shared_with), None) or next(
        (f for f in members if f.cause), members[0]
    )
    return (first, *(finding for finding in members if finding is not first))


@dataclass(frozen=True, kw_only=True)
class Totals:
    """Totals of several runs. Every place that says how many of something there are takes the number from here."""

    targets: int  # variants count by themselves
    runs: int
    verdicts: dict[str, int]
    bugs: int
    findings: int  # each once, however many runs show it
    seconds: float  # of recording and exploring, added up over runs that may have gone on at the same time
    interrupted: int


def totals(runs: Sequence[RunRecord]) -> Totals:
    """The totals of these runs."""
    found = bugs(finding for run in runs for finding in run.findings)
    verdicts = Counter[str](run.verdict for run in runs)
    return Totals(
        targets=len({run.name for run in runs}),
        runs=len(runs),
        verdicts={name: verdicts[name] for name in _ORDER if verdicts[name]},
        bugs=len(found),
        findings=sum(bug.symptoms for bug in found),
        seconds=sum(run.seconds or 0.0 for run in runs),
        interrupted=sum(run.interrupted for run in runs),
    )


def counted(found: Sequence[Bug]) -> str:
    """ "3 bugs, 7 symptoms" """
    return f"{fmt.plural(len(found), 'bug')}, {fmt.plural(sum(bug.symptoms for bug in found), 'symptom')}"


def symptom_words(finding: FindingRecord) -> str:
    """One line for a symptom that is not told of by itself: what is wrong, and with which operation."""
    operation = f" ({'during' if finding.operation.in_flight else 'after'} {finding.operation})"
    return f"{finding.invariant}: {finding.message or finding.query}" + (operation if str(finding.operation) else "")
