"""The matrix, what all runs have in common, and the audit beside a verdict."""

from copy import deepcopy
from typing import Any

import pytest

from powercut_reports import html, overview
from powercut_reports.audit import NONE, parse_audits
from powercut_reports.overview import RunView
from reports.tests.typed import run_of, runs_of

Raw = dict[str, Any]


def views(runs: list[Raw], audit: Raw | None = None) -> tuple[RunView, ...]:
    audits = parse_audits(audit)
    return tuple(html.run_view(index, run_of(run), audits) for index, run in enumerate(runs))


def run(target: str, scenario: str, **more: Any) -> Raw:
    return {"target": target, "variant": "published", "scenario": scenario, "model": "adr", **more}


def test_scenarios_of_most_rows_are_columns_and_the_others_stand_at_the_end() -> None:
    runs = [
        run("level", "level_insert"), run("level", "level_expand"), run("level", "ycsb"),
        run("bch", "bch_insert"), run("bch", "bch_stash"),
        run("cceh", "cceh_insert"), run("cceh", "ycsb", model="eadr"),
    ]  # fmt: skip
    matrix = overview.matrix(views(runs))
    assert matrix.columns == ("insert", "ycsb"), "names meet without their target's prefix"
    rows = [(row.target, row.model, row.runs, [len(cell) for cell in row.cells], [view.scenario for view in row.own])
            for group in matrix.groups for row in group.rows]  # fmt: skip
    assert rows == [
        ("level", "adr", 3, [1, 1], ["expand"]), ("bch", "adr", 2, [1, 0], ["stash"]),
        ("cceh", "adr", 1, [1, 0], []), ("cceh", "eadr", 1, [0, 1], []),
    ]  # fmt: skip


def test_fourteen_schemes_by_thirty_scenarios_is_one_grid() -> None:
    runs = [run(f"s{n:02}", f"scenario_{m:02}") for n in range(14) for m in range(30)]
    matrix = overview.matrix(views(runs))
    assert len(matrix.columns) == 30 and not matrix.any_own and not matrix.labelled
    assert [len(group.rows) for group in matrix.groups] == [1] * 14


def test_what_all_runs_assume_stands_once(sample_runs: list[Raw]) -> None:
    runs = deepcopy(sample_runs)
    for item in runs:
        item["assumptions"] = ["model adr", "sequential"]
    runs[0]["assumptions"].append("assumes ascending")
    seen = views(runs)
    assert overview.common(seen, parse_audits(None)).assumptions == ("model adr", "sequential")
    page = html.render(runs_of(runs), title="x")
    assert page.count("assumes ascending") == 2, "beside the run's verdict, and in its details"
    assert overview.common(seen[:1], parse_audits(None)).assumptions == (), "one run has nothing in common with itself"


AUDIT: Raw = {
    "target": "level", "variant": "published", "scenario": "insert", "model": "adr", "atoms": "any", "seed": 1,
    "images": 40, "answers": 800, "differences": 0, "crash_states": "975",
}  # fmt: skip
AUDITED = run("level", "insert", seed=1, crash_states="975", not_checked={"atoms": "any"})


@pytest.mark.parametrize(
    ("audit", "judged", "state", "words"),
    [
        (AUDIT, AUDITED, "agreed", "40 images drawn at random and run plain, 800 answers compared: no difference."),
        ({**AUDIT, "differences": 2}, AUDITED, "differed", "2 differences. Do not rely on this verdict."),
        (AUDIT, {**AUDITED, "crash_states": "976"}, "stale", "of another trace"),
        (AUDIT, {**AUDITED, "seed": 2}, "none", "This run was not audited."),
        (None, AUDITED, "none", NONE),
    ],
)
def test_the_audit_stands_beside_the_verdict(audit: Raw | None, judged: Raw, state: str, words: str) -> None:
    (view,) = views([judged], {"audits": [audit]} if audit else None)
    assert view.audit.state == state and words in view.audit.sentence
    companions = html.Companions(audit={"audits": [audit]} if audit else None)
    page = html.render(runs_of([judged]), title="x", companions=companions)
    assert f'<span class="audit {state}"><b>Audit</b> ' in page
    assert (NONE.replace("'", "&#39;") in page) == (audit is None)


def test_only_choices_that_there_are_can_be_made(sample_runs: list[Raw]) -> None:
    choices = {choice.name: choice.values for choice in overview.filters(views(sample_runs))}
    assert choices["variant"] == ("hardened", "published") and choices["coverage"] == ("complete", "sampled")
    assert "scheme" not in choices and "model" not in choices
