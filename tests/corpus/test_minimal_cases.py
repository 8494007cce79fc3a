"""Every known bug comes to a few operations, or its row in scenarios/known_bugs/MINIMAL.md says why not."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.corpus import known_bugs as corpus
from powercut.corpus import minimal_cases
from powercut.corpus.known_bugs import shows_site
from powercut.corpus.minimal_cases import Row
from powercut.minimise import Limits
from powercut.minimise.case import Case, Phase
from powercut.minimise.examine import Examiner
from powercut.runs import runner
from tests.minimise.minimising import case, corpus_case, findings_of, phase, words
from tests.real_engine import explore, require_engine


def inserts(*keys: int) -> list[str]:
    return [f"insert {key}" for key in keys]


def small(*phases: Phase, **options: str) -> Case:
    """A case of 8-byte keys and values."""
    return replace(case(*phases, options=options), key_size=8, value_size=8)


#: The smaller cases that the page gives by hand.
BY_HAND = {
    "clevel/erase-first-copy": small(
        phase("insert 1", "update 1"),
        phase("update 1", name="cut", explore=False, cut_at="rehash.copied"),
        phase("erase 1", name="erase"),
        interleave="expand_in_search",
        slots="4",
    ),
    "clevel/insert-into-last": small(
        phase(*inserts(98, 874, 994, 1106, 1185, 1540, 2331, 2513, 3828)),
        first="16",
        interleave="expand_unpersisted",
        slots="4",
    ),
    "clevel/insert-not-redone": small(
        phase(*inserts(7, 18, 30, 44, 53), "maintain rehash"),
        auto_rehash="0",
        first="4",
        interleave="expand_in_insert",
        slots="4",
    ),
    "dash/displace-refill-at-once": small(phase(*inserts(4, 10, 12, 27, 32, 1, 33)), balance="off", slots="3"),
    "dash/duplicate-removal-not-flushed": small(
        phase(*inserts(4, 1)),
        phase("insert 10", name="cut", explore=False, cut_at="displace.copied"),
        phase("erase 1", name="erase"),
        slots="1",
    ),
    "level/b2t-token-first": small(phase(*inserts(30, 49, 52, 59, 119, 159, 182, 333, 440)), top="4"),
    "level/insert-after-move-token-first": small(phase(*inserts(16, 52, 154, 220, 317)), top="8"),
    "level/insert-bottom-token-first": small(phase(*inserts(220, 591, 1267, 1557, 1794)), top="16"),
    "level/move-token-first": small(phase(*inserts(23, 71, 89, 156, 169)), top="8"),
    "turbohash/item-log-outlives-shard": replace(
        case(phase("insert 3", "maintain expand"), options={"shards": "4"}), key_size=15
    ),
}


def known_bugs() -> list[str]:
    """The ids of the corpus, from its files."""
    files = (paths.scenario_dir() / "known_bugs").glob("*/*.toml")
    return sorted(f"{file.parent.name}/{file.stem}" for file in files)


def test_the_page_has_a_reason_for_every_long_case() -> None:
    entries = minimal_cases.entries()
    assert entries.keys() == set(known_bugs()), "python -m powercut.corpus.minimal_cases SCHEME/BUG --write adds a row"
    assert [bug for bug, entry in entries.items() if entry.after > minimal_cases.FEW and len(entry.reason) < 20] == []
    assert [bug for bug, entry in entries.items() if entry.after <= minimal_cases.FEW and entry.reason] == []
    assert len(re.findall(r"^\| `", minimal_cases.page().read_text(), re.MULTILINE)) == len(entries)


def test_a_search_that_was_cut_short_says_after_how_many_candidates() -> None:
    short = {bug: entry.reason for bug, entry in minimal_cases.entries().items() if "cut short" in entry.reason}
    assert [bug for bug, why in short.items() if not re.search(r"cut short after \d+ candidates", why)] == []


def test_a_row_that_is_written_is_read_back_with_its_reason() -> None:
    row = Row(
        bug="level/x", invariant="lost-item", before=60, after=7, operations=["insert(1)"] * 12, config={"top": "2"},
        considered=3, seconds=0.5, complete=True,
    )  # fmt: skip
    empty = minimal_cases.render([row], "")
    (line,) = (line for line in empty.splitlines() if line.startswith("| `level/x`"))
    assert "`top=2: insert(1) insert(1)" in line and "… insert(1)`" in line
    with_reason = empty.replace(line, line.removesuffix("|") + "Four slots are full. |")
    other = replace(row, bug="level/a", after=2)
    again = minimal_cases.render([row, other], with_reason)
    assert [(match["id"], match["after"], match["reason"].strip()) for match in minimal_cases._ROW.finditer(again)] == [
        ("level/a", "2", ""),
        ("level/x", "7", "Four slots are full."),
    ]
    assert minimal_cases.render([other], with_reason) == again
    short = minimal_cases.render([replace(row, after=5)], with_reason)
    assert "Four slots" not in short


@pytest.mark.slow
def test_what_the_page_says_of_a_short_bug_is_so() -> None:
    require_engine()
    row = minimal_cases.minimised(corpus_case("pclht/root-not-flushed"), limits=Limits())
    assert row.after == minimal_cases.entries()["pclht/root-not-flushed"].after
    assert row.complete


@pytest.mark.slow
@pytest.mark.parametrize("bug", BY_HAND)
def test_a_case_that_was_made_by_hand_is_smaller_and_shows_the_bug(bug: str, tmp_path: Path) -> None:
    require_engine()
    known = corpus_case(bug).scenario.bug
    finding = corpus.telling(known, findings_of(bug, tmp_path / "run"))
    assert finding is not None
    with runner.open_context(paths.engine(), tmp_path) as context:
        examiner = Examiner(finding, context=context, folder=tmp_path, executions=Limits().executions)
        trace = tmp_path / "by-hand.pct"
        examiner.record(examiner.plan(BY_HAND[bug]), trace)
        # As the corpus tells that a bug is found: another case may need a power cut where this one needs none.
        shown = [item["invariant"] for item in explore(trace).located(context.symbolizer) if shows_site(known, [item])]
    assert shown, words(BY_HAND[bug])
    entry = minimal_cases.entries()[bug]
    assert len(BY_HAND[bug].operations) < entry.after
    assert "hand" in entry.reason


@pytest.mark.long
def test_every_known_bug_is_as_small_as_the_page_says() -> None:
    require_engine()
    entries = minimal_cases.entries()
    rows = minimal_cases.run(minimal_cases.cases([]), jobs=len(os.sched_getaffinity(0)), limits=Limits())
    assert sorted(entries) == known_bugs()
    larger = {row.bug: row.after for row in rows if row.after > entries[row.bug].after}
    assert larger == {}, "write the page again: python -m powercut.corpus.minimal_cases --write"
