"""Run records as tables: verdicts, bugs, findings, performance bugs, claims."""

from __future__ import annotations

from collections.abc import Sequence

from powercut_records.finding import FindingRecord
from powercut_records.run import PerformanceBug, RunRecord
from powercut_reports import story
from powercut_reports.bugs import Bug, bugs
from powercut_reports.claims import ClaimRow, claims_view
from powercut_reports.remedy import cause_sentences
from powercut_reports.tables.table import Column, Table, table


def tables(runs: Sequence[RunRecord]) -> list[Table]:
    """All of them, also those without a row: one that an earlier command left must not stay for true."""
    return [verdicts(runs), bug_table(runs), findings(runs), performance_bugs(runs), claims(runs)]


_VERDICTS: tuple[Column[RunRecord], ...] = (
    Column(name="target", of=lambda run: run.target, kind="code"),
    Column(name="variant", of=lambda run: run.variant, kind="code"),
    Column(title="Target", of=lambda run: run.name, kind="code", width=0.14),
    Column(name="scenario", title="Scenario", of=lambda run: run.scenario, kind="code", width=0.17),
    Column(name="model", title="Model", of=lambda run: run.model, kind="code"),
    Column(name="atoms", of=lambda run: run.atoms, kind="code"),
    Column(name="strategy", of=lambda run: run.strategy, kind="code"),
    Column(name="nested", of=lambda run: run.nested, kind="number"),
    Column(name="seed", of=lambda run: run.seed, kind="number"),
    Column(name="verdict", title="Verdict", of=lambda run: run.verdict),
    Column(name="coverage", title="Coverage", of=lambda run: run.coverage.kind),
    Column(name="reason", of=lambda run: run.coverage.reason),
    Column(name="events", of=lambda run: run.events, kind="number"),
    Column(name="crash_points", title="Points", of=lambda run: run.crash_points, kind="number"),
    Column(name="crash_states", title="States", of=lambda run: run.crash_states, kind="count"),
    Column(name="covered", of=lambda run: run.coverage.covered, kind="count"),
    Column(name="executions", title="Executions", of=lambda run: run.executions, kind="number"),
    Column(name="bugs", title="Bugs", of=lambda run: len(bugs(run.findings)), kind="number"),
    Column(name="findings", of=lambda run: len(run.findings), kind="number"),
    Column(name="seconds", of=lambda run: run.seconds, kind="number"),
    Column(name="error", of=lambda run: str(run.error or "")),
    Column(name="command", of=lambda run: run.command, kind="code"),
)


def verdicts(runs: Sequence[RunRecord]) -> Table:
    """A row a run."""
    return table(
        "verdicts",
        "Verdicts: a run each, its crash points and crash states, and the executions that covered them",
        _VERDICTS,
        runs,
    )


_BUGS: tuple[Column[Bug], ...] = (
    Column(name="fingerprint", title="Finding", of=lambda bug: bug.told.fingerprint, kind="code"),
    Column(name="target", of=lambda bug: bug.told.target, kind="code"),
    Column(name="variant", of=lambda bug: bug.told.variant, kind="code"),
    Column(title="Target", of=lambda bug: bug.told.subject, kind="code", width=0.14),
    Column(name="invariant", title="Invariant", of=lambda bug: bug.told.invariant, width=0.12),
    Column(name="headline", title="What is wrong", of=lambda bug: story.headline(bug.told), width=0.26),
    Column(name="site", title="Place", of=lambda bug: story.summary_site(bug.told), kind="code", width=0.19),
    Column(name="cause", of=lambda bug: cause_sentences(bug.told.cause) if bug.told.cause else ""),
    Column(name="needs_power_cut", of=lambda bug: bug.told.needs_power_cut, kind="truth"),
    Column(name="symptoms", title="Symptoms", of=lambda bug: bug.symptoms, kind="number"),
    Column(name="scenarios", of=lambda bug: " ".join(dict.fromkeys(one.scenario for one in bug.findings))),
    Column(name="reproduce", of=lambda bug: bug.told.reproduce, kind="code"),
    Column(name="anchor", of=lambda bug: story.anchor(bug.told), kind="code"),
)


def bug_table(runs: Sequence[RunRecord]) -> Table:
    """A row a bug, told of by the finding that the reports tell of it by."""
    found = bugs(finding for run in runs for finding in run.findings)
    return table("bugs", "Bugs, each with the finding that shows it", _BUGS, found)


