"""Parts that a page shows at once, parts that it packs, and the words that it explains."""

import re
import runpy
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from powercut_reports import glossary, html, steps_view
from reports.tests.typed import finding_of, runs_of

Raw = dict[str, Any]
large_report = runpy.run_path(str(Path(__file__).parent / "large_report.py"))["runs"]
STEPS: Raw = {
    "all": 5,
    "steps": [
        {"number": 0, "part": "recovery", "kind": "load", "offset": 0, "size": 8, "bytes": "0100000000000000",
         "site": "a.c:1", "function": "ns::open(int)"},
        {"number": 1, "part": "recovery", "kind": "flush", "detail": "clwb", "offset": 64, "size": 64},
        {"number": 4, "part": "query", "kind": "store", "detail": "nt", "offset": 72, "size": 128, "bytes": "2a" * 64,
         "pending": True, "site": "a.c:2"},
    ],
}  # fmt: skip


def test_each_word_is_defined_by_the_page_of_words() -> None:
    page = (Path(html.__file__).resolve().parents[2] / "docs" / "words.md").read_text(encoding="utf-8")
    assert glossary.words() == glossary.parsed(page)
    for name in ("Crash state", "Flush", "Fence", "Leaf", "Functional bug", "Coverage"):
        assert f"**{name}**: " in page and glossary.words()[name.lower()]
    assert glossary.parsed("- **A**: one, see [b.md](b.md).\n  More. **B**: `two`.\n") == {
        "a": "One, see. More.",
        "b": "two.",
    }
    assert 'class="term"' not in glossary.term("no <word> of ours") and "&lt;word&gt;" in glossary.term("no <word>")


def test_a_page_explains_its_words(sample_runs: list[Raw]) -> None:
    page = html.render(runs_of(sample_runs), title="x")
    for word, name in (("Leaves", "leaf"), ("Crash states", "crash state"), ("Symptoms", "symptom")):
        definition = str(glossary.term(word, name))
        assert definition in page and 'title="' in definition


def test_a_large_page_has_its_bugs_and_little_else_at_once() -> None:
    page = html.render(runs_of(large_report(45)), title="x")
    shown = re.sub(r"<(noscript|script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    assert page.count('<p class="story">') == 45, "a reader without scripts has all of it"
    assert shown.count('<p class="story">') == 0 and shown.count('<tr id="bug-') == 45
    assert len(re.findall(r"<[a-z]", shown)) < 900


def test_a_functional_bug_is_told_first_and_without_a_power_cut(sample_runs: list[Raw]) -> None:
    run = deepcopy(next(run for run in sample_runs if len(run["findings"]) > 1))
    run["findings"][1] |= {"needs_power_cut": False, "fingerprint": "0f0f0f0f0f0f", "message": "Key 1 is gone."}
    run["functional"] = True
    page = html.render(runs_of([run]), title="x")
    lead = page[page.index('class="lead"') : page.index('id="bugs-title"')]
    assert "an answer is wrong without any power cut" in lead and "A power cut can lose" in lead
    first, second = re.findall(r'<tr id="bug-.*?</tr>', page)
    assert "No power cut needed." in first and "No power cut needed." not in second
    only = html.render(runs_of([{**run, "findings": run["findings"][1:2]}]), title="x")
    assert "power cut can lose" not in only and "a power cut loses or corrupts data" not in only


def test_the_steps_of_recovery_have_words_values_and_source(explained: Raw) -> None:
    decisive = {"event": 1, "offset": 64, "size": 8, "fate": "lost", "decisive": True}
    finding = finding_of({**explained, "steps": STEPS, "stores": [decisive], "sources": {"a.c": {"1": "x = y;"}}})
    view = steps_view.steps_view(finding)
    assert view is not None and view.all == 5
    first, flush, last = view.steps
    assert (first.sentence, first.value) == ("Recovery loads 8 bytes at 0x0", "01 00 00 00 00 00 00 00 (1)")
    assert first.function == "ns::open" and view.sources[first.source].lines[0].text == "x = y;" and first.fate == ""
    assert flush.sentence == "Recovery flushes the line at 0x40 (clwb)" and flush.fate == "lost"
    assert last.sentence.endswith("stores without the cache 128 bytes at 0x48") and last.value.endswith("2a …")
    assert last.left_out_before == 2 and view.start == 1
    page = html.render(runs_of([{"findings": [{**explained, "steps": STEPS}]}]), title="x")
    assert "2 steps later: " in page and "2 steps of 5 left out" in re.sub(r"\s+", " ", page).replace("Steps", "steps")
    assert steps_view.steps_view(finding_of({**explained, "steps": None})) is None


@pytest.mark.parametrize("raw", ["2", "zz", "zzzz"])
def test_bytes_that_are_none_cost_no_report(explained: Raw, raw: str) -> None:
    steps = {"all": 1, "steps": [{"number": 0, "kind": "load", "size": 1, "bytes": raw}]}
    assert "Recovery on this image" in html.render(runs_of([{"findings": [{**explained, "steps": steps}]}]), title="x")
