"""The bug corpus: every known bug must be found, its fixed twin and every known-good pattern must be clean.

This is how powercut itself is tested: a bug that is not found means a checker that misses bugs, a twin
that is not clean means a checker that cries wolf.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from powercut import minimise
from powercut.base.errors import UsageError, unknown_name
from powercut.base.exit_codes import ExitCode
from powercut.base.output_files import write_json
from powercut.cause.explain import explained
from powercut.engine.options import ExploreOptions
from powercut.findings import run_records
from powercut.runs import batch, requests, runner
from powercut.runs.outcome import Outcome
from powercut.runs.run_request import Context, Request
from powercut.scenarios import catalog, targets
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import KnownBug
from powercut.symbols import source
from powercut_records.base import changed
from powercut_records.finding import Cause, FindingRecord, Place
from powercut_records.places import Frame, Placed
from powercut_records.run import PerformanceBug, RunRecord

Role = Literal["bug", "twin", "good"]

#: Limits of the search for a smaller case: no clock ends it, so every run of the corpus gives the same result.
LIMITS = minimise.Limits(considered=300)


@dataclass(frozen=True, kw_only=True)
class Case:
    """One run of the bug corpus and what is expected of it."""

    role: Role
    scenario: Scenario
    request: Request


@dataclass(kw_only=True)
class Verdict:
    """The result of the bug corpus."""

    bugs: list[dict[str, Any]] = field(default_factory=list)
    known_good: list[dict[str, Any]] = field(default_factory=list)
    outcome: Outcome

    def as_json(self) -> dict[str, Any]:
        """The object that `powercut known-bugs --json` prints."""
        return {"bugs": self.bugs, "known_good": self.known_good}

    def exit_code(self) -> ExitCode:
        """CLEAN when the whole bug corpus is as expected and every run was complete."""
        if any(error.exit_code is ExitCode.USAGE for error in self.outcome.errors):
            return ExitCode.USAGE
        expected = all(bug["found"] and bug["site_shown"] and bug["twin_clean"] for bug in self.bugs)
        expected &= all(item["cause_shown"] is not False for bug in self.bugs for item in bug.get("explained", ()))
        if self.outcome.interrupted or any(run.verdict == "unknown" for run in self.outcome.runs):
            return ExitCode.INCOMPLETE
        return ExitCode.CLEAN if expected and all(item["clean"] for item in self.known_good) else ExitCode.FINDINGS


def cases(scheme: str | None, *, options: ExploreOptions) -> list[Case]:
    """Every run of the bug corpus, or of the part that is about `scheme`.

    The self-tests (one target that violates each invariant in turn) run only when theirs is named.
    """
    self_tests = catalog.self_tests()
    bugs = [*catalog.known_bugs(), *(item for item in self_tests if item.scheme == scheme)]
    schemes = sorted({item.scheme for item in [*bugs, *self_tests]})
    if scheme is not None and scheme not in schemes:
        raise unknown_name("scheme", scheme, schemes, list_command="powercut list known-bugs")
    chosen: list[Case] = []
    for item in bugs:
        if scheme in (None, item.scheme):
            selection = _selection(item.scheme, item.bug.variant)
            chosen.append(_case("bug", item, selection, options))
            chosen.append(_case("twin", item, selection, options))
    for item in catalog.known_good():
        for name in item.content.targets:
            if name in targets.libraries() and scheme in (None, name):
                target = targets.find(name)
                selection = targets.Selection(target=target, variant=target.default_variants[0])
                chosen.append(_case("good", item, selection, options))
    if not chosen:
        raise UsageError("the bug corpus is empty", where="scenarios/known_bugs", next_step="Add a scenario to it.")
    return chosen


def _selection(scheme: str, variant: str) -> targets.Selection:
    target = targets.find(scheme)
    return targets.Selection(target=target, variant=targets.check_variant(target, variant))


def _case(role: Role, item: Scenario, selection: targets.Selection, options: ExploreOptions) -> Case:
    request = requests.one(selection, item, options=options, with_bug=role == "bug")
    folder = item.scheme if item.content.known_bug else "known_good"
    label = runner.slug(folder, item.name, role)
    return Case(role=role, scenario=item, request=replace(request, slug=label, name=f"{request.name} ({role})"))


def run(
    chosen: Sequence[Case],
    context: Context,
    *,
    jobs: int,
    on_run: Callable[[RunRecord], None] = lambda run: None,
    explain: bool = False,
) -> Verdict:
    """Carries out the cases and compares each with what is expected; with `explain`, causes as well."""
    outcome = batch.run_all([case.request for case in chosen], context, jobs=jobs, on_run=on_run)
    verdict = Verdict(outcome=outcome)
    if outcome.errors:
        return verdict  # Runs and cases no longer correspond; nothing may be called found or clean.
    rows: dict[str, dict[str, Any]] = {}
    for case, result in zip(chosen, outcome.runs, strict=True):
        if case.role == "good":
            verdict.known_good.append(
                {
                    "scenario": case.scenario.name,
                    "target": result.target,
                    "clean": clean(result),
                    "findings": invariants(result),
                }
            )
        else:
            _judge(rows, case, result)
    verdict.bugs = list(rows.values())
    if explain:
        _explain(chosen, rows, context, jobs=jobs)
    return verdict


def _explain(chosen: Sequence[Case], rows: dict[str, dict[str, Any]], context: Context, *, jobs: int) -> None:
    """Adds to each bug's row what its telling finding comes to: `operations`, `cause`, `cause_shown` and `fix_held`."""

    def one(case: Case) -> dict[str, Any] | None:
        bug = case.scenario.bug
        folder = context.out / "findings"
        run = run_records.load(context.out / "runs" / f"{case.request.slug}-{case.request.options.model}.json")
        found = telling(bug, run.findings)
        if found is None:
            return None  # A performance bug alone.
        record = changed(found, plan=case.request.plan)
        told = explained(record, context=context, limits=LIMITS)
        write_json(folder / f"{record.fingerprint}.json", changed(record, **told.fields()).as_json())
        cause, minimal = told.cause, told.minimal
        return {
            "operations": len(minimal.operations) if minimal else None,
            "cause": cause.kind if cause else None,
            "first": cause.first.site or None if cause and cause.first else None,
            "second": cause.second.site or cause.second.text if cause and cause.second else None,
            "cause_shown": shows_cause(bug, cause) if cause and bug.cause else None,
            "fix_held": cause.recheck.held if cause and cause.fix and cause.recheck else None,
        }

    bugs = [case for case in chosen if case.role == "bug"]
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for case, answer in zip(bugs, pool.map(one, bugs), strict=True):
            if answer is not None:
                rows[case.scenario.bug_id]["explained"] = [{"scenario": case.scenario.name, **answer}]


