"""The object that `powercut run --json` prints: what a gate or a script reads.

    {"runs": [{target, variant, scenario, model, strategy, seed, events, crash_points, crash_states,
               executions, leaves, verdict, coverage: {kind, covered, total, nested_complete, reason, acknowledged?},
               assumptions, not_checked, seconds,
               findings: [{fingerprint, invariant, operation, query, store_site, lost_site, message, file}],
               performance_bugs: [{kind, count, of, site, offset, first_event, message}],
               claims: [{claim, cites, place, holds, measured, operation, site, note}]}],
     "bugs": [{id, target, variant, invariants, site, symptoms, findings: [fingerprint], file, cause}],
     "total": {targets, runs, verdicts: {verdict: count}, bugs, findings}}

`total` counts a finding once, as all that powercut prints does; under `runs` it stands in each run that shows it.

A finding that needs no power cut has `needs_power_cut`, false; a run that ended at one has `functional`, true.
A finding that was explained has `cause`: {kind, first, second, sentence, fix, fix_site, held}; the places as text
"file:line". Another one has `explain`: the command that looks for its cause.
The coverage of a run with threads has `schedules`, which are those of the run record (checker/RUN.md).
With a baseline each finding has `baseline`, "new" or "known"; one that a suppression names has `suppressed`:
{reason, expires, expired, rule}. The CLI adds what concerns all runs together (checker/RUN.md).

A run of program mode also has `program`: {command, recover, check, dump, tracer, pools}, the commands as lists of
words.

A run of a command with --since has `since` (whether it is from the cache). A run with a budget in seconds has `smoke`
(what was looked at first); checker/RUN.md has both.

`crash_states`, `covered` and `total` are decimal strings: they outgrow 64 bits. `operation` and `query`
are text such as "update(17)" and "lookup(17)"; the whole finding is in `file`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from powercut_records.files import FilesFinding
from powercut_records.finding import Cause, FindingRecord
from powercut_records.run import PerformanceBug, RunRecord
from powercut_reports import story
from powercut_reports.bugs import Bug, bugs, totals
from powercut_reports.story import summary_site

_COPIED = ("target", "variant", "scenario", "model", "strategy", "seed", "events", "crash_points")
_PROGRAM = ("command", "recover", "check", "dump", "probes", "ack", "tracer", "began", "pools")
_COUNTED = ("crash_states", "executions", "leaves")
_COVERAGE = ("kind", "covered", "total", "nested_complete", "reason")


def runs_object(runs: Sequence[RunRecord]) -> dict[str, Any]:
    """The object for `runs`, in their order. The values are JSON's own types; nothing of `runs` is shared."""
    found = bugs(finding for run in runs for finding in run.findings)
    total = totals(runs)
    return {
        "runs": [_run(run) for run in runs],
        "bugs": [_bug(bug) for bug in found],
        "total": {name: getattr(total, name) for name in ("targets", "runs", "verdicts", "bugs", "findings")},
    }


def _bug(bug: Bug) -> dict[str, Any]:
    """One bug and the findings that show the bug; read the first finding."""
    told = bug.told
    return {
        "id": bug.id,
        "target": told.target,
        "variant": told.variant,
        "invariants": sorted({finding.invariant for finding in bug.findings}),
        "site": summary_site(told) or None,
        "symptoms": bug.symptoms,
        "findings": list(dict.fromkeys(finding.fingerprint for finding in bug.findings)),
        "file": told.file or None,
        **({"cause": _cause(told.cause)} if told.cause else {}),
    }


def _run(run: RunRecord) -> dict[str, Any]:
    raw = run.as_json()
    coverage = raw.get("coverage") or {}
    return {
        **{name: raw.get(name) for name in _COPIED},
        **({"program": {name: program.get(name) for name in _PROGRAM}} if (program := raw.get("program")) else {}),
        **{name: raw[name] for name in ("since", "smoke") if raw.get(name)},
        **{name: raw.get(name) for name in _COUNTED},
        "verdict": run.verdict,
        **({"functional": True} if run.functional else {}),
        "coverage": {
            **{name: coverage.get(name) for name in _COVERAGE},
            **({"acknowledged": run.coverage.acknowledged} if run.coverage.acknowledged is not None else {}),
            **{name: part for name in ("schedules", "operations") if (part := coverage.get(name))},
        },
        **({"profiles": [row.as_json() for row in run.profiles]} if run.profiles else {}),
        "assumptions": run.assumptions,
        "not_checked": raw.get("not_checked") or {},
        "seconds": run.seconds,
        "findings": [_finding(finding) for finding in run.findings],
        "performance_bugs": [_performance_bug(row) for row in run.performance_bugs],
        "claims": [{**row.as_json(), "note": row.note or None} for row in run.claims],
    }


def _finding(finding: FindingRecord) -> dict[str, Any]:
    return {
        "fingerprint": finding.fingerprint,
        "invariant": finding.invariant,
        "operation": str(finding.operation),
        "query": str(finding.query),
        "store_site": finding.store_site or summary_site(finding) or None,
        "lost_site": finding.lost_site or None,
        "message": finding.message,
        **({} if finding.needs_power_cut else {"needs_power_cut": False}),
        "file": finding.file or None,
        **({"files": _folder(finding.files)} if finding.files else {}),
        **({"cause": _cause(finding.cause)} if finding.cause else {"explain": story.explain_command(finding)}),
        **({"baseline": finding.baseline} if finding.baseline else {}),
        **({"known_as": finding.known_as} if finding.known_as else {}),
        **({"suppressed": finding.suppressed.as_json()} if finding.suppressed else {}),
    }


def _folder(files: FilesFinding) -> dict[str, Any]:
    """The file systems of a folder's finding, and its calls; the finding's file has the trees."""
    return {
        "profiles": files.under,
        "side": files.side,
        "call": files.call,
        "calls": [call.as_json() for call in files.calls],
        "sentence": files.sentence,
        **({"inner": files.inner.as_json()} if files.inner else {}),
    }


def _cause(cause: Cause) -> dict[str, Any]:
    """In short; the finding's file has all of it. `held`: null where no fix was tried."""
    return {
        "kind": cause.kind,
        "first": cause.first.site or None if cause.first else None,
        "second": cause.second.site or None if cause.second else None,
        "sentence": cause.sentence,
        "fix": cause.fix.sentence if cause.fix else None,
        "fix_site": cause.fix.site or None if cause.fix else None,
        "held": cause.recheck.held if cause.recheck else None,
    }


def _performance_bug(row: PerformanceBug) -> dict[str, Any]:
    return {
        "kind": row.kind,
        "count": row.count,
        "of": row.of or None,
        "site": row.place or None,
        "offset": row.offset,
        "first_event": row.first_event,
        "message": row.message,
    }
