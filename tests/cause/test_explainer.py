"""Which findings of many runs are explained, and that the choice does not depend on work ahead of a run's turn."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from powercut import minimise
from powercut.base import paths
from powercut.base.output_files import write_json
from powercut.cause import explain
from powercut.cause.explain import Explainer, Explanation
from powercut.cli.commands.judge import explainer_of
from powercut.engine.options import ExploreOptions
from powercut.runs import runner
from powercut.runs.run_request import Context, Request
from powercut_records.base import changed
from powercut_records.finding import BugKeys, Cause, FindingRecord
from powercut_records.run import RunRecord

CAUSE = Cause(kind="order", sentence="Missing order: B before A.")


class Explaining:
    """In the place of the real thing: notes what is asked for, and finds the same cause for all."""

    def __init__(self, *, together: int = 1) -> None:
        self.asked: list[str] = []
        self.limits: list[minimise.Limits] = []
        self._together = threading.Barrier(together, timeout=20)

    def __call__(self, record: FindingRecord, *, context: Context, limits: minimise.Limits) -> Explanation:
        self.asked.append(record.fingerprint)
        self.limits.append(limits)
        self._together.wait()
        return Explanation(cause=changed(CAUSE, explanation=f"of {record.fingerprint}"))


@pytest.fixture(name="context")
def _context(tmp_path: Path, real_engine: None, monkeypatch: pytest.MonkeyPatch) -> object:
    # Only the explained finding of a group is like itself: the check fails for those named "other…".
    def shared(finding: FindingRecord, other: FindingRecord, *, engine_path: Path) -> Cause | None:
        return None if finding.fingerprint.startswith("other") else other.cause

    monkeypatch.setattr(explain, "shared", shared)
    monkeypatch.setattr(explain, "bug_keys", lambda finding: finding.bug)
    with runner.open_context(paths.engine(), tmp_path) as context:
        yield context


def runs(context: Context, told: Sequence[Sequence[str]]) -> list[RunRecord]:
    """A run for each list; a finding is FINGERPRINT@GROUP, of one variant."""
    made = []
    for number, findings in enumerate(told):
        records = []
        for each in findings:
            name, _, group = each.partition("@")
            file = context.out / "findings" / f"{number}-{name}.json"
            record = FindingRecord(
                fingerprint=name, target="t", variant="v", model="adr", file=str(file), bug=BugKeys(store=group)
            )
            write_json(file, record.as_json())
            records.append(record)
        made.append(RunRecord(target="t", variant="v", findings=records, file=str(context.out / f"{number}.json")))
    return made


TOLD = (
    ["a@1", "b@2"],
    ["c@1", "other-d@2"],
    ["a@1"],
    ["other-e@1", "f@3"],
    ["g@4"],
    ["h@5"],
)


@pytest.mark.parametrize("most_of_variant", [None, 3, 4])
@pytest.mark.parametrize("at_once", [1, 2, len(TOLD)])
def test_what_is_begun_ahead_changes_nothing(
    most_of_variant: int | None, at_once: int, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outcome(at_once: int) -> list[list[str]]:
        monkeypatch.setattr(explain, "explained", Explaining())
        made = runs(context, TOLD)
        with Explainer(context=context, most=3, most_of_variant=most_of_variant, jobs=2) as explainer:
            for number, run in enumerate(made):
                if at_once and number % at_once == 0:
                    explainer.ahead(made[number : number + at_once])
                explainer.run(run)
        return [[finding.cause.explanation if finding.cause else "" for finding in run.findings] for run in made]

    plain = outcome(0)
    assert plain[0] == ["of a", "of b"] and plain[1][0] == "of a" and plain[2] == ["of a"]
    assert outcome(at_once) == plain


def test_findings_of_several_runs_are_explained_at_the_same_time(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    explaining = Explaining(together=2)  # each waits for the other
    monkeypatch.setattr(explain, "explained", explaining)
    made = runs(context, (["a@1"], ["b@2"]))
    with Explainer(context=context, most=1, jobs=2) as explainer:
        explainer.ahead(made)
        for run in made:
            explainer.run(run)
    assert sorted(explaining.asked) == ["a", "b"]


def test_none_is_explained_twice_or_for_nothing(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    explaining = Explaining()
    monkeypatch.setattr(explain, "explained", explaining)
    made = runs(context, TOLD)
    with Explainer(context=context, most=3, jobs=2) as explainer:
        explainer.ahead(made)
        for run in made:
            explainer.run(run)
    assert sorted(explaining.asked) == ["a", "b", "f", "g", "h", "other-d", "other-e"]


@pytest.mark.parametrize(("explored", "asked"), [(59.0, ["a"]), (59.9, []), (3600.0, [])])
def test_what_exploring_leaves_of_a_budget_is_for_explaining(
    explored: float, asked: list[str], context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    explaining = Explaining()
    monkeypatch.setattr(explain, "explained", explaining)
    (run,) = runs(context, (["a@1"],))
    run.seconds = explored
    with Explainer(context=context, most=3, jobs=2, budget=60.0) as explainer:
        explainer.ahead([run])
        explainer.run(run)
    assert explaining.asked == asked
    assert all(limits.seconds is not None and 0.5 <= limits.seconds <= 1 for limits in explaining.limits)
    if not asked:
        (finding,) = run.findings
        assert finding.cause is not None and finding.cause.explanation == explain.NO_TIME


def test_without_explanations_none_is_begun(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    explaining = Explaining()
    monkeypatch.setattr(explain, "explained", explaining)
    with Explainer(context=context, most=0, jobs=2) as explainer:
        explainer.ahead(runs(context, TOLD))
    assert explaining.asked == []


@pytest.mark.parametrize(
    ("variants", "explain_", "most", "of_variant"),
    [
        (1, None, 3, 4),
        (8, None, 3, 4),
        (9, None, 1, 1),  # `powercut run --all`: one finding of each variant, and the rest on demand
        (9, 5, 5, None),
        (9, 0, 0, None),
    ],
)
def test_a_command_of_many_variants_explains_one_finding_of_each(
    context: Context, variants: int, explain_: int | None, most: int, of_variant: int | None
) -> None:
    requests = [
        Request(
            name=f"t{number % variants} s{number}",
            slug=None,
            options=ExploreOptions(),
            header={"target": f"t{number % variants}", "variant": "published", "scenario": f"s{number}"},
        )
        for number in range(3 * variants)
    ]
    with explainer_of(explain_, requests, context, 2) as made:
        assert (made.most, made.most_of_variant) == (most, of_variant)
    with explainer_of(None, requests, context, 2, bounded=False) as made:
        assert (made.most, made.most_of_variant) == (3, 4)