_FINDINGS: tuple[Column[tuple[Bug, FindingRecord]], ...] = (
    Column(name="fingerprint", title="Finding", of=lambda row: row[1].fingerprint, kind="code"),
    Column(name="bug", of=lambda row: row[0].told.fingerprint, kind="code"),
    Column(name="target", of=lambda row: row[1].target, kind="code"),
    Column(name="variant", of=lambda row: row[1].variant, kind="code"),
    Column(title="Target", of=lambda row: row[1].subject, kind="code", width=0.14),
    Column(name="scenario", title="Scenario", of=lambda row: row[1].scenario, kind="code", width=0.15),
    Column(name="model", of=lambda row: row[1].model, kind="code"),
    Column(name="invariant", title="Invariant", of=lambda row: row[1].invariant, width=0.12),
    Column(name="headline", title="What is wrong", of=lambda row: story.headline(row[1]), width=0.24),
    Column(name="site", title="Place", of=lambda row: story.summary_site(row[1]), kind="code", width=0.17),
    Column(name="operation", of=lambda row: str(row[1].operation), kind="code"),
    Column(name="in_flight", of=lambda row: row[1].operation.in_flight, kind="truth"),
    Column(name="crash_point", of=lambda row: row[1].crash_point.index, kind="number"),
    Column(name="event", of=lambda row: row[1].crash_point.event, kind="number"),
    Column(name="needs_power_cut", of=lambda row: row[1].needs_power_cut, kind="truth"),
    Column(name="standing", of=lambda row: story.standing(row[1])),
    Column(name="reproduce", of=lambda row: row[1].reproduce, kind="code"),
    Column(name="anchor", of=lambda row: story.anchor(row[1]), kind="code"),
)


def findings(runs: Sequence[RunRecord]) -> Table:
    """A row a finding of a run; `bug` is the finding that its bug is told of by."""
    rows = [(bug, one) for bug in bugs(one for run in runs for one in run.findings) for one in bug.findings]
    return table("findings", "Findings, by bug", _FINDINGS, rows)


_PERFORMANCE: tuple[Column[tuple[RunRecord, PerformanceBug]], ...] = (
    Column(name="target", of=lambda row: row[0].target, kind="code"),
    Column(name="variant", of=lambda row: row[0].variant, kind="code"),
    Column(title="Target", of=lambda row: row[0].name, kind="code", width=0.16),
    Column(name="scenario", title="Scenario", of=lambda row: row[0].scenario, kind="code", width=0.2),
    Column(name="model", of=lambda row: row[0].model, kind="code"),
    Column(name="kind", title="Kind", of=lambda row: row[1].kind),
    Column(name="site", title="Place", of=lambda row: row[1].place, kind="code", width=0.24),
    Column(name="function", of=lambda row: row[1].function, kind="code"),
    Column(name="times", title="Times", of=lambda row: max(row[1].count, 1), kind="number"),
    Column(name="of", title="Of", of=lambda row: row[1].of or None, kind="number"),
    Column(name="message", of=lambda row: row[1].message),
)


def performance_bugs(runs: Sequence[RunRecord]) -> Table:
    """A row a place of a run."""
    rows = [(run, bug) for run in runs for bug in run.performance_bugs]
    return table("performance-bugs", "Performance bugs: flushes, fences and stores that do nothing", _PERFORMANCE, rows)


_CLAIMS: tuple[Column[ClaimRow], ...] = (
    Column(name="target", of=lambda row: row.name.partition(":")[0], kind="code"),
    Column(name="variant", of=lambda row: row.name.partition(":")[2], kind="code"),
    Column(title="Target", of=lambda row: row.name, kind="code", width=0.12),
    Column(name="claim", title="Claim", of=lambda row: row.claim, kind="code", width=0.21),
    Column(name="cites", title="Source", of=lambda row: row.cites, width=0.24),
    Column(name="state", title="Result", of=lambda row: row.state),
    Column(name="measured", title="Measured", of=lambda row: "" if row.measured == "–" else row.measured, width=0.09),
    Column(name="held", title="Held", of=lambda row: row.held, kind="number"),
    Column(name="failed", title="Failed", of=lambda row: row.failed, kind="number"),
    Column(name="not_measured", of=lambda row: row.silent, kind="number"),
    Column(
        name="failed_in",
        of=lambda row: "; ".join(f"{name}: {claim.operation} {claim.site}".rstrip() for name, claim in row.worst),
    ),
    Column(name="written_in", of=lambda row: row.place, kind="code"),
)


def claims(runs: Sequence[RunRecord]) -> Table:
    """A row a claim of a variant, over all its runs: `held` and `failed` count runs."""
    view = claims_view(runs)
    return table("claims", "Claims of the paper, and in how many runs they held", _CLAIMS, view.rows if view else ())