def telling(bug: KnownBug, found: Sequence[FindingRecord]) -> FindingRecord | None:
    """Returns the earliest finding of a bug that the corpus expects, and that shows the bug's line where one does.

    For a functional bug, findings that need no power cut come first.
    """
    functional = bug.cause is not None and bug.cause.kind == "functional"

    def place(record: FindingRecord) -> tuple[bool, int, int, str]:
        cut = record.crash_point
        return functional and record.needs_power_cut, cut.depth, cut.index or 0, record.fingerprint

    expected = [item for item in found if set(bug.expected) & {item.invariant, item.underlying}]
    shown = [item for item in expected if shows_site(bug, [item])]
    return min(shown or expected, key=place, default=None)


def shows_cause(bug: KnownBug, cause: Cause) -> bool:
    """Whether a root cause is of the kind, and names the two lines, that the bug corpus expects."""
    wanted = bug.cause
    if wanted is None:
        return True
    if cause.kind != wanted.kind:
        return False
    places = [(cause.first, cause.second)]
    if wanted.kind == "atomicity":
        places.append((cause.second, cause.first))  # neither comes before the other
    return any(_leads_through(a, wanted.first) and _leads_through(b, wanted.second) for a, b in places)


def _leads_through(place: Place | None, line: str | None) -> bool:
    """Whether the calls of a place pass the line; "acknowledgement" is the end of an operation."""
    if line is None:
        return True
    if place is None:
        return False
    if line == "acknowledgement":
        return place.role == line
    return any(_is_line(frame, line) for frame in place.stack)


def _is_line(frame: Frame, line: str) -> bool:
    file, text = line.split(": ", 1)
    return frame.file.endswith(file) and text in source.line(frame.file, frame.line)


def _judge(rows: dict[str, dict[str, Any]], case: Case, result: RunRecord) -> None:
    """Adds one run to its bug's row."""
    item, expected = case.scenario, case.scenario.bug.expected
    row = rows.setdefault(
        item.bug_id,
        {
            "id": item.bug_id,
            "scheme": item.scheme,
            "expected": sorted(expected),
            "found": True,
            "site_shown": True,
            "twin_clean": True,
            "invariants": [],
            "scenarios": [item.name],
        },
    )
    # A performance bug is no violation by itself; it counts where the known bug is one.
    untidy = {item.kind for item in result.performance_bugs} & set(expected)
    if case.role == "twin":
        row["twin_clean"] = clean(result) and not untidy
        return
    seen = [*invariants(result), *sorted(untidy)]
    row["found"] = any(name in expected for name in seen)
    row["site_shown"] = shows_site(item.bug, [*result.findings, *result.performance_bugs])
    row["invariants"] = sorted(seen)


def shows_site(bug: KnownBug, records: Sequence[FindingRecord | PerformanceBug]) -> bool:
    """Whether a finding or performance bug of an expected kind shows the line of source that the bug names."""
    if bug.site is None:
        return True
    return any(
        _is_line(frame, bug.site)
        for record in records
        if set(bug.expected) & _kinds(record)
        for place in _places(record)
        for frame in place.stack
    )


def _kinds(record: FindingRecord | PerformanceBug) -> set[str]:
    return {record.kind} if isinstance(record, PerformanceBug) else {record.invariant, record.underlying}


def _places(record: FindingRecord | PerformanceBug) -> list[Placed]:
    """All that people see with a line of source.

    Stores that decide (where none does, those that recovery has read), faults, the last store before the cut, and how
    lines came to their state.
    """
    if isinstance(record, PerformanceBug):
        return [record]
    places: list[Placed] = [*(record.decisive or record.stores)]
    places += [store for nested in record.nested_image for store in nested.recovery_stores]
    places += [event for line in record.timeline.lines for event in line.events]
    return [*places, *(place for place in (record.fault, record.last_store) if place)]


def clean(run: RunRecord) -> bool:
    """Consistent, and complete: a twin that was only sampled shows nothing."""
    return run.verdict == "consistent" and runner.is_complete(run)


def invariants(run: RunRecord) -> list[str]:
    """The invariants that a run violated, and for a second cut those underneath, sorted."""
    names = {finding.invariant for finding in run.findings}
    return sorted(names | {finding.underlying for finding in run.findings if finding.underlying})
