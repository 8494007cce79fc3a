"""Shared by the reports for a CI gate: places to point at, what a run means for the gate, and the text of each rule.

A gate is red for findings and for runs that were not covered. The rules of the exit codes tell both apart here
(`powercut.runs.runner.exit_code`; a test of `tests/cli` holds the two together).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from powercut_records.base import changed
from powercut_records.finding import FindingRecord
from powercut_records.run import PerformanceBug, RunRecord
from powercut_reports import story
from powercut_reports.format import printable
from powercut_reports.remedy import cause_sentences, recheck_words

#: Claims that fail are told like performance bugs, of this kind: they fail a gate only where --fail-on names it.
CLAIMS = "claims"
#: Results of a run, best first.
CLEAN, INCOMPLETE, FINDINGS = "clean", "incomplete", "findings"


@dataclass(frozen=True)
class Place:
    """A source file, relative to the project where it lies inside it, and a line; 0 where only the file is known."""

    file: str
    line: int


@dataclass(frozen=True)
class Rule:
    """An invariant or a kind of performance bug: a sentence for a list, and what to do about it."""

    id: str
    summary: str
    help: str
    performance: bool = False


@dataclass(frozen=True)
class Accepted:
    """A finding that the project's baseline knows or a suppression sets aside, and why."""

    finding: FindingRecord
    known: bool
    reason: str


@dataclass(frozen=True)
class Results:
    """Everything that one command has to say to a gate."""

    runs: tuple[RunRecord, ...]  # with the findings that count
    accepted: tuple[tuple[Accepted, ...], ...]  # beside `runs`: those that do not
    whole: tuple[RunRecord, ...]  # beside `runs`: as they are in their records
    fail_on: frozenset[str]  # kinds of performance bugs that count as findings
    errors: tuple[str, ...]  # of requests that came to no run


def results(runs: Sequence[RunRecord], *, fail_on: frozenset[str] = frozenset(), errors: Sequence[str] = ()) -> Results:
    judged = tuple(
        changed(
            run,
            findings=[finding for finding in run.findings if finding.counts],
            performance_bugs=run.performance_bugs + _failed_claims(run),
        )
        for run in runs
    )
    accepted = tuple(
        tuple(
            Accepted(finding, finding.baseline == "known", _reason(finding))
            for finding in run.findings
            if not finding.counts
        )
        for run in runs
    )
    return Results(judged, accepted, tuple(runs), fail_on, tuple(errors))


def _failed_claims(run: RunRecord) -> list[PerformanceBug]:
    """At the line that exceeded the claim, else where the claim is written down."""
    return [
        PerformanceBug(
            kind=CLAIMS,
            count=1,
            site=claim.site or claim.place,
            message=f"A claim fails: {story.claim_sentence(claim)}.",
        )
        for claim in run.claims
        if claim.holds is False
    ]


def _reason(finding: FindingRecord) -> str:
    """Why a finding does not count."""
    if finding.suppressed and finding.is_suppressed:
        return f"suppressed: {finding.suppressed.reason or 'no reason was given'}"
    if finding.files and not finding.files.fails:
        return f"it takes {' or '.join(finding.files.under)}, which --fail-on does not name"
    return "known to the baseline"


