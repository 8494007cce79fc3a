"""The sections for researchers: numbers of records as tables, and charts that belong to the page."""

import re
from typing import Any

import pytest

from powercut_reports import html
from powercut_reports.claims import claims_view
from powercut_reports.costs import costs_view
from powercut_reports.necessity import necessity_view
from powercut_reports.states import log10, states_view
from reports.tests.typed import run_of, runs_of

Raw = dict[str, Any]

NECESSITY: Raw = {
    "necessity": 2, "target": "level", "variant": "published", "model": "adr", "scenarios": ["insert"],
    "unedited": {"verdict": "consistent", "crash_states": "975", "executions": 91},
    "sites": [
        {"kind": "fence", "name": "sfence", "site": "a.cc:2", "function": "f", "source": "  fence();", "count": 9,
         "in_recovery": True, "result": "redundant", "why": "Nothing is pending there.", "finding": None},
        {"kind": "flush", "name": "clwb", "site": "a.cc:1", "function": "f", "source": "flush(<x>);", "count": 12,
         "in_recovery": False, "result": "necessary", "why": "Without it a key is lost.",
         "finding": {"invariant": "lost-item", "message": "gone", "scenario": "insert", "fingerprint": "0a1b"}},
        {"kind": "flush", "site": "a.cc:3", "result": "not shown by this workload"},
    ],
    "seconds": 2.5, "command": "powercut necessity level",
}  # fmt: skip


def cost(target: str, insert: float) -> Raw:
    return {
        "cost": 1, "target": target, "variant": "published", "scenario": "costs", "paper": "P",
        "command": "powercut cost",
        "latency": [{"name": "OSDI'18", "read_ns": 200, "write_ns": 600, "fence_ns": 0}],
        "operations": [{"kind": "insert", "count": 100, "stores": 3.125, "flushes": insert, "fences": 2,
                        "write_amplification": 8.5, "latency_ns": [600 * insert]},
                       {"kind": "lookup", "count": 100, "flushes": 0, "fences": 0, "latency_ns": [0.0]}],
    }  # fmt: skip


CLAIM: Raw = {"claim": "insert.fences <= 2", "cites": "§3.3", "place": "claims.toml:12", "holds": True, "measured": 2}


def test_the_logarithm_of_numbers_of_any_length() -> None:
    assert log10("1000") == pytest.approx(3) and log10("1" + "0" * 6000) == pytest.approx(6000)
    assert log10("0") is None and log10(None) is None and log10("many") is None


def test_a_claim_is_as_good_as_its_worst_run(sample_runs: list[Raw]) -> None:
    worse = {**CLAIM, "holds": False, "measured": 5, "operation": "insert(17)", "site": "level/insert.cc:9"}
    silent = {**CLAIM, "holds": None, "measured": None}
    published = [run for run in sample_runs if run["variant"] == "published"]
    for run, claim in zip(published, (CLAIM, worse, silent, CLAIM), strict=False):
        run["claims"] = [claim]
    sample_runs[0]["claims"] = [CLAIM]
    view = claims_view([run_of(run) for run in sample_runs])
    assert view is not None and (view.held, view.failed, view.silent) == (1, 1, 0)
    first = view.rows[0]
    assert (first.name, first.state, first.measured) == ("level:published", "fails", "2 to 5")
    assert (first.held, first.failed, first.silent) == (2, 1, 1)
    page = html.render(runs_of(sample_runs), title="x")
    assert "insert.fences &lt;= 2" in page and 'insert(17), <span class="site">level/insert.cc:9' in page
    assert claims_view([run_of({})]) is None


def test_necessity_names_what_proves_it() -> None:
    view = necessity_view([NECESSITY])
    assert view is not None and view.analyses[0].counts == (1, 1, 1)
    assert [site.result for site in view.analyses[0].sites] == ["necessary", "redundant", "not shown by this workload"]
    page = html.render(runs_of([]), title="x", companions=html.Companions(necessity=[NECESSITY]))
    for text in (
        "1 necessary, 1 redundant, 1 not shown",
        "flush(&lt;x&gt;);",
        "finding <code>0a1b</code>",
        "f, in recovery",
    ):
        assert text in page, text
    assert 'id="necessity"' not in html.render(runs_of([]), title="x")


def test_costs_are_compared_where_several_schemes_have_the_operation() -> None:
    alone, both = costs_view([cost("level", 2)]), costs_view([cost("level", 2), cost("bch", 4)])
    assert alone is not None and both is not None and alone.charts == ()
    titles = [chart.title for chart in both.charts]
    assert titles == ["insert: modelled time, OSDI'18", "insert: flushes and fences", "lookup: modelled time, OSDI'18"]
    assert both.rows[0].numbers[0] == "3.12" and both.rows[0].latencies == ("1,200",)
    odd = {**cost("x", 1), "latency": None, "operations": [{"kind": "insert", "latency_ns": "soon"}, 7]}
    assert costs_view([odd]) is not None


def test_the_state_space_needs_runs_with_numbers(sample_runs: list[Raw]) -> None:
    view = states_view([run_of(run) for run in sample_runs])
    assert view is not None and {row.name for row in view.rows} == {"level:hardened", "level:published"}
    assert states_view([run_of(run) for run in sample_runs[:3]]) is None


def test_charts_belong_to_the_page(sample_runs: list[Raw]) -> None:
    companions = html.Companions(necessity=[NECESSITY], costs=[cost("level", 2), cost("bch", 4)])
    page = html.render(runs_of(sample_runs), title="x", companions=companions)
    charts = re.findall(r'<svg class="plot".*?</svg>', page, re.DOTALL)
    assert len(charts) == 6
    for chart in charts:
        assert re.search(r'role="img" aria-labelledby="(\S+) (\S+)"', chart) and "<desc" in chart
        assert not re.search(r'style=|(?:fill|stroke)="(?:white|black|#[0-9a-f]+)"', chart), "colours are the theme's"
        assert set(re.findall(r"var\((--[\w-]+)\)", chart)) <= {
            "--ink", "--soft", "--rule", "--rule-strong", "--good", "--bad", "--warn", "--s1", "--s2", "--s3",
        }  # fmt: skip
    identifiers = re.findall(r'\sid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert page == html.render(runs_of(sample_runs), title="x", companions=companions), "same records, same bytes"


def test_nothing_is_drawn_for_nothing(monkeypatch: pytest.MonkeyPatch, sample_runs: list[Raw]) -> None:
    monkeypatch.setitem(__import__("sys").modules, "altair", None)  # importing it would now fail
    assert "plot" not in re.sub(
        r"<style>.*?</style>", "", html.render(runs_of(sample_runs[:2]), title="x"), flags=re.DOTALL
    )