_ORDER = (
    "Flush the line of the store that was lost and fence, before the store that depends on it. In a folder: sync the "
    "file, or the folder that has its name."
)
_INVARIANTS = (
    Rule("lost-item", "An acknowledged item is gone after a power cut.", _ORDER),
    Rule("phantom-item", "An item is there after a power cut that must not be.", _ORDER),
    Rule("stale-value", "An older value of a key is back after a power cut.", _ORDER),
    Rule(
        "torn-value",
        "A value is there after a power cut that nobody wrote.",
        "Make the value durable before what makes it visible; more than 8 bytes never persist at once.",
    ),
    Rule(
        "lost-increment",
        "A counter has lost what was acknowledged, after a power cut.",
        "Make the new place durable before the old one is given up.",
    ),
    Rule(
        "double-count",
        "A counter has more after a power cut than was added to it.",
        "Let what was merged say so in the same write, so that merging it again changes nothing.",
    ),
    Rule(
        "duplicate-bound",
        "A key has more copies, or other ones, than the scheme allows.",
        "Let recovery find and drop the copies that an interrupted move leaves.",
    ),
    Rule(
        "structure",
        "The structure violates the scheme's own invariants after a power cut.",
        "Order the stores that belong together, or let recovery mend what a cut between them leaves.",
    ),
    Rule("leak", "Blocks are lost after a power cut.", "Let recovery free what an interrupted operation has taken."),
    Rule(
        "recovery-failed",
        "Recovery fails on an image that a power cut can leave.",
        "Recovery must work on every image that a power cut can leave; order the stores that it relies on.",
    ),
    Rule(
        "recovery-hang",
        "Recovery does not end on an image that a power cut can leave.",
        "Look for a lock or a counter that was stored as taken and stays so.",
    ),
    Rule(
        "unusable",
        "The structure cannot be used after recovery.",
        "Operations after recovery must work on every image that a power cut can leave.",
    ),
    Rule(
        "wild-store",
        "Recovery or a query stores outside all memory of its own.",
        "A pointer or an offset was read before what it points to was durable, or is not checked.",
    ),
    Rule(
        "unpersisted-read",
        "An operation has returned what a power cut takes away.",
        "Make the data durable before others can read them, or let the reader make them durable before it answers.",
    ),
    Rule(
        "not-a-prefix",
        "A power cut loses what came earlier, and keeps what came later.",
        "Make durable in the order in which operations happen, or open only what a whole epoch has left.",
    ),
    Rule(
        "not-linearizable",
        "No order of the operations of threads explains their answers.",
        "Look at what another thread changes between two reads of the operation; no power cut is needed.",
    ),
    Rule(
        "deadlock", "All threads wait for one another.", "Take locks in one order, and give each back on every way out."
    ),
    Rule("livelock", "Threads go on for ever and come to nothing.", "Let one of them win, or bound the retries."),
    Rule(
        "use-after-free",
        "A thread uses memory that another one has freed.",
        "Free it when nobody can hold a pointer to it any more, as by epochs.",
    ),
    Rule("double-free", "A block is freed twice.", "Let one thread own the block before it frees it."),
    Rule(
        "not-idempotent",
        "A second power cut, inside or after recovery, does damage.",
        "Recovery must make its own stores durable in an order from which it can begin again.",
    ),
)
_PERFORMANCE_BUGS = (
    Rule("redundant-flush", "A line is flushed that is clean.", "Drop the flush, where it is never needed.", True),
    Rule("redundant-fence", "A fence has no flush to wait for.", "Drop the fence, where it is never needed.", True),
    Rule(
        CLAIMS,
        "A claim of the scheme's paper fails.",
        "Correct what the operation does, or the claim (claims.toml) and its README.",
        True,
    ),
    Rule("never-persisted", "A store is never flushed.", "Flush and fence it, or keep it in volatile memory.", True),
)
RULES = (*_INVARIANTS, *_PERFORMANCE_BUGS)


def unknown_rule(name: str, *, performance: bool) -> Rule:
    """For a name of a newer engine."""
    return Rule(name, f"{name} is violated.", "See the message of the result.", performance)


def place(site: str) -> Place | None:
    """Splits "file:line"; None for a site that is only a function's name."""
    file, colon, line = site.rpartition(":")
    return Place(file, int(line)) if file and colon and line.isascii() and line.isdigit() and len(line) < 10 else None


def finding_place(finding: FindingRecord) -> Place | None:
    """The line to look at: of the store that was lost, else of one that persisted, else of where recovery died, else of
    the last store before the cut."""
    cause = finding.cause
    told = [side.site for side in (cause.first, cause.second) if side] if cause else []
    before = finding.last_store.site if finding.last_store else ""
    sites = (finding.lost_site, finding.store_site, story.summary_site(finding), before, *told)
    return next((found for site in sites if (found := place(site))), None)


def remedy(finding: FindingRecord) -> str:
    """Says which order is missing and how the fix did, in sentences; or that nobody has looked for the cause."""
    cause = finding.cause
    if cause is None:
        return printable(story.cause_search(finding))
    words = cause_sentences(cause)
    if cause.recheck and cause.recheck.held:
        words += f" Re-checked with the fix: {recheck_words(cause.recheck)}."
    return printable(words)


def letters(finding: FindingRecord) -> list[str]:
    """Says what A and B of the remedy are, a sentence each; empty where nobody looked for the cause."""
    cause = finding.cause
    sides = (("A", cause.second), ("B", cause.first)) if cause else ()
    told = []
    for letter, side in sides:
        if side and (what := side.source.strip() or side.text):
            told.append(printable(f"{letter} is {what}" + (f" at {side.site}" if side.site else "") + "."))
    return told


def counts(row: PerformanceBug, results: Results) -> bool:
    """True for performance bugs that --fail-on makes a finding."""
    return row.kind in results.fail_on


def outcome(run: RunRecord, results: Results) -> str:
    """CLEAN, INCOMPLETE or FINDINGS, as the exit code of the run."""
    if run.findings or any(counts(row, results) for row in run.performance_bugs):
        return FINDINGS
    if results.fail_on and (rows := run.deciding(results.fail_on)):
        whole = run.error is None and all(row.complete and row.verdict != "unknown" for row in rows)
        return CLEAN if whole else INCOMPLETE
    depth = run.coverage.nested_complete
    deep = depth is not False if depth is None or isinstance(depth, bool) else depth >= (run.nested or 0)
    judged = run.verdict != "unknown" and not run.error
    return CLEAN if judged and run.coverage.kind == "complete" and deep else INCOMPLETE


def verdict_words(run: RunRecord) -> str:
    """ "consistent, complete: all 96 crash states; …", and why powercut itself failed where it did."""
    words = f"{story.verdict_words(run)}, {story.coverage_sentence(run)}"
    return printable(words + (f". {run.error}" if run.error else ""))


def subject(run: RunRecord) -> str:
    """ "level:published update_full_bucket (adr)" """
    return printable(" ".join((run.name, run.scenario)) + (f" ({run.model})" if run.model else ""))
